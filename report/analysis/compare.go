package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// pair is two variants to be compared: variant over against.
type pair struct{ variant, against string }

// contrast is one pair at one point.
type contrast struct {
	up, down []float64 // positive, one per block in which both count
	// ratio is set where there is an interval; value from one block on.
	ratio   stats.Ratio
	value   float64
	decided bool // ratio is set
}

// n returns the number of blocks in which both count.
func (c contrast) n() int { return len(c.up) }

// known reports whether the ratio can be estimated: by blocks that have both variants, or by blocks with
// one of them that other variants join.
func (c contrast) known() bool { return c.decided || c.n() > 0 }

// estimate returns the ratio as the document holds it.
func (c contrast) estimate() lab.Ratio {
	r := lab.Ratio{Ratio: c.value, N: c.n()}
	if c.decided {
		r.Low, r.High = bounds(c.ratio.Low, c.ratio.High)
	}
	return r
}

// text writes the ratio with its interval: "3.68x [3.52, 3.85]".
func (c contrast) text() string {
	r := c.estimate()
	return figure.Times(r.Estimate())
}

// scaled returns the contrast with its ratio multiplied by a factor.
func (c contrast) scaled(factor float64) contrast {
	c.value *= factor
	c.ratio.Value, c.ratio.Low, c.ratio.High = c.ratio.Value*factor, c.ratio.Low*factor, c.ratio.High*factor
	c.ratio.LogMean += math.Log(factor)
	return c
}

// contrast pairs two variants by block. Values without a logarithm are left out,
// and counted by noteZeros.
func (e *experiment) contrast(metric, point string, p pair) contrast {
	return e.contrastOf(metric, metric, point, p)
}

// contrastOf is contrast with another metric, below, of the variant that is compared with.
func (e *experiment) contrastOf(metric, below, point string, p pair) contrast {
	var c contrast
	over, under := e.series[seriesKey{p.variant, point, metric}], e.series[seriesKey{p.against, point, below}]
	for i, block := range over.blocks {
		value, found := under.at(block)
		if !found {
			continue
		}
		if over.values[i] <= 0 || value <= 0 {
			continue // noteZeros counts it
		}
		c.up, c.down = append(c.up, over.values[i]), append(c.down, value)
	}
	if below != metric {
		return e.byBlock(c.up, c.down)
	}
	return e.contrastIn(c.up, c.down, e.blockTable(metric, point, p), p)
}

// byBlock compares positive values that are paired by block, and have no table.
func (e *experiment) byBlock(up, down []float64) contrast {
	alone := make(stats.Table, len(up))
	for i := range alone {
		alone[i] = []float64{math.Log(up[i]), math.Log(down[i])}
	}
	return e.contrastIn(up, down, blockTable{alone, []string{"up", "down"}}, pair{"up", "down"})
}

// contrastIn compares positive values, paired by block, by their table.
func (e *experiment) contrastIn(up, down []float64, t blockTable, p pair) contrast {
	c := contrast{up: up, down: down}
	return e.settled(c)(t.logs.Ratio(slices.Index(t.variants, p.variant), slices.Index(t.variants, p.against),
		e.confidence(e.design.Confidence, c.n())))
}

// settled returns a function that adds the ratio to the values of a contrast, if it has an interval.
func (e *experiment) settled(c contrast) func(stats.Ratio, error) contrast {
	return func(ratio stats.Ratio, err error) contrast {
		if c.n() > 0 {
			c.value = c.up[0] / c.down[0]
		}
		if err == nil {
			ratio.P = e.overallP(ratio.P, c.n())
			c.ratio, c.value, c.decided = ratio, ratio.Value, true
		}
		return c
	}
}

// blockTable holds the values of a metric at a point, twins included: a row per
// block, a column per variant.
type blockTable struct {
	logs     stats.Table
	variants []string
}

// blockTable has all blocks, without the values of what was struck out. A block tells nothing
// of a pair if one of the two was not needed in it any more.
func (e *experiment) blockTable(metric, point string, p pair) blockTable {
	var t blockTable
	for _, v := range e.study.Variants {
		t.variants = append(t.variants, v.Name)
	}
	over, under := slices.Index(t.variants, p.variant), slices.Index(t.variants, p.against)
	for block := 1; block <= e.lastBlock(); block++ {
		row := make([]float64, len(t.variants))
		for i, name := range t.variants {
			row[i] = math.NaN()
			if value, found := e.series[seriesKey{name, point, metric}].at(block); found && value > 0 &&
				e.struck[name] == "" {
				row[i] = math.Log(value)
			}
		}
		if e.looks != nil && math.IsNaN(row[over]) != math.IsNaN(row[under]) &&
			!(e.attempted(block, p.variant, point) && e.attempted(block, p.against, point)) {
			row[over], row[under] = math.NaN(), math.NaN()
		}
		t.logs = append(t.logs, row)
	}
	return t
}

// pairs returns the comparisons of the study: every variant with the baseline, and
// the pairs that claims name.
func (e *experiment) pairs() []pair {
	var found []pair
	for _, v := range e.variants() {
		if v.Name != e.study.Baseline {
			found = append(found, pair{v.Name, e.study.Baseline})
		}
	}
	for _, c := range e.study.Claims {
		p := pair{c.Variant, c.Against}
		if c.Against == "" || slices.Contains(found, p) || slices.Contains(found, pair{p.against, p.variant}) {
			continue
		}
		found = append(found, p)
	}
	return slices.DeleteFunc(found, func(p pair) bool {
		return p.variant == p.against || !e.comparable(p.variant) || !e.comparable(p.against)
	})
}

// comparable reports whether the variant exists and was not struck out.
func (e *experiment) comparable(name string) bool {
	_, known := e.study.Variant(name)
	return known && e.struck[name] == ""
}

// comparisons compares every pair at every point in every metric. The
// comparisons of one metric form a family for Holm's adjustment.
func (e *experiment) comparisons() []lab.Comparison {
	all := []lab.Comparison{}
	for _, metric := range e.study.AllMetrics() {
		var family []lab.Comparison
		var ratios []stats.Ratio
		for _, p := range e.pairs() {
			for _, point := range e.study.Points {
				c := e.contrast(metric.Name, point.Name, p)
				if !c.known() {
					continue
				}
				family = append(family, e.comparison(metric, point, p, c))
				ratios = append(ratios, c.ratio)
			}
		}
		e.adjust(family, ratios)
		all = append(all, family...)
	}
	e.noteMissing(all)
	return all
}

// noteMissing says which variants should have met at a point and did not, in any metric: at some
// points, such as searches, a metric means nothing.
func (e *experiment) noteMissing(all []lab.Comparison) {
	for _, p := range e.pairs() {
		up, _ := e.study.Variant(p.variant)
		down, _ := e.study.Variant(p.against)
		for _, point := range e.study.Points {
			if !up.RunsAt(point.Name) || !down.RunsAt(point.Name) {
				continue
			}
			met := slices.ContainsFunc(all, func(c lab.Comparison) bool {
				return c.Variant == p.variant && c.Baseline == p.against && c.Point.Name == point.Name
			})
			if !met {
				e.note("%s and %s have no block in common at %s: no comparison there.", p.variant, p.against, point.Name)
			}
		}
	}
}

// comparison judges one pair at a point; adjust adds what its family says.
func (e *experiment) comparison(metric lab.Metric, point lab.Point, p pair, c contrast) lab.Comparison {
	out := lab.Comparison{Metric: metric.Name, Point: point, Variant: p.variant, Baseline: p.against,
		Ratio: c.estimate(), Verdict: lab.Undecided}
	out.RatioOfMeans = e.ratioOfMeans(c)
	if !c.decided {
		out.Words = fmt.Sprintf("undecided: %d block gives no interval, at least 2 are needed", c.n())
		out.MoreBlocks = 1
		return out
	}
	gates := e.gates(metric.Name, p)
	verdict := stats.Judge(c.ratio.Estimate, gates, traitsOf(metric).wording)
	out.Margin = gates.Widest()
	out.Verdict, out.Words, out.MoreBlocks = onVariant(metric, verdict.Kind), verdict.Words, verdict.MoreBlocks
	out.P, out.Spread, out.Degrees = number(c.ratio.P), string(c.ratio.Spread), number(c.ratio.Degrees)
	e.withhold(&out, metric, p, c)
	return out
}

// onVariant turns a verdict on a ratio into one on the variant: where more is better, a ratio above 1 is
// that of the faster one.
func onVariant(metric lab.Metric, verdict lab.ComparisonVerdict) lab.ComparisonVerdict {
	switch {
	case metric.Better != lab.HigherIsBetter:
		return verdict
	case verdict == lab.Slower:
		return lab.Faster
	case verdict == lab.Faster:
		return lab.Slower
	}
	return verdict
}

// ratioOfMeans answers questions about totals, over the blocks in which both count. It is
// nil without any, and where the denominator is not clear of zero.
func (e *experiment) ratioOfMeans(c contrast) *lab.Ratio {
	if c.n() == 0 {
		return nil
	}
	estimate, err := stats.KaliberaJones(c.up, c.down, e.confidence(e.design.Confidence, c.n()))
	var few *stats.TooFewError
	switch {
	case errors.As(err, &few):
		return &lab.Ratio{Ratio: stats.Mean(c.up) / stats.Mean(c.down), N: c.n()}
	case err != nil:
		return nil
	}
	r := &lab.Ratio{Ratio: estimate.Value, N: c.n()}
	r.Low, r.High = bounds(estimate.Low, estimate.High)
	return r
}

// adjust adds Holm's p-values and intervals to a family of comparisons, and says which of these may differ
// by chance among so many.
func (e *experiment) adjust(family []lab.Comparison, ratios []stats.Ratio) {
	var members []int
	var p []float64
	for i, c := range family {
		if c.P != nil {
			members, p = append(members, i), append(p, *c.P)
		}
	}
	adjusted, levels := stats.Holm(p), stats.HolmLevels(p, e.design.Confidence)
	alpha := 1 - e.design.Confidence
	for k, i := range members {
		c := &family[i]
		c.Family, c.PHolm = len(members), number(adjusted[k])
		wide := ratios[i].At(e.confidence(levels[k], ratios[i].N))
		c.HolmLow, c.HolmHigh = bounds(wide.Low, wide.High)
		if c.Unsteady == "" && c.Verdict.Differs() && adjusted[k] > alpha {
			c.Words += fmt.Sprintf("; not significant among all %d comparisons (Holm p %s)", len(members),
				figure.Number(figure.Alone(adjusted[k])))
		}
	}
}

// traits say how a metric is compared, followed through a trial, and placed on the page.
type traits struct {
	wording  stats.Wording // of its directions
	follows  string        // what changes it within a load; "" if nothing does
	duration bool          // it is how long an operation takes
	overRate bool          // it is drawn over the offered rate
	section  string        // of the page that has its levels
}

// traitsOf returns the traits of a metric: those of its kind, but for two quantities.
func traitsOf(m lab.Metric) traits {
	t := traits{wording: stats.Wording{Above: "more", Below: "less"}, section: "ratios"}
	switch m.Kind {
	case lab.KindTime:
		if m.Better == lab.LowerIsBetter {
			t.wording = stats.Wording{Above: "slower", Below: "faster"}
		}
		if t.follows = stats.FollowMedian; m.Quantile >= 0.9 {
			t.follows = stats.FollowTail
		}
		t.duration = slices.Contains([]string{lab.CompletionTime, lab.ResponseTime, lab.ServiceTime, lab.Elapsed},
			m.Quantity)
		t.overRate = slices.Contains([]string{lab.ResponseTime, lab.CompletionTime, lab.Staleness,
			lab.ReferenceStaleness}, m.Quantity)
	case lab.KindCost:
		t.wording, t.section = stats.Wording{Above: "costlier", Below: "cheaper"}, "cost"
		t.follows = stats.FollowMedian
	case lab.KindRate:
		t.follows, t.overRate = stats.FollowRate, true
	case lab.KindShare:
		t.overRate = true
	}
	switch m.Quantity {
	case lab.Capacity: // a search has no course, and is no answer to a rate
		t.follows, t.overRate, t.section = "", false, "curves"
	case lab.FirstAnswer: // it comes before the load
		t.follows = ""
	}
	return t
}
