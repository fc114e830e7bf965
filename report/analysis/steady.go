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

// quantities lists the quantities in which trials are followed.
var quantities = []string{stats.FollowMedian, stats.FollowTail, stats.FollowRate}

// warmUpQuantity takes the place of these in the steadiness of warm-ups.
const warmUpQuantity = "warm-up"

// followSteadiness judges the steadiness of all variants at all points, from the cohorts of their trials and
// from their warm-ups.
func (e *experiment) followSteadiness() {
	e.unsteady = map[seriesKey]lab.Steadiness{}
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			var loads []lab.Cohorts
			for _, trial := range e.counted(v.Name, point.Name) {
				if trial.Cohorts != nil {
					loads = append(loads, *trial.Cohorts)
				}
			}
			for _, quantity := range quantities {
				s := e.steadiness(v.Name, point, quantity, loads)
				if s.Halves != nil || !s.Steady {
					e.steady = append(e.steady, s)
				} else if quantity == stats.FollowTail { // too few operations: the tail is as unsteady as the median
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

// followedBy returns the steadiness of a quantity and of the warm-up of a variant at a point. If the
// operations were too few for the 99th percentile, it is that of the percentile that was followed, or of the
// median if none was (followSteadiness).
func followedBy(run lab.Analysis, variant, point, quantity string) []lab.Steadiness {
	there := filter(run.Steadiness, func(s lab.Steadiness) bool {
		return s.Variant == variant && s.Point.Name == point
	})
	isFollowed := func(s lab.Steadiness) bool { return s.Quantity == quantity }
	if quantity == stats.FollowTail {
		isFollowed = isOfTail
		if !slices.ContainsFunc(there, isOfTail) {
			isFollowed = func(s lab.Steadiness) bool { return s.Quantity == stats.FollowMedian }
		}
	}
	return filter(there, func(s lab.Steadiness) bool { return s.Quantity == warmUpQuantity || isFollowed(s) })
}

// isOfTail reports whether the followed quantity is a percentile of the tail.
func isOfTail(s lab.Steadiness) bool {
	return !slices.Contains([]string{stats.FollowMedian, stats.FollowRate, warmUpQuantity}, s.Quantity)
}

// steadiness returns the steadiness of the loads of a variant at a point in one quantity. They are not steady
// if they change while they run, or if their second halves together differ from the first by more than the
// margin.
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
	judged := len(e.study.Points) * len(e.study.Variants) * len(quantities)
	strict := e.strict(judged, len(loads))
	switch {
	case f.Changes():
		s.Steady = false
		s.Factor = f.Factor
		s.Words = fmt.Sprintf("in %d of %s its %s changes within the trial, by %s", f.Changed,
			lab.Count(f.Judged(), "trial"), quantityText[f.Quantity], figure.Multiple(s.Factor))
	case f.HalvesDiffer(e.design.Margin, strict):
		s.Steady = false
		s.Factor = math.Exp(math.Abs(math.Log(s.Halves.Ratio)))
		s.Words = fmt.Sprintf("the second half of its trials has %s the %s of the first", halves.text(),
			quantityText[f.Quantity])
	}
	return s
}

// quantityText holds the names of quantities in sentences. A rate is followed by its inverse.
var quantityText = map[string]string{
	stats.FollowMedian: "median response time", stats.FollowTail: "99th percentile of the response time",
	"p95": "95th percentile of the response time", "p90": "90th percentile of the response time",
	stats.FollowRate: "time between right answers",
}

// followWarmUps adds the summary of a variant's warm-ups at a point. If at least half of them were not steady
// when they ended, the measurements after them count as unsteady in all quantities.
func (e *experiment) followWarmUps(variant string, point lab.Point) {
	sum := lab.WarmUps{Variant: variant, Point: point, Courses: map[string]int{}}
	var seconds, factors, left []float64
	for _, trial := range e.counted(variant, point.Name) {
		w := trial.WarmUp
		if w == nil {
			continue
		}
		sum.Trials++
		sum.Courses[w.Course]++
		sum.Longest = max(sum.Longest, w.Seconds)
		seconds = append(seconds, w.Seconds)
		factors = append(factors, w.Factor)
		if w.Steady {
			sum.Steady++
		} else {
			left = append(left, w.Left)
		}
	}
	if sum.Trials == 0 {
		return
	}
	sum.Seconds = stats.Median(seconds)
	sum.Factor = stats.Median(factors)
	e.warmUps = append(e.warmUps, sum)
	if 2*sum.Steady > sum.Trials {
		return
	}
	s := lab.Steadiness{Variant: variant, Point: point, Quantity: warmUpQuantity, Courses: sum.Courses,
		Factor: stats.Median(left)}
	s.Words = fmt.Sprintf("in %d of %s it still changed, by %s, when its warm-up ended at the limit of %s",
		len(left), lab.Count(sum.Trials, "trial"), figure.Multiple(s.Factor),
		figure.Amount(sum.Longest, "s"))
	e.steady = append(e.steady, s)
	for _, quantity := range quantities {
		if at := (seriesKey{variant, point.Name, quantity}); e.unsteady[at].Factor < s.Factor {
			e.unsteady[at] = s
		}
	}
}

// disturbance returns the largest change that may distort a comparison: of either variant within its trials,
// in the quantity that the metric follows, or of their ratio from block to block. The change is described in
// short and in full. Without one, the factor is 1 and both texts are empty.
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

// withhold downgrades a verdict that depends on the length of the trials; see weaken.
func (e *experiment) withhold(out *lab.Comparison, metric lab.Metric, p pair, c contrast) {
	factor, short, full := e.disturbance(metric, out.Point.Name, p, c)
	if full == "" {
		return
	}
	out.Unsteady = full
	beyond := 1 + e.gates(metric.Name, p).Widest()
	wasDecided := out.Verdict != lab.Undecided
	out.Verdict, out.Words = weaken(out.Verdict, out.Words, c.ratio.Low, c.ratio.High, beyond, factor, short)
	if out.Verdict == lab.Undecided {
		out.Withheld = wasDecided
		out.MoreBlocks = 0 // more blocks would not decide it
	}
}

// weaken downgrades a verdict by a possible error factor of its ratio, either way. Its direction stands if
// the interval, wider by the factor, is still beyond the limit; else it is withheld. What was undecided stays
// so.
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

// withheldVerdict begins the words of a verdict that is withheld.
const withheldVerdict = "withheld: "

// driftingRatio begins the words about a ratio that drifts over the blocks.
const driftingRatio = "the ratio goes"

// driftOf returns the drift of a ratio over the blocks of an experiment, as a factor and in
// words, if it is more than the margin and significant at 1 %. Without one the factor is 1.
func driftOf(c contrast, margin float64) (factor float64, words string) {
	const significance = 0.01
	logs, err := stats.LogRatios(c.up, c.down)
	change := stats.TheilSen(logs) * float64(len(logs)-1)
	if err != nil || math.Abs(change) <= math.Log1p(margin) {
		return 1, ""
	}
	p, err := stats.MannKendall(logs)
	if err != nil || p > significance {
		return 1, ""
	}
	return math.Exp(math.Abs(change)),
		fmt.Sprintf(driftingRatio+" by %s from the first block to the last (Mann-Kendall p %s)",
			figure.Multiple(math.Exp(change)), figure.Rounded(p))
}

// unsteadySentence returns sentences on the verdicts that depend on the length of a trial, with the reasons,
// "" without any.
func (e *experiment) unsteadySentence(a lab.Analysis) string {
	var withheld, directions, why []string // verdicts that are withheld, those without a size, and reasons
	add := func(name string, verdict lab.ComparisonVerdict, isWithheld bool, unsteady string) {
		switch {
		case isWithheld:
			withheld = append(withheld, name)
		case unsteady != "" && verdict != lab.Undecided:
			directions = append(directions, name)
		default:
			return
		}
		if strings.HasPrefix(unsteady, driftingRatio) {
			why = append(why, name+": "+unsteady)
		}
	}
	compared := func(
		who, metric, point string, verdict lab.ComparisonVerdict, isWithheld bool, unsteady string,
	) {
		m, _ := e.metric(metric)
		add(who+" in "+m.Title+e.placeOf(m, point), verdict, isWithheld, unsteady)
	}
	for _, w := range a.Waterfalls {
		for _, s := range w.Steps {
			compared(s.Label(), w.Metric, w.Point.Name, s.Verdict, s.Withheld, s.Unsteady)
		}
	}
	for _, on := range a.FactorEffects {
		for _, x := range on.Effects {
			compared(x.Label, on.Metric, on.Point.Name, x.Verdict, x.Withheld, x.Unsteady)
		}
	}
	for _, c := range a.Comparisons {
		compared(c.Variant+" against "+c.Baseline, c.Metric, c.Point.Name, c.Verdict, c.Withheld, c.Unsteady)
	}
	for _, j := range a.Claims {
		add(quoted(j), lab.Undecided, j.Withheld, j.Unsteady)
	}
	if len(withheld)+len(directions) == 0 {
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
	if len(directions) > 0 {
		text += fmt.Sprintf(" Only the direction is sure, and not the size, of %s.", some(directions))
	}
	return text
}

// keepLongest leaves out the trials that were shorter than others that count at their point: measurements of
// an unsteady system depend on the length of the load.
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
			e.note("Trials at %s were not steady as planned. Load and warm-up were made %g times as long there; "+
				"the shorter ones (%d) do not count.%s", point.Name, times, len(shorter[point.Name]),
				e.shorterTrialsText(point.Name, shorter[point.Name]))
		}
	}
}

// shorterTrialsText returns the medians of shorter trials and of the longer ones in the headline metric, to
// show the effect of the length of a trial.
func (e *experiment) shorterTrialsText(point string, shorter []lab.Trial) string {
	metric, known := e.metric(e.headlineMetric())
	if !known {
		return ""
	}
	var parts []string
	for _, v := range e.variants() {
		was := medianOf(metric, v.Name, point, shorter)
		is := medianOf(metric, v.Name, point, e.trials)
		if was > 0 && is > 0 {
			parts = append(parts, fmt.Sprintf("%s %s, %s", v.Name, figure.Amount(was, metric.Unit),
				figure.Amount(is, metric.Unit)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" Their median %s, and that of the longer ones: %s.", metric.Name,
		strings.Join(parts, "; "))
}

// medianOf returns the median of a metric over the valid trials of a variant at a point, 0 without any.
func medianOf(metric lab.Metric, variant, point string, trials []lab.Trial) float64 {
	var values []float64
	for _, trial := range trials {
		isHere := trial.Variant == variant && trial.Point.Name == point
		if value, measured := trial.Measures[metric.Name]; measured && trial.Valid && isHere {
			values = append(values, value)
		}
	}
	return stats.Median(values)
}

// loadSeconds returns the duration of the load in the trials that count, by point.
func (e *experiment) loadSeconds() map[string]float64 {
	seconds := map[string]float64{}
	for _, point := range e.study.Points {
		seconds[point.Name] = e.study.Load.Duration * max(1, e.lengths[point.Name])
	}
	return seconds
}

// leastChanging is the number of trials that must change while they run before later ones are
// made longer. Noise alone does that to fewer than one trial in twenty.
const leastChanging = 2

// Lengths implements lab.StoppingRule: at a point at which all trials of a variant change
// while they run, later trials are twice as long, within the limit of the design.
func (r Rule) Lengths(played []lab.Trial) map[string]float64 {
	e := r.experimentOf(played)
	lengths := maps.Clone(e.lengths)
	for _, s := range e.steady {
		judged := stats.Following{Courses: s.Courses}.Judged()
		allChange := s.Courses[string(stats.Flat)] == 0
		if judged < leastChanging || !allChange {
			continue
		}
		if e.canLengthen(s.Point.Name) {
			lengths[s.Point.Name] = e.twiceAsLong(s.Point.Name)
		}
	}
	return lengths
}

// twiceAsLong returns twice the length factor of the trials at a point.
func (e *experiment) twiceAsLong(point string) float64 { return 2 * max(1, e.lengths[point]) }

// canLengthen reports whether the design permits trials at a point that are twice as long.
func (e *experiment) canLengthen(point string) bool { return e.twiceAsLong(point) <= e.design.Lengthen }
