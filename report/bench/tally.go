//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
)

// tally holds the results so far.
type tally struct {
	each []figures.Figure // of single truths, in the order in which these were played

	held                           count // intervals that contain the truth
	wrong                          count // verdicts that are wrong
	large                          count // differences of 1.3 and more that are found
	falseCPU, falseTimes, falseAll count // equal servers called different
	driftsMissed                   count // drifting servers called steady
	falseUnsteady                  count // steady servers called unsteady
	notHeld                        count // trials that did not hold their rate
	named                          count // slow services that bottleneck names
	silent                         count // truths without an answer
	lost                           count // attempts at trials that were struck out
}

// count counts how many of all cases have a property.
type count struct{ having, all int }

// add counts a case, and whether it has the property.
func (c *count) add(has bool) {
	c.all++
	if has {
		c.having++
	}
}

// addComparison compares the interval and the verdict of a comparison with the truth.
func (t *tally) addComparison(want truth, a lab.Analysis) {
	i := slices.IndexFunc(a.Comparisons, func(c lab.Comparison) bool {
		return c.Variant == want.server && c.Metric == want.of.in(a)
	})
	known := i >= 0 && a.Comparisons[i].Low != nil
	t.silent.add(!known)
	if !known {
		return
	}
	c := a.Comparisons[i]
	holds := *c.Low <= want.high && *c.High >= want.low
	wrong := !want.allows(c.Verdict)
	t.held.add(holds)
	t.wrong.add(wrong)
	if want.low > 1.25 { // a ratio of 1.3 or more, less the effect of overhead
		t.large.add(c.Verdict == lab.Slower)
	}
	note := fmt.Sprintf("%s; truth %s", c.Verdict, want.text())
	if !holds {
		note += ", which the interval misses"
	}
	if c.Unsteady != "" {
		note += "; withheld as not steady"
	}
	t.each = append(t.each, figures.Figure{Figure: c.Metric + " of " + c.Variant + " / a", Value: c.Ratio.Ratio,
		Low: *c.Low, High: *c.High, Unit: "1", N: c.N, Better: lab.LowerIsBetter, Note: note})
}

// allows reports whether a verdict is undecided, or right for some ratio in the range of the truth.
func (t truth) allows(verdict lab.ComparisonVerdict) bool {
	const margin = 1.05 // the default of `cleave compare`
	switch verdict {
	case lab.Slower:
		return t.high > 1
	case lab.Faster:
		return t.low < 1
	case lab.Equivalent:
		return t.low < margin && t.high > 1/margin
	}
	return true
}

// text returns the true ratio, or its range.
func (t truth) text() string {
	if t.low == t.high {
		return fmt.Sprintf("%.4g", t.low)
	}
	return fmt.Sprintf("%.4g to %.4g", t.low, t.high)
}

// addEqual counts how many comparisons of equal servers find a difference.
func (t *tally) addEqual(a lab.Analysis) {
	for _, c := range a.Comparisons {
		if c.Low == nil {
			continue
		}
		different := c.Verdict.Differs()
		t.falseAll.add(different)
		switch c.Metric {
		case cpu().in(a):
			t.falseCPU.add(different)
		case median().in(a), tail().in(a):
			t.falseTimes.add(different)
		}
	}
}

// addSteadiness counts whether the drift of the server named drifts was missed, and how often steady servers
// were called unsteady. drifts is empty if all servers are steady.
func (t *tally) addSteadiness(drifts string, a lab.Analysis) {
	followed, found := false, false
	for _, s := range a.Steadiness {
		if s.Variant == drifts {
			followed, found = true, found || !s.Steady
			continue
		}
		t.falseUnsteady.add(!s.Steady)
	}
	if drifts == "" {
		return
	}
	if t.silent.add(!followed); followed {
		t.driftsMissed.add(!found)
	}
}

// addTrials counts the attempts that were struck out and the trials that did not hold their rate.
func (t *tally) addTrials(a lab.Analysis) {
	t.lost.all += a.Trials.Valid + len(a.Trials.Invalid)
	t.lost.having += len(a.Trials.Invalid)
	for _, r := range a.Held {
		t.notHeld.all += r.Trials
		t.notHeld.having += r.Trials - r.Held
	}
}

// addErrors compares the share of failed answers with the truth, one in a hundred.
func (t *tally) addErrors(got loaded) {
	failed := got.Sent - got.OK
	off := math.Abs(100*float64(failed)/float64(got.Sent) - 1)
	t.add("errors, 1 in 100: off by", "1", off, int(got.Sent), figures.Goal{Must: 0.01},
		fmt.Sprintf("%d of %d requests", failed, got.Sent))
}

// add adds a figure without an interval, for which less is better.
func (t *tally) add(name, unit string, value float64, n int, goal figures.Goal, note string) {
	t.each = append(t.each, single(name, unit, value, n, lab.LowerIsBetter, goal, note))
}

// single returns a figure without an interval.
func single(
	name, unit string, value float64, n int, better lab.Direction, goal figures.Goal, note string,
) figures.Figure {
	return figures.Figure{Figure: name, Value: value, Low: value, High: value, Unit: unit, N: n, Better: better,
		Note: note}.To(goal)
}

// addCapacity compares the capacity that a search found with the truth.
func (t *tally) addCapacity(truth float64, got loaded) {
	name := fmt.Sprintf("capacity of %g/s", truth)
	c := got.Capacity
	t.each = append(t.each, figures.Figure{Figure: name + ": found / truth", Value: c.Rate / truth,
		Low: c.Low / truth, High: c.High / truth, Unit: "1", N: 1, Better: lab.HigherIsBetter,
		Note: fmt.Sprintf("%.4g/s", c.Rate)})
	t.add(name+": off by", "1", math.Abs(c.Rate/truth-1), 1, figures.Goal{Must: 0.03, Stretch: 0.01}, "")
}

// figures returns the shares of all counts, then the figures of single truths.
func (t *tally) figures() []figures.Figure {
	less, more := lab.LowerIsBetter, lab.HigherIsBetter
	alarms := figures.Goal{Must: 0.06, Stretch: 0.05}
	all := slices.Concat(
		t.held.figure("intervals that hold the truth", more, figures.Goal{Must: 0.9, Stretch: 0.95}),
		t.wrong.figure("verdicts that are wrong", less, figures.Goal{}),
		t.large.figure("differences of 1.3 and more found", more, figures.Goal{Must: 0.9, Stretch: 1}),
		t.falseCPU.figure("equal servers called different, CPU", less, alarms),
		t.falseTimes.figure("equal servers called different, p50 and p99", less, alarms),
		t.falseAll.figure("equal servers called different, all figures", less, alarms),
		t.driftsMissed.figure("drifts that are missed", less, figures.Goal{}),
		t.falseUnsteady.figure("steady servers called unsteady", less, figures.Goal{Must: 0.01}),
		t.notHeld.figure("rates called not held", less, figures.Goal{Must: 0.01}),
		t.named.figure("slow services that bottleneck names", more, figures.Goal{Must: 1, Stretch: 1}),
		t.silent.figure("truths without an answer", less, figures.Goal{}),
		t.lost.figure("attempts struck out", less, figures.Goal{Must: 0.1, Stretch: 0.05}),
	)
	return append(all, t.each...)
}

// figure returns the share of the cases that have the property, with its interval in the note, as a list of
// one figure. The list is empty if there were no cases.
func (c count) figure(name string, better lab.Direction, goal figures.Goal) []figures.Figure {
	if c.all == 0 {
		return nil
	}
	share := float64(c.having) / float64(c.all)
	low, high := c.interval()
	return []figures.Figure{single(name, "1", share, c.all, better, goal,
		fmt.Sprintf("%d of %d, 95 %% interval %.2g to %.2g", c.having, c.all, low, high))}
}

// interval returns the confidence interval of the share by Clopper and Pearson (1934).
func (c count) interval() (low, high float64) {
	const tail = (1 - figures.Confidence) / 2
	having, not := float64(c.having), float64(c.all-c.having)
	high = 1
	if having > 0 {
		low = distuv.Beta{Alpha: having, Beta: not + 1}.Quantile(tail)
	}
	if not > 0 {
		high = distuv.Beta{Alpha: having + 1, Beta: not}.Quantile(1 - tail)
	}
	return low, high
}
