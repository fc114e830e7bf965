package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// quantities are what is followed through a trial, each as a time: the time between
// right answers stands for their rate.
var quantities = []string{followMedian, followTail, followRate}

// What is followed through a trial.
const (
	followMedian = "median"
	followTail   = "p99"
	followRate   = "rate"
)

// tooShort is the course of a trial of fewer slices than tell a change from noise.
const tooShort = "too short"

// followed is what a metric follows from; "" where it does not depend on when in a load
// it is taken.
func followed(m lab.Metric) string {
	switch {
	case m.Quantity == lab.Capacity:
		return "" // a search has no course
	case m.Kind == lab.KindTime && m.Quantile >= 0.9:
		return followTail
	case m.Kind == lab.KindTime, m.Kind == lab.KindCost:
		return followMedian
	case m.Kind == lab.KindRate:
		return followRate
	}
	return ""
}

// followSteadiness looks at the course of every trial. Trials have one second in a
// slice; one that its load did not fill tells nothing.
func (e *experiment) followSteadiness() {
	e.unsteady = map[cell]lab.Steadiness{}
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			for _, quantity := range quantities {
				if s := e.steadiness(v.Name, point, quantity); len(s.Courses) > 0 {
					e.steady = append(e.steady, s)
					if !s.Steady {
						e.unsteady[cell{v.Name, point.Name, quantity}] = s
					}
				}
			}
		}
	}
}

// steadiness sums up the courses of a variant's trials at a point. They are not steady
// where at least half of those that are long enough change their level by more than the
// margin, or where all together their second halves differ by more than that from
// their first.
func (e *experiment) steadiness(variant string, point lab.Point, quantity string) lab.Steadiness {
	s := lab.Steadiness{Variant: variant, Point: point, Quantity: quantity, Courses: map[string]int{}, Steady: true, Factor: 1}
	var factors, first, second []float64
	for _, trial := range e.counted(variant, point.Name) {
		times := e.course(trial, quantity)
		if len(times) >= 2 {
			half := len(times) / 2
			first, second = append(first, stats.Mean(times[:half])), append(second, stats.Mean(times[len(times)-half:]))
		}
		if len(trial.Course) == 0 {
			continue
		}
		found, err := stats.Steadiness(times, e.design.Margin)
		if err != nil {
			s.Courses[tooShort]++
			continue
		}
		swinging, chance := times, chanceOfCounts(trial.Course)
		if quantity != followRate { // where the medians swing, the tail does
			swinging, chance = e.course(trial, followMedian), chanceOfMedians(trial.Course)
		}
		if factor, err := stats.Swings(swinging, chance); err == nil && factor > 1 {
			found = stats.Course{Kind: stats.Swinging, Factor: max(factor, found.Factor)}
		}
		s.Courses[string(found.Kind)]++
		factors = append(factors, found.Factor)
	}
	changed := len(factors) - s.Courses[string(stats.Flat)]
	if changed > 0 && 2*changed >= len(factors) {
		slices.Sort(factors)
		s.Steady, s.Factor = false, stats.Median(factors[len(factors)-changed:])
		s.Words = fmt.Sprintf("in %d of %s its %s changes within the trial, by %s", changed, count(len(factors), "trial"), quantityWords[quantity], figure.Times(s.Factor, nil, nil))
	}
	halves := e.byBlock(second, first)
	if halves.n() == 0 {
		return s
	}
	r := halves.estimate()
	s.Halves = &r
	sure := e.strict(len(e.study.Points)*len(e.study.Variants)*len(quantities), halves.n())
	if !halves.decided {
		return s
	}
	if wide := halves.ratio.At(sure); s.Steady && (wide.Low > 1+e.design.Margin || wide.High < 1/(1+e.design.Margin)) {
		s.Steady, s.Factor = false, math.Exp(math.Abs(math.Log(r.Ratio)))
		s.Words = fmt.Sprintf("the second half of its trials has %s the %s of the first", halves.text(), quantityWords[quantity])
	}
	return s
}

// chanceOfMedians is about how much the logarithm of a slice's median is off by chance: of
// operations whose logarithms have a normal distribution with such a 99th percentile.
func chanceOfMedians(course []lab.Slice) float64 {
	const ofMedian, ofTail = 1.25, 2.33 // deviations of a median of n, times the root of n; of p99 from p50
	var each []float64
	for _, s := range course {
		if s.Median != nil && s.P99 != nil && *s.Median > 0 && s.OK > 0 {
			each = append(each, ofMedian*math.Log(*s.P99 / *s.Median)/ofTail/math.Sqrt(float64(s.OK)))
		}
	}
	return stats.Median(each)
}

// chanceOfCounts is about how much the logarithm of a slice's count is off by chance.
func chanceOfCounts(course []lab.Slice) float64 {
	var each []float64
	for _, s := range course {
		each = append(each, 1/math.Sqrt(float64(s.OK)+0.5))
	}
	return stats.Median(each)
}

// quantityWords are the quantities in sentences. A rate is followed as its inverse.
var quantityWords = map[string]string{
	followMedian: "median response time", followTail: "99th percentile of the response time", followRate: "time between right answers",
}

// course is a trial's series of a quantity, as times. What ended after the load, and a
// second that the load did not fill, is left out.
func (e *experiment) course(trial lab.Trial, quantity string) []float64 {
	const whole = 0.9 // of a second
	var times []float64
	begun := 0.0
	for _, slice := range trial.Course {
		length := slice.End - begun
		begun = slice.End
		if length < whole || e.study.Load != nil && e.study.Load.Duration > 0 && slice.End > e.study.Load.Duration+1-whole {
			continue
		}
		value := slice.Median
		switch quantity {
		case followTail:
			value = slice.P99
		case followRate:
			between := length / (float64(slice.OK) + 0.5) // half an answer, for a second without any
			value = &between
		}
		if value != nil && *value > 0 && finite(*value) {
			times = append(times, *value)
		}
	}
	return times
}

// disturbance is the widest of the changes that a comparison may hang on: of either
// variant within a trial, in what the metric follows from, or of their ratio from block
// to block. Its factor is 1 where none was found. It is told in short and in full.
func (e *experiment) disturbance(metric lab.Metric, point string, p pair, c contrast) (factor float64, short, full string) {
	factor, full = driftOf(c, e.design.Margin)
	if full != "" {
		short = "the ratio goes from block to block"
	}
	for _, name := range []string{p.variant, p.against} {
		if v, _ := e.study.Variant(name); v.TwinOf != "" {
			name = v.TwinOf
		}
		if s, found := e.unsteady[cell{name, point, followed(metric)}]; found && s.Factor > factor {
			factor, short = s.Factor, s.Variant+" is not steady"
			full = short + ": " + s.Words
		}
	}
	return factor, short, full
}

// withhold takes back a verdict that hangs on how long the trials lasted. Where even the
// whole change could not turn it, its direction stands, but not its size.
func (e *experiment) withhold(out *lab.Comparison, metric lab.Metric, p pair, c contrast) {
	factor, short, words := e.disturbance(metric, out.Point.Name, p, c)
	if words == "" {
		return
	}
	out.Unsteady = words
	beyond := 1 + e.gates(metric.Name, p).Widest()
	if c.ratio.Low/factor > beyond || c.ratio.High*factor < 1/beyond {
		direction, _, _ := strings.Cut(out.Words, " by at least")
		out.Words = direction + ", by how much is open: " + short
		return
	}
	out.Verdict, out.MoreBlocks, out.Words = lab.Undecided, 0, "withheld: "+short
}

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
	return math.Exp(math.Abs(change)), fmt.Sprintf("the ratio goes by %s from the first block to the last (Mann-Kendall p %s)",
		figure.Times(math.Exp(change), nil, nil), figure.Number(p, nil, nil))
}

// saysUnsteady is the first sentence where a system is not steady at a rate that it held.
func (e *experiment) saysUnsteady() string {
	var parts []string
	for _, v := range e.variants() {
		for _, s := range e.steady {
			if !s.Steady && s.Variant == v.Name {
				parts = append(parts, fmt.Sprintf("%s at %s: %s", s.Variant, s.Point.Name, s.Words))
				break
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Not steady: %s. What is measured there depends on how long a trial lasts; verdicts that it could turn are withheld: lengthen trials and warm-up.",
		strings.Join(parts[:min(mostNamed, len(parts))], "; "))
}
