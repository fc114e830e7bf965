package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// answer says in a few sentences what was found; each names the part of the
// report that shows it. Undecided comparisons are told like decided ones.
func (e *experiment) answer(a lab.Analysis) []lab.Sentence {
	sentences := []lab.Sentence{}
	add := func(text, part string) {
		if text != "" {
			sentences = append(sentences, lab.Sentence{Text: text, Figure: part})
		}
	}
	for _, silent := range SilentVariants(e.study, e.in.Trials) {
		add(silent.String(), "trust")
	}
	if a.Trials.Valid == 0 {
		add(fmt.Sprintf("No trial counted (%d planned, %d attempts not valid): nothing can be said.",
			a.Trials.Planned, len(a.Trials.Invalid)), "trust")
		return sentences
	}
	add(e.saysUnsteady(), "trust")
	for _, text := range e.saysAutoscaling() {
		add(text, "curves")
	}
	for _, b := range a.Bottlenecks {
		for _, text := range b.Answer {
			add(text, "bottleneck")
		}
	}
	switch {
	case e.study.Explains():
		for _, text := range e.saysWaterfalls(a.Waterfalls) {
			add(text, "waterfall")
		}
	case e.completes():
		e.loadAnswer(a, add)
	case len(e.study.Metrics) > 0:
		for _, metric := range e.study.Metrics[:min(mostNamed, len(e.study.Metrics))] {
			add(e.saysMetric(a, metric), "ratios")
		}
		add(e.saysHeld(a.Held), "curves")
	default:
		add(e.saysRatio(a), "ratios")
	}
	add(e.saysWay(a), "waterfall")
	add(e.saysAverage(a), "ratios")
	add(e.saysLadder(a), "ladder")
	add(e.saysTrends(a), "trends")
	add(saysClaims(a), "claims")
	add(e.saysTrust(a), "trust")
	return sentences
}

// operation is what one operation of the system is called.
func (e *experiment) operation() string {
	if name := e.in.System.Operation; name != "" {
		return name
	}
	return "operation"
}

// mostNamed bounds how many things one sentence lists.
const mostNamed = 3

// saysRatio compares the variants that ran most widely with the baseline.
func (e *experiment) saysRatio(a lab.Analysis) string {
	point, each := e.fullestPoint(), e.named(lab.Elapsed, 0, lab.PerOperation)
	base, measured := e.mean(e.study.Baseline, point, each)
	var parts []string
	blocks := 0
	for _, name := range e.widest() {
		i := slices.IndexFunc(a.Comparisons, func(c lab.Comparison) bool {
			return c.Metric == each && c.Point.Name == point && c.Variant == name && c.Baseline == e.study.Baseline
		})
		if i < 0 || len(parts) == mostNamed {
			continue
		}
		c := a.Comparisons[i]
		blocks = max(blocks, c.N)
		takes, _ := e.mean(name, point, each)
		text := fmt.Sprintf("%s as long with %s (%s)", figure.Times(c.Ratio.Ratio, c.Low, c.High), name,
			figure.Quantity(takes, nil, nil, "s"))
		if c.Verdict == lab.Undecided || c.Verdict == lab.Equivalent {
			text += ", " + c.Words
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 || !measured {
		return ""
	}
	return fmt.Sprintf("At %s one %s takes %s, as with %s (%s; elapsed time, %s, %s intervals).", point,
		e.operation(), strings.Join(parts, ", and "),
		e.study.Baseline, figure.Quantity(base, nil, nil, "s"), count(blocks, "block"),
		figure.Percent(a.Confidence))
}

// saysMetric compares the variants with the baseline in a metric of the system:
// at its only point, or from the first to the last, of those where both held the rate if
// there are any.
func (e *experiment) saysMetric(a lab.Analysis, metric lab.Metric) string {
	var parts []string
	for _, v := range e.variants() {
		var found []lab.Comparison
		for _, c := range a.Comparisons {
			if c.Metric == metric.Name && c.Variant == v.Name && c.Baseline == e.study.Baseline {
				found = append(found, c)
			}
		}
		if len(found) == 0 || len(parts) == mostNamed {
			continue
		}
		held := slices.DeleteFunc(slices.Clone(found), func(c lab.Comparison) bool {
			return !e.mostHeld(e.counted(c.Variant, c.Point.Name)) || !e.mostHeld(e.counted(c.Baseline, c.Point.Name))
		})
		if len(held) > 0 {
			found = held
		}
		text := fmt.Sprintf("%s has %s", v.Name, e.saysComparison(metric, found[0]))
		if last := found[len(found)-1]; len(found) > 1 {
			text += ", and " + e.saysComparison(metric, last)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s.", capital(metric.Title), strings.Join(parts, "; "))
}

// saysComparison tells one comparison with both values and its verdict.
func (e *experiment) saysComparison(metric lab.Metric, c lab.Comparison) string {
	mine, _ := e.middle(c.Variant, c.Point.Name, metric.Name)
	other, _ := e.middle(c.Baseline, c.Point.Name, metric.Name)
	return fmt.Sprintf("%s that of %s at %s (median trials: %s against %s): %s",
		figure.Times(c.Ratio.Ratio, c.Low, c.High), c.Baseline, c.Point.Name,
		figure.Quantity(mine, nil, nil, metric.Unit), figure.Quantity(other, nil, nil, metric.Unit), c.Words)
}

// widest are the variants but the baseline that ran at the most points.
func (e *experiment) widest() []string {
	var names []string
	most := 0
	for _, v := range e.variants() {
		n := len(e.pointsOf(v.Name))
		if v.Name == e.study.Baseline || n < most {
			continue
		}
		if n > most {
			names, most = nil, n
		}
		names = append(names, v.Name)
	}
	return names
}

// saysAverage says whether one ratio stands for all points: of the pair that a
// claim names, else of the first pair.
func (e *experiment) saysAverage(a lab.Analysis) string {
	elapsed := e.named(lab.Elapsed, 0, "")
	i := slices.IndexFunc(a.Averages, func(x lab.Average) bool {
		return x.Metric == elapsed && x.Baseline != e.study.Baseline
	})
	if i < 0 {
		i = slices.IndexFunc(a.Averages, func(x lab.Average) bool { return x.Metric == elapsed })
	}
	if i < 0 || a.Averages[i].Mean == nil || a.Averages[i].I2 == nil {
		return ""
	}
	x := a.Averages[i]
	over := fmt.Sprintf("Over %s %s takes", count(len(x.Points), "point"), x.Variant)
	if x.Homogeneous {
		return fmt.Sprintf("%s %s as long as %s (elapsed time, random-effects mean; the points do not differ "+
			"much, I2 %s).", over,
			figure.Times(x.Mean.Ratio, x.Mean.Low, x.Mean.High), x.Baseline, figure.Percent(*x.I2))
	}
	low, high := extremes(a, x)
	text := fmt.Sprintf("%s from %s to %s as long as %s, depending on the point (elapsed time, I2 %s): no "+
		"single factor stands for all", over,
		low, high, x.Baseline, figure.Percent(*x.I2))
	if x.PredictionLow != nil && x.PredictionHigh != nil {
		text += fmt.Sprintf("; a new point is expected between %s and %s", figure.Times(*x.PredictionLow, nil, nil),
			figure.Times(*x.PredictionHigh, nil, nil))
	}
	return text + "."
}

// extremes are the smallest and the largest ratio of an average's points.
func extremes(a lab.Analysis, x lab.Average) (low, high string) {
	var found []lab.Comparison
	for _, c := range a.Comparisons {
		if c.Metric == x.Metric && c.Variant == x.Variant && c.Baseline == x.Baseline &&
			slices.Contains(x.Points, c.Point.Name) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b lab.Comparison) int {
		return cmp.Compare(a.Ratio.Ratio, b.Ratio.Ratio)
	})
	if len(found) == 0 {
		return figure.Absent, figure.Absent
	}
	show := func(c lab.Comparison) string {
		return fmt.Sprintf("%s (%s)", figure.Times(c.Ratio.Ratio, c.Low, c.High), c.Point.Name)
	}
	return show(found[0]), show(found[len(found)-1])
}

// saysLadder names the dearest and the cheapest way to do one operation.
func (e *experiment) saysLadder(a lab.Analysis) string {
	if len(a.Ladder) < 2 {
		return ""
	}
	dear, cheap := a.Ladder[0], a.Ladder[len(a.Ladder)-1]
	show := func(r lab.Rung) string {
		text := figure.Quantity(r.CPU, nil, nil, "s")
		if r.ToBaseline != nil {
			text += fmt.Sprintf(", %s %s", figure.Times(r.ToBaseline.Ratio, r.ToBaseline.Low, r.ToBaseline.High),
				e.study.Baseline)
		}
		return text
	}
	return fmt.Sprintf("At %s one %s costs most CPU time with %s (%s) and least with %s (%s), of %d variants.",
		dear.Point, e.operation(),
		dear.Variant, show(dear), cheap.Variant, show(cheap), len(a.Ladder))
}

// saysTrends tells which variants do not grow in proportion to their factor. It
// leaves that to the claims where the study makes some on it: they are judged
// block by block, which sees more than a line through means.
func (e *experiment) saysTrends(a lab.Analysis) string {
	if slices.ContainsFunc(e.study.Claims, func(c lab.Claim) bool { return c.Kind == lab.ClaimLinear }) {
		return ""
	}
	var off []string
	lines, elapsed := 0, e.named(lab.Elapsed, 0, "")
	for _, t := range a.Trends {
		if t.Metric != elapsed || t.ExponentLow == nil || t.ExponentHigh == nil {
			continue
		}
		lines++
		shown := fmt.Sprintf("%s with %s to the power %s", t.Variant, t.Factor,
			figure.Number(t.Exponent, t.ExponentLow, t.ExponentHigh))
		if *t.ExponentLow > 1 || *t.ExponentHigh < 1 {
			off = append(off, shown)
		}
	}
	switch {
	case lines == 0:
		return ""
	case len(off) == 0:
		return fmt.Sprintf("Elapsed time may grow in proportion to its factor in all %s: "+
			"no exponent is clear of 1.", count(lines, "trend"))
	}
	return fmt.Sprintf("Elapsed time does not grow in proportion to its factor: %s (of %s).", some(off),
		count(lines, "trend"))
}

// some lists the first of several things and how many more there are.
func some(things []string) string {
	if more := len(things) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(things[:mostNamed], ", "), more)
	}
	return strings.Join(things, ", ")
}

// saysClaims counts the verdicts on the claims.
func saysClaims(a lab.Analysis) string {
	if len(a.Claims) == 0 {
		return ""
	}
	counts := map[string]int{}
	var contradicted []string
	for _, c := range a.Claims {
		counts[c.Standing()]++
		if c.Verdict == lab.ClaimContradicted {
			contradicted = append(contradicted, c.ID)
		}
	}
	named := ""
	if len(contradicted) > 0 {
		named = " (" + some(contradicted) + ")"
	}
	unasked := ""
	if n := counts[lab.NotAskedFor]; n > 0 {
		unasked = fmt.Sprintf(", %d %s", n, lab.NotAskedFor)
	}
	return fmt.Sprintf("Of %s %d supported here, %d contradicted%s, %d undecided%s, %d untestable.",
		count(len(a.Claims), "claim"),
		counts[string(lab.ClaimSupported)], counts[string(lab.ClaimContradicted)], named,
		counts[string(lab.ClaimUndecided)], unasked, counts[string(lab.ClaimUntestable)])
}

// saysTrust tells whether twins were alike, what is undecided, what did not count and
// what was struck out.
func (e *experiment) saysTrust(a lab.Analysis) string {
	var parts []string
	headline, what := e.headline(), "elapsed time"
	if len(e.study.Metrics) > 0 {
		what = e.study.Metrics[0].Title
	}
	if r, ok := a.NoiseFloor[headline]; ok && r.Low != nil && fewBlocks(r) {
		parts = append(parts, fmt.Sprintf("Whether equal variants are measured alike in %s is not known: too few "+
			"blocks (%d) with a twin.", what, r.N))
	} else if ok && r.Low != nil {
		found := "no bias was found"
		if bias := e.widestGates(headline).Bias; bias > 0 {
			found = fmt.Sprintf("that is a bias, and differences in %s below %s are not told from it", what,
				stats.Reach(bias))
		}
		parts = append(parts,
			fmt.Sprintf("The same variant under a second name is measured at %s of itself in %s: %s.",
				figure.Times(r.Ratio, r.Low, r.High), what, found))
	} else {
		parts = append(parts,
			"Whether equal variants are measured alike is unknown: none ran often enough beside its own twin.")
	}
	undecided, all := e.countUndecided(a, headline)
	beside := ""
	if a.Trials.Spared > 0 {
		beside = fmt.Sprintf(" (%d were not played: what they compare was decided, or the time was up)",
			a.Trials.Spared)
	}
	if a.Trials.Further > 0 {
		beside = fmt.Sprintf(" (%d in further blocks, where others were lost)", a.Trials.Further)
	}
	parts = append(parts, fmt.Sprintf("Undecided: %d of %s of %s. Counted: %d of %s%s; %s did not count.",
		undecided, count(all, "comparison"),
		what, a.Trials.Valid, count(a.Trials.Planned, "planned trial"), beside,
		count(len(a.Trials.Invalid), "attempt")))
	if e.looks != nil {
		parts = append(parts, fmt.Sprintf("The data were looked at after every block from %d on, at most %d: the "+
			"intervals are drawn for all looks together (Lan-DeMets with Pocock's spending).",
			lab.FirstLook, e.design.Blocks))
	}
	for _, name := range slices.Sorted(maps.Keys(e.struck)) {
		parts = append(parts, fmt.Sprintf("%s is struck out of every comparison: %s.", name, e.struck[name]))
	}
	return strings.Join(parts, " ")
}

// countUndecided counts the verdicts on a metric: on its steps where the study is
// about these, else on its comparisons.
func (e *experiment) countUndecided(a lab.Analysis, metric string) (undecided, all int) {
	var verdicts []lab.ComparisonVerdict
	steps := e.study.Explains() && len(a.Waterfalls) > 0
	for _, w := range a.Waterfalls {
		for _, s := range w.Steps {
			if steps && w.Metric == metric {
				verdicts = append(verdicts, s.Verdict)
			}
		}
	}
	for _, c := range a.Comparisons {
		if !steps && c.Metric == metric {
			verdicts = append(verdicts, c.Verdict)
		}
	}
	for _, v := range verdicts {
		if v == lab.Undecided {
			undecided++
		}
	}
	return undecided, len(verdicts)
}

// count writes a number of things: "1 block", "5 blocks".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
