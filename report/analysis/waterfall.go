package analysis

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// waterfalls returns the comparisons of the study's steps, one for each metric and point that all of their
// variants have.
func (e *experiment) waterfalls() []lab.Waterfall {
	shown := e.steps(1)
	other := e.steps(2)
	if !e.showsSteps() {
		return nil
	}
	var all []lab.Waterfall
	points := e.stepPoints(shown)
	for _, point := range points {
		e.noteGaps(point.Name, shown)
	}
	for _, metric := range e.stepMetrics() {
		for _, point := range points {
			w, known := e.waterfall(metric, point, shown)
			if !known {
				continue
			}
			w.Interactions = e.interactions(metric, point.Name, shown, other)
			all = append(all, w)
		}
	}
	return all
}

// showsSteps reports whether the study has steps to show. A single step is a plain comparison, unless the
// study explains it.
func (e *experiment) showsSteps() bool {
	least := 2
	if e.study.Explains() {
		least = 1
	}
	return len(e.steps(1)) >= least
}

// stepPoints returns the points at which every variant of the steps plays, of those that the study names for
// steps, if it names any.
func (e *experiment) stepPoints(steps []lab.PathStep) []lab.Point {
	var named []string
	if e.study.Explained != nil {
		named = e.study.Explained.Points
	}
	return filter(e.study.Points, func(p lab.Point) bool {
		isNamed := len(named) == 0 || slices.Contains(named, p.Name)
		return isNamed && e.planned(p.Name, stepVariants(steps))
	})
}

// stepMetrics returns the metrics that the study names for its steps, in its order, or all if it names none.
func (e *experiment) stepMetrics() []lab.Metric {
	if e.study.Explained == nil || len(e.study.Explained.Metrics) == 0 {
		return e.study.AllMetrics()
	}
	var named []lab.Metric
	for _, name := range e.study.Explained.Metrics {
		if m, known := e.metric(name); known {
			named = append(named, m)
		}
	}
	return named
}

// noteGaps adds a note on the blocks in which the trial of some step does not count.
func (e *experiment) noteGaps(point string, steps []lab.PathStep) {
	var gaps []string
	blocks := slices.Clone(e.blocks)
	for i := range e.design.Blocks {
		blocks = append(blocks, i+1)
	}
	slices.Sort(blocks)
	for _, block := range slices.Compact(blocks) {
		optional := block > e.design.Blocks || e.design.Until == lab.UntilDecided
		for _, name := range stepVariants(steps) {
			if optional && !e.attempted(block, name, point) {
				break // it was not needed
			}
			if !e.counts(name, point, block) {
				gaps = append(gaps, fmt.Sprintf("%d (no trial of %s counts)", block, name))
				break
			}
		}
	}
	if len(gaps) > 0 {
		e.note("At %s blocks lack trials: %s. Ratios are estimated from all trials that count.", point, some(gaps))
	}
}

// steps returns the study's steps in one of their orders: 1, which the report shows, or 2, which only tests
// interactions.
func (e *experiment) steps(order int) []lab.PathStep {
	return filter(e.study.Steps, func(s lab.PathStep) bool { return s.Order == order })
}

// stepVariants returns the variants of steps, each once, in their order.
func stepVariants(steps []lab.PathStep) []string {
	var names []string
	for _, s := range steps {
		names = appendNew(appendNew(names, s.Before), s.Variant)
	}
	return names
}

// waterfall judges the steps as a family, and the whole on its own. known is false if a ratio cannot be
// estimated. All ratios at a point are least squares over the same blocks. Therefore the ratios of the steps
// multiply to that of the whole, even if some trials do not count.
func (e *experiment) waterfall(
	metric lab.Metric, point lab.Point, steps []lab.PathStep,
) (w lab.Waterfall, known bool) {
	if !allOf(stepVariants(steps), e.comparable) {
		return w, false
	}
	over := func(p pair) contrast { return e.contrast(metric.Name, point.Name, p) }
	from, to := steps[0].Before, steps[len(steps)-1].Variant
	for _, s := range append(slices.Clone(steps), lab.PathStep{Before: from, Variant: to}) {
		if !over(pair{s.Variant, s.Before}).known() {
			return w, false
		}
	}
	whole := e.comparison(metric, point, pair{to, from}, over(pair{to, from}))
	w = lab.Waterfall{Metric: metric.Name, Point: point, From: from, To: to, Whole: whole.Ratio,
		Verdict: whole.Verdict, Words: whole.Words, Unsteady: whole.Unsteady}
	var family []lab.Comparison
	var ratios []stats.Ratio
	for _, s := range steps {
		c := over(pair{s.Variant, s.Before})
		family = append(family, e.comparison(metric, point, pair{s.Variant, s.Before}, c))
		ratios = append(ratios, c.ratio)
	}
	e.adjust(family, ratios)
	for i, s := range steps {
		c := family[i]
		w.Steps = append(w.Steps, lab.Step{
			Name: s.Name, Changes: s.Changes, Knob: s.Knob(), Change: s.Change(), Plain: e.plainStep(s),
			With: s.With(), Before: s.Before, Variant: s.Variant,
			Ratio: c.Ratio, Verdict: c.Verdict, Words: c.Words, Margin: c.Margin, PHolm: c.PHolm, Unsteady: c.Unsteady,
			Withheld: c.Withheld,
		})
	}
	for _, p := range stretches(steps) {
		c := e.comparison(metric, point, p, over(p))
		w.Stretches = append(w.Stretches, lab.Stretch{From: p.against, To: p.variant, Ratio: c.Ratio,
			Verdict: c.Verdict, Words: c.Words})
	}
	return w, true
}

// stretches returns the pair from the first variant to the last stock one, and from there to the tuned one;
// nil if the steps do not have both.
func stretches(steps []lab.PathStep) []pair {
	tuning := slices.IndexFunc(steps, func(s lab.PathStep) bool { return s.Tunes })
	if tuning < 1 || slices.ContainsFunc(steps[tuning:], func(s lab.PathStep) bool { return !s.Tunes }) {
		return nil
	}
	lastStock := steps[tuning].Before
	return []pair{{lastStock, steps[0].Before}, {steps[len(steps)-1].Variant, lastStock}}
}

// overBlocks returns the values of each of some variants over the blocks in which all have a positive value,
// and the number of these blocks.
func (e *experiment) overBlocks(
	metric, point string, variants []string,
) (values map[string][]float64, blocks int) {
	values = map[string][]float64{}
	if !allOf(variants, e.comparable) {
		return values, 0
	}
	for _, block := range e.blocks {
		found := map[string]float64{}
		for _, name := range variants {
			if value, measured := e.series[seriesKey{name, point, metric}].at(block); measured && value > 0 {
				found[name] = value
			}
		}
		if len(found) < len(variants) {
			continue
		}
		for name, value := range found {
			values[name] = append(values[name], value)
		}
		blocks++
	}
	return values, blocks
}

// interactions compares the effect of each knob in the order shown with its effect in the other order. If
// they differ, the knobs interact, and a share of the whole cannot be attributed to one of them. Changes that
// one order makes in one step are compared together.
func (e *experiment) interactions(
	metric lab.Metric, point string, shown, other []lab.PathStep,
) []lab.Interaction {
	groups := changedTogether(shown, other)
	if len(groups) < 2 {
		return nil // there is one order only
	}
	values, blocks := e.overBlocks(metric.Name, point, stepVariants(slices.Concat(shown, other)))
	if blocks == 0 {
		return nil
	}
	ones := slices.Repeat([]float64{1}, blocks)
	var all []lab.Interaction
	for _, group := range groups {
		first := effect(group, shown, values, blocks)
		second := effect(group, other, values, blocks)
		difference := e.byBlock(first, second)
		i := lab.Interaction{
			Knob: groupName(group, shown), Plain: e.changesText(group),
			First:    e.byBlock(first, ones).estimate(),
			Second:   e.byBlock(second, ones).estimate(),
			OfRatios: difference.estimate(),
		}
		gates := e.gates(metric.Name, pair{shown[0].Before, shown[len(shown)-1].Variant})
		i.Matters, i.Words = orderMatters(difference, gates)
		all = append(all, i)
	}
	return all
}

// sameInBoth begins the words about a knob whose effect is the same in both orders.
const sameInBoth = "the same in both orders"

// orderMatters reports whether the ratio of two effects lies wholly beyond margin and bias, and says so in
// words.
func orderMatters(c contrast, gates stats.Gates) (matters bool, words string) {
	if !c.decided {
		return false, fmt.Sprintf("undecided: %d block gives no interval, at least 2 are needed", c.n())
	}
	beyond := 1 + gates.Widest()
	if c.ratio.Low > beyond || c.ratio.High < 1/beyond {
		return true, "depends on the order of the steps"
	}
	if verdict := stats.Judge(c.ratio.Estimate, gates,
		stats.Wording{Above: "more", Below: "less"}); verdict.Kind == lab.Equivalent {
		return false, sameInBoth + ", " + verdict.Words
	}
	return false, fmt.Sprintf("undecided whether the order matters, the margin is %s",
		figure.Percent(gates.Widest()))
}

// effect returns the effect of a group of changes by block: the product of the ratios of the steps
// that made them.
func effect(group []lab.KnobChange, steps []lab.PathStep, values map[string][]float64, blocks int) []float64 {
	product := slices.Repeat([]float64{1}, blocks)
	for _, s := range steps {
		if !slices.ContainsFunc(s.Changes, func(c lab.KnobChange) bool { return contains(group, c) }) {
			continue
		}
		for i := range product {
			product[i] *= values[s.Variant][i] / values[s.Before][i]
		}
	}
	return product
}

// contains reports whether a change is among others. It ignores knobs that come with the change.
func contains(changes []lab.KnobChange, c lab.KnobChange) bool {
	return slices.ContainsFunc(changes, func(other lab.KnobChange) bool {
		return other.Knob == c.Knob && other.From == c.From && other.To == c.To
	})
}

// changedTogether divides the changes of two orders into the smallest groups such that no step makes changes
// of two groups. The groups are in the order shown. It returns nil if the orders have different changes.
func changedTogether(shown, other []lab.PathStep) [][]lab.KnobChange {
	var groups [][]lab.KnobChange
	made := 0
	for _, s := range slices.Concat(shown, other) {
		joined := slices.Clone(s.Changes)
		made += len(s.Changes)
		groups = slices.DeleteFunc(groups, func(group []lab.KnobChange) bool {
			if !slices.ContainsFunc(s.Changes, func(c lab.KnobChange) bool { return contains(group, c) }) {
				return false
			}
			for _, c := range group {
				if !contains(joined, c) {
					joined = append(joined, c)
				}
			}
			return true
		})
		groups = append(groups, joined)
	}
	distinct := 0
	for _, group := range groups {
		distinct += len(group)
	}
	if len(other) == 0 || made != 2*distinct { // each order makes each change once
		return nil
	}
	slices.SortStableFunc(groups, func(a, b []lab.KnobChange) int {
		return firstMade(shown, a) - firstMade(shown, b)
	})
	return groups
}

// firstMade returns the index of the first step that makes one of the changes.
func firstMade(steps []lab.PathStep, changes []lab.KnobChange) int {
	return slices.IndexFunc(steps, func(s lab.PathStep) bool {
		return slices.ContainsFunc(s.Changes, func(c lab.KnobChange) bool { return contains(changes, c) })
	})
}

// groupName returns the knobs of a group, with the values for a knob that the steps turn more than once.
func groupName(group []lab.KnobChange, steps []lab.PathStep) string {
	turns := map[string]int{}
	for _, s := range steps {
		for _, c := range s.Changes {
			turns[c.Knob]++
		}
	}
	text := ""
	for i, c := range group {
		if i > 0 {
			text += " and "
		}
		text += c.Knob
		if turns[c.Knob] > 1 {
			text += " " + c.From + " -> " + c.To
		}
	}
	return text
}
