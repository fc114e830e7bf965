package analysis

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// tests returns the function that judges each kind of claims.
func (e *experiment) tests() map[lab.ClaimKind]func(*lab.Judgement, claim) {
	return map[lab.ClaimKind]func(*lab.Judgement, claim){
		lab.ClaimSlower: e.judgeSlower, lab.ClaimMore: e.judgeSlower, lab.ClaimFactor: e.judgeFactor,
		lab.ClaimEquivalent: e.judgeEquivalent, lab.ClaimLevel: e.judgeLevel,
		lab.ClaimLinear: e.judgeExponent, lab.ClaimGrows: e.judgeGrowth,
	}
}

// pointRatio is the contrast of a claim's pair at one of its points.
type pointRatio struct {
	point string
	contrast
}

// text returns the ratio with its point: "3.00x [2.94, 3.06] at s5".
func (p pointRatio) text() string { return p.contrast.text() + " at " + p.point }

// strictInterval returns the interval of the ratio at one of several points; see strict.
func (e *experiment) strictInterval(r pointRatio, points int) stats.Estimate {
	return r.ratio.At(e.strict(points, r.n()))
}

// ratios returns the contrasts of a claim's pair at its points. If one of them has no interval, it returns
// false and sets the judgement to undecided, with the reason.
func (e *experiment) ratios(j *lab.Judgement, c claim) ([]pointRatio, bool) {
	var all []pointRatio
	for _, point := range c.points {
		asMeasured := e.contrastOf(c.Metric, c.AgainstMetric, point, c.pair())
		r := pointRatio{point, asMeasured.scaled(c.offAt(point))}
		if !r.decided {
			decide(j, lab.ClaimUndecided, "%s with both variants at %s: an interval needs at least 2",
				lab.Count(r.n(), "block"), point)
			if r.n() == 1 && len(c.points) == 1 {
				j.Measured = number(r.value)
			}
			return nil, false
		}
		all = append(all, r)
	}
	return all, true
}

// judgeSlower supports a claim if the variant is slower at every point, and contradicts it
// if the variant is faster or equivalent at one. The measured number is the smallest ratio.
func (e *experiment) judgeSlower(j *lab.Judgement, c claim) {
	all, ok := e.ratios(j, c)
	if !ok {
		return
	}
	metric, _ := e.metric(c.Metric)
	gates := e.gates(c.Metric, c.pair())
	wording := traitsOf(metric).wording
	smallest, slower := all[0], 0
	var against, open []string
	for _, r := range all {
		if r.value < smallest.value {
			smallest = r
		}
		verdict := stats.Judge(r.ratio.Estimate, gates, wording)
		strict := stats.Judge(e.strictInterval(r, len(all)), gates, wording)
		switch {
		case verdict.Kind == lab.Slower:
			slower++
		case strict.Kind == lab.Faster || strict.Kind == lab.Equivalent:
			against = append(against, r.text()+" ("+strict.Words+")")
		default:
			open = append(open, r.text()+" ("+verdict.Words+")")
		}
	}
	measured(j, smallest.value, smallest.ratio.Low, smallest.ratio.High)
	switch {
	case len(against) > 0:
		decide(j, lab.ClaimContradicted, "%s is %s", c.over(), some(against))
	case slower == len(all):
		decide(j, lab.ClaimSupported, "%s is above 1 at all points (%d), the least being %s", c.over(), len(all),
			smallest.text())
	default:
		decide(j, lab.ClaimUndecided, "%s is not clear of 1 or of the margin: %s", c.over(), some(open))
	}
}

// over names the ratio of a claim: "http over threads".
func (c claim) over() string {
	if c.AgainstMetric != c.Metric {
		return fmt.Sprintf("%s of %s over %s of %s", c.Metric, c.Variant, c.AgainstMetric, c.Against)
	}
	return c.Variant + " over " + c.Against
}

// judgeFactor supports a claim if the interval of the ratio lies within the claimed
// range, and contradicts it if it lies outside. Over several points the ratio is
// the random-effects mean of the points, since studies state averages; the
// reason says how much the points differ.
func (e *experiment) judgeFactor(j *lab.Judgement, c claim) {
	all, ok := e.ratios(j, c)
	if !ok {
		return
	}
	ratio := all[0].estimate()
	text := "the ratio is " + all[0].text()
	if len(all) > 1 {
		average, ok := e.average(c.Metric, c.AgainstMetric, c.pair(), c.points)
		if !ok || average.Mean == nil {
			decide(j, lab.ClaimUndecided, "the points allow no mean ratio: there is no spread within them")
			return
		}
		ratio = *average.Mean
		text = spreadOfPoints(all, average)
		if ratio.Low != nil && ratio.High != nil {
			off := c.farthestOff()
			ratio.Low = new(*ratio.Low * off)
			ratio.High = new(*ratio.High * off)
		}
	}
	j.Measured = number(ratio.Ratio)
	j.Low = ratio.Low
	j.High = ratio.High
	j.Verdict, j.Reason = inRange(c, ratio.Low, ratio.High, text)
}

// spreadOfPoints describes the mean ratio, the smallest and the largest, and whether the points differ. It
// says of how many points the mean is, if ratios by way of other variants are left out.
func spreadOfPoints(all []pointRatio, average lab.Average) string {
	averaged := filter(all, func(r pointRatio) bool { return slices.Contains(average.Points, r.point) })
	points := lab.Count(len(all), "point")
	if n := len(averaged); n < len(all) {
		points = fmt.Sprintf("%d of %s", n, points)
	}
	least, most := averaged[0], averaged[0]
	for _, r := range averaged {
		if r.value < least.value {
			least = r
		}
		if r.value > most.value {
			most = r
		}
	}
	text := fmt.Sprintf("the mean ratio of %s is %s, from %s to %s", points,
		times(*average.Mean), least.text(), most.text())
	if !average.Homogeneous && average.I2 != nil {
		text += fmt.Sprintf(" (I2 %s: no single factor stands for all)", figure.Percent(*average.I2))
	}
	return text
}

// inRange returns the verdict on an interval by the range of a claim, and text with the reason added.
func inRange(c claim, low, high *float64, text string) (lab.ClaimVerdict, string) {
	claimed := claimedRange(c.Low, c.High)
	switch {
	case low == nil || high == nil:
		return lab.ClaimUndecided, text + ": without an interval"
	case *low >= c.Low && *high <= c.High:
		return lab.ClaimSupported, fmt.Sprintf("%s: within %s", text, claimed)
	case *high < c.Low || *low > c.High:
		return lab.ClaimContradicted, fmt.Sprintf("%s: outside %s", text, claimed)
	}
	return lab.ClaimUndecided, fmt.Sprintf("%s: over the edge of %s", text, claimed)
}

// claimedRange returns the range of a claim as text.
func claimedRange(low, high float64) string { return fmt.Sprintf("%g to %g", low, high) }

// judgeExponent supports a claim if the interval of the exponent lies within the claimed range,
// and contradicts it if it lies outside. The exponent is fitted in each block, and its interval
// is that of the mean over blocks.
func (e *experiment) judgeExponent(j *lab.Judgement, c claim) {
	exponents := e.blockExponents(c, func(point string, block int) (float64, bool) {
		return e.series[seriesKey{c.Variant, point, c.Metric}].at(block)
	})
	estimate, ok := e.exponent(j, exponents)
	if !ok {
		return
	}
	j.Verdict, j.Reason = inRange(c, j.Low, j.High, fmt.Sprintf("%s of %s grows with %s to the power %s (%s)",
		c.Metric, c.Variant, c.Factor, numberText(estimate), lab.Count(estimate.N, "block")))
}

// judgeGrowth supports a claim if the exponent of the ratio along the factor is
// above 0, and contradicts it if it is below.
func (e *experiment) judgeGrowth(j *lab.Judgement, c claim) {
	exponents := e.blockExponents(c, func(point string, block int) (float64, bool) {
		up, found := e.series[seriesKey{c.Variant, point, c.Metric}].at(block)
		down, _ := e.series[seriesKey{c.Against, point, c.Metric}].at(block) // 0 if it is not there
		return up / down, found && down > 0
	})
	estimate, ok := e.exponent(j, exponents)
	if !ok {
		return
	}
	shown := fmt.Sprintf("%s over %s goes with %s to the power %s (%s)", c.Variant, c.Against, c.Factor,
		numberText(estimate), lab.Count(estimate.N, "block"))
	switch {
	case estimate.Low > 0:
		decide(j, lab.ClaimSupported, "%s: it grows", shown)
	case estimate.High < 0:
		decide(j, lab.ClaimContradicted, "%s: it falls", shown)
	default:
		decide(j, lab.ClaimUndecided, "%s: it may be constant", shown)
	}
}

// exponent returns the mean over blocks with its t interval. For fewer than two blocks it returns false and
// sets the judgement to undecided, with the reason.
func (e *experiment) exponent(j *lab.Judgement, exponents []float64) (stats.Estimate, bool) {
	estimate, err := stats.MeanInterval(exponents, e.confidence(e.design.Confidence, len(exponents)))
	if err != nil {
		decide(j, lab.ClaimUndecided, "blocks with all points: %d; an interval needs at least 2", len(exponents))
		if len(exponents) == 1 {
			j.Measured = number(exponents[0])
		}
		return stats.Estimate{}, false
	}
	measured(j, estimate.Value, estimate.Low, estimate.High)
	return estimate, true
}

// numberText formats an estimate with its interval.
func numberText(e stats.Estimate) string {
	return figure.Number(figure.Between(e.Value, e.Low, e.High))
}

// tally sorts the points of a claim by their intervals: within its range, outside of it, or open.
type tally struct {
	within        int
	outside, open []string // with the measured values
}

// conclude sets the verdict over all points. A claim is supported if all points are within its range, and
// contradicted if one is outside.
func (t tally) conclude(j *lab.Judgement, quantity, claimed string, points int) {
	switch {
	case len(t.outside) > 0:
		decide(j, lab.ClaimContradicted, "%s is %s: outside %s", quantity, some(t.outside), claimed)
	case t.within == points:
		decide(j, lab.ClaimSupported, "%s is within %s at all points (%d)", quantity, claimed, points)
	default:
		decide(j, lab.ClaimUndecided, "%s is %s: over the edge of %s", quantity, some(t.open), claimed)
	}
}

// judgeEquivalent supports a claim if the interval of the ratio lies within its range
// at every point, and contradicts it if it lies outside at one. The range is that of the claim or,
// if it has none, the margin or the larger bias. The measured number is the ratio farthest from 1.
func (e *experiment) judgeEquivalent(j *lab.Judgement, c claim) {
	all, ok := e.ratios(j, c)
	if !ok {
		return
	}
	if c.Low == 0 && c.High == 0 {
		c.High = 1 + e.gates(c.Metric, c.pair()).Widest()
		c.Low = 1 / c.High
	}
	farthest := all[0]
	var t tally
	for _, r := range all {
		if fromOne(r.value) > fromOne(farthest.value) {
			farthest = r
		}
		strict := e.strictInterval(r, len(all))
		switch {
		case r.ratio.Low >= c.Low && r.ratio.High <= c.High:
			t.within++
		case strict.Low > c.High || strict.High < c.Low:
			t.outside = append(t.outside, r.text())
		default:
			t.open = append(t.open, r.text())
		}
	}
	measured(j, farthest.value, farthest.ratio.Low, farthest.ratio.High)
	claimed := claimedRange(round(c.Low), round(c.High))
	t.conclude(j, c.over(), claimed, len(all))
	if j.Verdict == lab.ClaimSupported {
		j.Reason += ", the farthest from 1 being " + farthest.text()
	}
}

// round rounds the end of a computed range to three decimals.
func round(value float64) float64 { return math.Round(value*1000) / 1000 }

// judgeLevel supports a claim if the interval of the mean lies within the range at
// every point, and contradicts it if it lies outside at one. The measured number is the highest mean.
func (e *experiment) judgeLevel(j *lab.Judgement, c claim) {
	metric, _ := e.metric(c.Metric)
	highest := math.Inf(-1)
	var t tally
	for _, point := range c.points {
		values := slices.Clone(e.series[seriesKey{c.Variant, point, c.Metric}].values)
		for i := range values {
			values[i] *= c.offAt(point)
		}
		mean, low, high := levelOfClaim(values, e.confidence(e.design.Confidence, len(values)))
		if mean > highest {
			highest = mean
			j.Measured = number(mean)
			j.Low = low
			j.High = high
		}
		confidence := e.strict(len(c.points), len(values))
		_, strictLow, strictHigh := levelOfClaim(values, confidence)
		verdict, _ := inRange(c, low, high, "")
		strict, _ := inRange(c, strictLow, strictHigh, "")
		level := lab.Estimate{Value: mean, Low: low, High: high}
		shown := fmt.Sprintf("%s at %s", figure.Quantity(level, metric.Unit), point)
		switch {
		case verdict == lab.ClaimSupported:
			t.within++
		case strict == lab.ClaimContradicted:
			t.outside = append(t.outside, shown)
		default:
			t.open = append(t.open, shown)
		}
	}
	t.conclude(j, c.Metric+" of "+c.Variant, claimedRange(c.Low, c.High), len(c.points))
}

// levelOfClaim returns the mean of trials with its t interval, nil for fewer than two. The interval ends at 0
// if no value is negative.
func levelOfClaim(values []float64, confidence float64) (mean float64, low, high *float64) {
	low, high = meanBounds(values, confidence)
	if low != nil && slices.Min(values) >= 0 {
		low = new(max(*low, 0))
	}
	return stats.Mean(values), low, high
}
