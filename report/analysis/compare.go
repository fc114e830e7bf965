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

// pair names two variants to be compared: variant over against.
type pair struct{ variant, against string }

// contrast is the ratio of a pair at one point.
type contrast struct {
	up, down []float64 // positive values, one per block in which both count
	ratio    stats.Ratio
	value    float64 // the ratio, also if there is only one block
	decided  bool    // ratio is set: there is an interval
}

// n returns the number of blocks in which both count.
func (c contrast) n() int { return len(c.up) }

// known reports whether the ratio can be estimated: from blocks that have both variants, or by way of other
// variants.
func (c contrast) known() bool { return c.decided || c.n() > 0 }

// estimate returns the ratio in the form of the document.
func (c contrast) estimate() lab.Ratio {
	if !c.decided {
		return lab.Ratio{Ratio: c.value, N: c.n()}
	}
	return ratioOf(c.ratio.Estimate, c.n())
}

// text returns the ratio with its interval: "3.68x [3.52, 3.85]".
func (c contrast) text() string { return times(c.estimate()) }

// scaled returns the contrast with its ratio multiplied by a factor.
func (c contrast) scaled(factor float64) contrast {
	c.value *= factor
	c.ratio.Value *= factor
	c.ratio.Low *= factor
	c.ratio.High *= factor
	c.ratio.LogMean += math.Log(factor)
	return c
}

// contrast returns the ratio of two variants by block. Values without a logarithm are left out;
// noteZeros counts them.
func (e *experiment) contrast(metric, point string, p pair) contrast {
	return e.contrastOf(metric, metric, point, p)
}

// contrastOf returns the ratio of a metric of the first variant to another metric, below, of the second one,
// by block.
func (e *experiment) contrastOf(metric, below, point string, p pair) contrast {
	var c contrast
	over := e.series[seriesKey{p.variant, point, metric}]
	under := e.series[seriesKey{p.against, point, below}]
	for i, block := range over.blocks {
		value, found := under.at(block)
		if !found || over.values[i] <= 0 || value <= 0 { // noteZeros counts those that are not positive
			continue
		}
		c.up = append(c.up, over.values[i])
		c.down = append(c.down, value)
	}
	if below != metric {
		return e.byBlock(c.up, c.down)
	}
	t := e.blockTable(metric, point, p)
	ratio, err := t.logs.Ratio(slices.Index(t.variants, p.variant), slices.Index(t.variants, p.against),
		e.confidence(e.design.Confidence, c.n()))
	return e.withRatio(c, ratio, err)
}

// byBlock returns the ratio of positive values that are paired by block, without other variants.
func (e *experiment) byBlock(up, down []float64) contrast {
	c := contrast{up: up, down: down}
	ratio, err := stats.PairedRatio(up, down, e.confidence(e.design.Confidence, c.n()))
	return e.withRatio(c, ratio, err)
}

// withRatio returns a contrast with the ratio of its values. After an error it is undecided, and its value is
// that of the first block.
func (e *experiment) withRatio(c contrast, ratio stats.Ratio, err error) contrast {
	if c.n() > 0 {
		c.value = c.up[0] / c.down[0]
	}
	if err == nil {
		ratio.P = e.overallP(ratio.P, c.n())
		c.ratio = ratio
		c.value = ratio.Value
		c.decided = true
	}
	return c
}

// blockTable holds the logarithms of a metric at a point, twins included: a row per
// block, a column per variant.
type blockTable struct {
	logs     stats.Table
	variants []string
}

// blockTable returns the table of all blocks, without the values of variants that were struck out. A block in
// which one of the pair was no longer needed, and not played, does not count for the other one either.
func (e *experiment) blockTable(metric, point string, p pair) blockTable {
	var t blockTable
	for _, v := range e.study.Variants {
		t.variants = append(t.variants, v.Name)
	}
	over := slices.Index(t.variants, p.variant)
	under := slices.Index(t.variants, p.against)
	for _, block := range e.blocks {
		row := make([]float64, len(t.variants))
		for i, name := range t.variants {
			row[i] = math.NaN()
			if e.struck[name] != "" {
				continue
			}
			if value, found := e.series[seriesKey{name, point, metric}].at(block); found && value > 0 {
				row[i] = math.Log(value)
			}
		}
		bothPlayed := e.attempted(block, p.variant, point) && e.attempted(block, p.against, point)
		if e.looks != nil && !bothPlayed {
			row[over] = math.NaN()
			row[under] = math.NaN()
		}
		t.logs = append(t.logs, row)
	}
	return t
}

// pairs returns the pairs that are compared: every variant with the baseline, and
// the pairs of claims.
func (e *experiment) pairs() []pair {
	var found []pair
	for _, v := range e.variants() {
		if v.Name != e.study.Baseline {
			found = append(found, pair{v.Name, e.study.Baseline})
		}
	}
	for _, c := range e.study.Claims {
		p := pair{c.Variant, c.Against}
		isFound := slices.Contains(found, p) || slices.Contains(found, pair{p.against, p.variant})
		if c.Against != "" && !isFound {
			found = append(found, p)
		}
	}
	return slices.DeleteFunc(found, func(p pair) bool {
		bothKnown := e.comparable(p.variant) && e.comparable(p.against)
		return p.variant == p.against || !bothKnown
	})
}

// comparable reports whether the variant exists and was not struck out.
func (e *experiment) comparable(name string) bool {
	_, known := e.study.Variant(name)
	return known && e.struck[name] == ""
}

// comparisons returns the comparisons of all pairs at all points in all metrics. Those of one
// metric form a family for Holm's adjustment.
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

// noteMissing adds a note for each pair that should have been compared at a point and was in no metric.
// Single metrics may be missing: points with a search have few of them.
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

// comparison returns the comparison of a pair at a point. adjust adds the results of its family.
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
	out.Verdict = onVariant(metric, verdict.Kind)
	out.Words = verdict.Words
	out.MoreBlocks = verdict.MoreBlocks
	out.P = number(c.ratio.P)
	out.Spread = string(c.ratio.Spread)
	out.Degrees = number(c.ratio.Degrees)
	e.withhold(&out, metric, p, c)
	return out
}

// findComparison returns the comparison of a pair in a metric at a point, or nil if it is not among all.
func findComparison(all []lab.Comparison, metric, point string, p pair) *lab.Comparison {
	i := slices.IndexFunc(all, func(c lab.Comparison) bool {
		return c.Metric == metric && c.Point.Name == point && c.Variant == p.variant && c.Baseline == p.against
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// onVariant converts a verdict on a ratio to one on the variant: if more is better, a variant with a ratio
// above 1 is the faster one.
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

// ratioOfMeans returns the ratio of the arithmetic means over the blocks in which both count, for questions
// about totals. It is nil without such a block, or if the denominator cannot be distinguished from zero.
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
	return new(ratioOf(estimate, c.n()))
}

// adjust adds Holm's p-values and intervals to a family of comparisons, and a remark to those that are not
// significant among so many.
func (e *experiment) adjust(family []lab.Comparison, ratios []stats.Ratio) {
	var members []int
	var p []float64
	for i, c := range family {
		if c.P != nil {
			members = append(members, i)
			p = append(p, *c.P)
		}
	}
	adjusted := stats.Holm(p)
	levels := stats.HolmLevels(p, e.design.Confidence)
	alpha := 1 - e.design.Confidence
	for k, i := range members {
		c := &family[i]
		c.Family = len(members)
		c.PHolm = number(adjusted[k])
		wide := ratios[i].At(e.confidence(levels[k], ratios[i].N))
		c.HolmLow, c.HolmHigh = bounds(wide.Low, wide.High)
		differs := c.Unsteady == "" && c.Verdict.Differs()
		if differs && adjusted[k] > alpha {
			c.Words += fmt.Sprintf("; not significant among all %d comparisons (Holm p %s)", len(members),
				figure.Rounded(adjusted[k]))
		}
	}
}

// traits holds the properties of a metric that sentences, steadiness and the page need.
type traits struct {
	wording  stats.Wording // names of its directions
	follows  string        // the quantity whose changes within a load distort it; "": none
	duration bool          // it is the time that an operation takes
	overRate bool          // it is drawn over the offered rate
	section  string        // the section of the page with its levels
}

// traitsOf returns the traits of a metric: those of its kind, with two exceptions.
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
		t.wording = stats.Wording{Above: "costlier", Below: "cheaper"}
		t.section = "cost"
		t.follows = stats.FollowMedian
	case lab.KindRate:
		t.follows = stats.FollowRate
		t.overRate = true
	case lab.KindShare:
		t.overRate = true
	}
	switch m.Quantity {
	case lab.Capacity: // a search is no single load, and has no offered rate
		t.follows = ""
		t.overRate = false
		t.section = "curves"
	case lab.FirstAnswer: // it is measured before the load
		t.follows = ""
	}
	return t
}
