package analysis

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// tally sorts the points of a claim by what their intervals say of its range.
type tally struct {
	within        int
	outside, open []string
}

// conclude is the verdict over all points: supporting takes every one of them,
// contradicting one.
func (t tally) conclude(j *lab.Judgement, what, claimed string, points int) {
	switch {
	case len(t.outside) > 0:
		j.Verdict, j.Reason = lab.ClaimContradicted, fmt.Sprintf("%s is %s: outside %s", what, some(t.outside),
			claimed)
	case t.within == points:
		j.Verdict, j.Reason = lab.ClaimSupported, fmt.Sprintf("%s is within %s at all points (%d)", what, claimed,
			points)
	default:
		j.Verdict, j.Reason = lab.ClaimUndecided, fmt.Sprintf("%s is %s: over the edge of %s", what, some(t.open),
			claimed)
	}
}

// judgeEquivalent: supported where the interval of the ratio lies within the range
// at every point, contradicted where it lies outside at one. Without a range of
// its own the claim has the margin, or the bias where that reaches farther.
// The number is the ratio farthest from 1.
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
		if math.Abs(math.Log(r.value)) > math.Abs(math.Log(farthest.value)) {
			farthest = r
		}
		sure := r.ratio.At(e.strict(len(all), r.n()))
		switch {
		case r.ratio.Low >= c.Low && r.ratio.High <= c.High:
			t.within++
		case sure.Low > c.High || sure.High < c.Low:
			t.outside = append(t.outside, r.text())
		default:
			t.open = append(t.open, r.text())
		}
	}
	measured(j, farthest.value, farthest.ratio.Low, farthest.ratio.High)
	t.conclude(j, c.over(), claimedRange(round(c.Low), round(c.High)), len(all))
	if j.Verdict == lab.ClaimSupported {
		j.Reason += ", the farthest from 1 being " + farthest.text()
	}
}

// round keeps three digits of the end of a range that was computed.
func round(value float64) float64 { return math.Round(value*1000) / 1000 }

// judgeLevel: supported where the interval of the mean lies within the range at
// every point, contradicted where it lies outside at one. The number is the mean
// farthest up.
func (e *experiment) judgeLevel(j *lab.Judgement, c claim) {
	metric, _ := e.metric(c.Metric)
	highest := math.Inf(-1)
	var t tally
	for _, point := range c.points {
		values := slices.Clone(e.cells[cell{c.Variant, point, c.Metric}].values)
		for i := range values {
			values[i] *= c.offAt(point)
		}
		mean, low, high := e.level(values, e.sure(e.design.Confidence, len(values)))
		if mean > highest {
			highest = mean
			j.Measured, j.Low, j.High = number(mean), low, high
		}
		_, surelyLow, surelyHigh := e.level(values, e.strict(len(c.points), len(values)))
		inside, _ := e.inRange(c, low, high, "")
		sure, _ := e.inRange(c, surelyLow, surelyHigh, "")
		shown := fmt.Sprintf("%s at %s", figure.Quantity(mean, low, high, metric.Unit), point)
		switch {
		case inside == lab.ClaimSupported:
			t.within++
		case sure == lab.ClaimContradicted:
			t.outside = append(t.outside, shown)
		default:
			t.open = append(t.open, shown)
		}
	}
	t.conclude(j, c.Metric+" of "+c.Variant, claimedRange(c.Low, c.High), len(c.points))
}

// level is the mean of trials with its t interval, nil below two of them. The mean
// of what cannot be negative is not.
func (e *experiment) level(values []float64, confidence float64) (mean float64, low, high *float64) {
	mean = stats.Mean(values)
	interval, err := stats.MeanInterval(values, confidence)
	if err != nil {
		return mean, nil, nil
	}
	if slices.Min(values) >= 0 {
		interval.Low = max(interval.Low, 0)
	}
	low, high = bounds(interval.Low, interval.High)
	return mean, low, high
}
