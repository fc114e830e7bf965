package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// quantities lists the times that are followed through a trial.
var quantities = []string{stats.FollowMedian, stats.FollowTail, stats.FollowRate}

// followSteadiness looks at how every trial went on, in cohorts of its operations.
func (e *experiment) followSteadiness() {
	e.unsteady = map[seriesKey]lab.Steadiness{}
	for _, v := range e.variants() {
		e.noteNetwork(v)
		for _, point := range e.study.Points {
			var loads []lab.Cohorts
			for _, trial := range e.counted(v.Name, point.Name) {
				if trial.Cohorts != nil {
					loads = append(loads, *trial.Cohorts)
				}
			}
			for _, quantity := range quantities {
				s := e.steadiness(v.Name, point, quantity, loads)
				if s.Halves != nil {
					e.steady = append(e.steady, s)
				} else if quantity == stats.FollowTail { // too few operations: where the median is off, the tail is
					s = e.unsteady[seriesKey{v.Name, point.Name, stats.FollowMedian}]
				}
				if s.Words != "" {
					e.unsteady[seriesKey{v.Name, point.Name, quantity}] = s
				}
			}
			e.followWarmUps(v.Name, point)
		}
	}
}

// noteNetwork says how a probe has found the network before a variant, and the links of its hosts, where
// these are its own: in the first trial that was probed.
func (e *experiment) noteNetwork(v lab.Variant) {
	for _, point := range e.study.Points {
		for _, trial := range e.counted(v.Name, point.Name) {
			const held = "A probe before every trial has held it; in the first"
			if trial.Network != "" {
				e.note("Network before %s: %s. %s: %s.", v.Name, v.Network, held, trial.Network)
			}
			for _, host := range slices.Sorted(maps.Keys(trial.Links)) {
				e.note("Link of %s of %s: %s. %s: %s.", host, v.Name, v.Hosts[host], held, trial.Links[host])
			}
			if trial.Network != "" || len(trial.Links) > 0 {
				return
			}
		}
	}
}

// steadiness sums up how the loads of a variant at a point went on. They are not steady where they change
// within themselves, or where all together their second halves differ by more than the margin from their
// first.
func (e *experiment) steadiness(
	variant string, point lab.Point, quantity string, loads []lab.Cohorts,
) lab.Steadiness {
	f := stats.Follow(loads, quantity, e.design.Margin)
	s := lab.Steadiness{Variant: variant, Point: point, Quantity: f.Quantity, Courses: f.Courses, Steady: true,
		Factor: 1}
	halves := e.byBlock(f.Second, f.First)
	if halves.n() > 0 {
		r := halves.estimate()
		s.Halves = &r
	}
	sure := e.strict(len(e.study.Points)*len(e.study.Variants)*len(quantities), len(loads))
	switch {
	case f.Changes():
		s.Steady, s.Factor = false, f.Factor
		s.Words = fmt.Sprintf("in %d of %s its %s changes within the trial, by %s", f.Changed,
			figure.Count(f.Judged(), "trial"), quantityText[f.Quantity], figure.Times(figure.Alone(s.Factor)))
	case f.HalvesDiffer(e.design.Margin, sure):
		s.Steady, s.Factor = false, math.Exp(math.Abs(math.Log(s.Halves.Ratio)))
		s.Words = fmt.Sprintf("the second half of its trials has %s the %s of the first", halves.text(),
			quantityText[f.Quantity])
	}
	return s
}

// quantityText holds the names of quantities in sentences. A rate is followed as its inverse.
var quantityText = map[string]string{
	stats.FollowMedian: "median response time", stats.FollowTail: "99th percentile of the response time",
	"p95": "95th percentile of the response time", "p90": "90th percentile of the response time",
	stats.FollowRate: "time between right answers",
}

// disturbance returns the largest change that a comparison may depend on: of either variant within its
// trials, in what the metric follows, or of their ratio from block to block. Its factor is 1 if there is
// none. The change is described in short and in full.
func (e *experiment) disturbance(
	metric lab.Metric, point string, p pair, c contrast,
) (factor float64, short, full string) {
	factor, full = driftOf(c, e.design.Margin)
	if full != "" {
		short = driftingRatio + " from block to block"
	}
	for _, name := range []string{p.variant, p.against} {
		if v, _ := e.study.Variant(name); v.TwinOf != "" {
			name = v.TwinOf
		}
		if s, found := e.unsteady[seriesKey{name, point, traitsOf(metric).follows}]; found && s.Factor > factor {
			factor, short = s.Factor, s.Variant+" is not steady"
			full = short + ": " + s.Words
		}
	}
	return factor, short, full
}

// withhold takes back a verdict that depends on how long the trials lasted. If even the whole change could
// not turn it, its direction stands, but not its size.
func (e *experiment) withhold(out *lab.Comparison, metric lab.Metric, p pair, c contrast) {
	factor, short, full := e.disturbance(metric, out.Point.Name, p, c)
	if full == "" {
		return
	}
	out.Unsteady = full
	beyond := 1 + e.gates(metric.Name, p).Widest()
	out.Verdict, out.Words = weaken(out.Verdict, out.Words, c.ratio.Low, c.ratio.High, beyond, factor, short)
	if out.Verdict == lab.Undecided {
		out.MoreBlocks = 0 // they would not change it
	}
}

// weaken downgrades a verdict by a possible error factor of its ratio, either way: its direction stands where
// that leads to no other. What was undecided stays so, and is not withheld.
func weaken(
	verdict lab.ComparisonVerdict, words string, low, high, beyond, factor float64, why string,
) (lab.ComparisonVerdict, string) {
	switch {
	case low/factor > beyond || high*factor < 1/beyond:
		direction, _, _ := strings.Cut(words, " by at least")
		return verdict, direction + ", by how much is open: " + why
	case verdict == lab.Undecided:
		return lab.Undecided, "undecided, and " + why
	}
	return lab.Undecided, withheldVerdict + why
}

// withheldVerdict begins the words of a verdict that was taken back.
const withheldVerdict = "withheld: "

// driftingRatio begins the words about a ratio that goes up or down over the blocks.
const driftingRatio = "the ratio goes"

// driftOf says how a ratio goes up or down over the blocks of an experiment: by more than
// the margin, and in an order that chance alone makes of fewer than one in a hundred. Its
// factor is 1 where it does not.
func driftOf(c contrast, margin float64) (factor float64, words string) {
	const chance = 0.01
	logs, err := stats.LogRatios(c.up, c.down)
	if err != nil {
		return 1, ""
	}
	p, err := stats.MannKendall(logs)
	change := stats.TheilSen(logs) * float64(len(logs)-1)
	if err != nil || p > chance || math.Abs(change) <= math.Log1p(margin) {
		return 1, ""
	}
	return math.Exp(math.Abs(change)),
		fmt.Sprintf(driftingRatio+" by %s from the first block to the last (Mann-Kendall p %s)",
			figure.Times(figure.Alone(math.Exp(change))), figure.Number(figure.Alone(p)))
}

// unsteadySentence names the verdicts that depend on the length of a trial, with the reason; "" without any.
func (e *experiment) unsteadySentence(a lab.Analysis) string {
	var withheld, sized, why []string
	add := func(name, words, unsteady string) {
		switch {
		case unsteady == "" || strings.HasPrefix(words, "undecided"):
			return
		case strings.HasPrefix(words, withheldVerdict):
			withheld = append(withheld, name)
		default:
			sized = append(sized, name)
		}
		if strings.HasPrefix(unsteady, driftingRatio) {
			why = append(why, name+": "+unsteady)
		}
	}
	compared := func(who, metric, point, words, unsteady string) {
		m, _ := e.metric(metric)
		add(who+" in "+m.Title+e.placeOf(m, point), words, unsteady)
	}
	for _, w := range a.Waterfalls {
		for _, s := range w.Steps {
			compared(s.Label(), w.Metric, w.Point.Name, s.Words, s.Unsteady)
		}
	}
	for _, on := range a.FactorEffects {
		for _, x := range on.Effects {
			compared(x.Label, on.Metric, on.Point.Name, x.Words, x.Unsteady)
		}
	}
	for _, c := range a.Comparisons {
		compared(c.Variant+" against "+c.Baseline, c.Metric, c.Point.Name, c.Words, c.Unsteady)
	}
	for _, j := range a.Claims {
		if strings.HasPrefix(j.Reason, withheldVerdict) {
			add(quoted(j), j.Reason, j.Unsteady)
		}
	}
	if len(withheld)+len(sized) == 0 {
		return ""
	}
	for _, v := range e.variants() {
		for _, s := range e.steady {
			if !s.Steady && s.Variant == v.Name {
				why = append(why, fmt.Sprintf("%s at %s: %s", s.Variant, s.Point.Name, s.Words))
				break
			}
		}
	}
	text := fmt.Sprintf("Not steady: %s. What is measured there depends on how long a trial lasts: lengthen "+
		"trials and warm-up.", strings.Join(why[:min(mostNamed, len(why))], "; "))
	if len(withheld) > 0 {
		text += fmt.Sprintf(" So there is no verdict on %s.", some(withheld))
	}
	if len(sized) > 0 {
		text += fmt.Sprintf(" Only the direction is sure, and not the size, of %s.", some(sized))
	}
	return text
}

// keepLongest leaves out the trials that were shorter than others that count at their point: what is measured
// of a system that is not steady depends on how long it is loaded.
func (e *experiment) keepLongest() {
	e.lengths = map[string]float64{}
	for _, trial := range e.trials {
		if at := trial.Point.Name; trial.Valid && trial.Lengthened > max(1, e.lengths[at]) {
			e.lengths[at] = trial.Lengthened
		}
	}
	var longest []lab.Trial
	shorter := map[string][]lab.Trial{}
	for _, trial := range e.trials {
		if at := trial.Point.Name; max(1, trial.Lengthened) < e.lengths[at] {
			shorter[at] = append(shorter[at], trial)
		} else {
			longest = append(longest, trial)
		}
	}
	e.shorter = len(e.trials) - len(longest)
	e.trials = longest
	for _, point := range e.study.Points {
		if times := e.lengths[point.Name]; times > 1 {
			e.note("Trials at %s were not steady as planned. Load and warm-up were made %g times as long there; %s "+
				"that were shorter do not count.%s",
				point.Name, times, figure.Count(len(shorter[point.Name]), "trial"),
				e.shorterTrialsText(point.Name, shorter[point.Name]))
		}
	}
}

// shorterTrialsText compares shorter trials with the longest in the metric of the headline, to show the
// effect of the length of a trial.
func (e *experiment) shorterTrialsText(point string, shorter []lab.Trial) string {
	metric, known := e.metric(e.headline())
	if !known {
		return ""
	}
	var parts []string
	for _, v := range e.variants() {
		was, is := medianOf(metric, v.Name, point, shorter), medianOf(metric, v.Name, point, e.trials)
		if was > 0 && is > 0 {
			parts = append(parts, fmt.Sprintf("%s %s, %s", v.Name, figure.Amount(was, metric.Unit),
				figure.Amount(is, metric.Unit)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" Their median %s, and that of these: %s.", metric.Name, strings.Join(parts, "; "))
}

// medianOf returns that of the valid trials of a variant at a point; 0 without any.
func medianOf(metric lab.Metric, variant, point string, trials []lab.Trial) float64 {
	var values []float64
	for _, trial := range trials {
		if value, measured := trial.Measures[metric.Name]; measured && trial.Valid && trial.Variant == variant &&
			trial.Point.Name == point && figure.Finite(value) {
			values = append(values, value)
		}
	}
	return stats.Median(values)
}

// loadSeconds returns how long the trials that count were measured under load, by point.
func (e *experiment) loadSeconds() map[string]float64 {
	seconds := map[string]float64{}
	for _, point := range e.study.Points {
		seconds[point.Name] = e.study.Load.Duration * max(1, e.lengths[point.Name])
	}
	return seconds
}

// leastChanging is the number of trials that must change within themselves before those that follow are
// made longer. By noise alone fewer than one trial in twenty does.
const leastChanging = 2

// Lengths implements lab.StoppingRule: at a point at which all trials of a variant change
// within themselves, those that follow are twice as long, as far as the design permits.
func (r Rule) Lengths(played []lab.Trial) map[string]float64 {
	e := r.experimentOf(played)
	lengths := maps.Clone(e.lengths)
	for _, s := range e.steady {
		long, flat := 0, s.Courses[string(stats.Flat)]
		for course, trials := range s.Courses {
			if course != stats.TooShort {
				long += trials
			}
		}
		if long >= leastChanging && flat == 0 && e.canLengthen(s.Point.Name) {
			lengths[s.Point.Name] = e.twiceAsLong(s.Point.Name)
		}
	}
	return lengths
}

// twiceAsLong doubles the length factor of the trials at a point.
func (e *experiment) twiceAsLong(point string) float64 { return 2 * max(1, e.lengths[point]) }

// canLengthen reports whether the design permits that at a point.
func (e *experiment) canLengthen(point string) bool { return e.twiceAsLong(point) <= e.design.Lengthen }
