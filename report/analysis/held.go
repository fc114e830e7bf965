package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// mostWrong is the share of wrong answers above which a rate was not held, unless the study
// has an objective.
const mostWrong = 0.01

// heldRates returns, for every variant and offered rate, the number of trials that held it. Only trials that
// count are judged: a disturbed trial is no fault of the variant. A rate without such a trial has 0 of 0.
func (e *experiment) heldRates() []lab.HeldRate {
	var all []lab.HeldRate
	for _, v := range e.variants() {
		var rates []lab.HeldRate
		for _, point := range e.study.Points {
			tried := slices.ContainsFunc(e.trials, func(t lab.Trial) bool {
				return t.Variant == v.Name && t.Point.Name == point.Name
			})
			if rate := e.heldRate(v.Name, point); tried && rate.Rate > 0 {
				rates = append(rates, rate)
			}
		}
		slices.SortStableFunc(rates, func(a, b lab.HeldRate) int { return cmp.Compare(a.Rate, b.Rate) })
		all = append(all, rates...)
	}
	return all
}

// heldRate counts the trials of a variant that held the rate of a point.
func (e *experiment) heldRate(variant string, point lab.Point) lab.HeldRate {
	rate := lab.HeldRate{Variant: variant, Point: point.Name}
	rate.Rate, _ = offeredRate(point, nil)
	var begun, wrong []float64
	var missed []lab.Trial
	for _, trial := range e.counted(variant, point.Name) {
		offered := trial.Audit.Figures[lab.FigureOffered]
		if offered <= 0 {
			continue // nothing was asked
		}
		rate.Rate = offered
		rate.Trials++
		begun = append(begun, begunShare(trial))
		wrong = append(wrong, trial.Audit.Figures[lab.FigureErrors])
		if e.heldWithin(trial) {
			rate.Held++
		} else {
			missed = append(missed, trial)
		}
	}
	rate.Begun = stats.Median(begun)
	rate.Wrong = stats.Median(wrong)
	rate.Missed = missedText(missed)
	return rate
}

// begunShare returns the share of the offered rate that a trial began.
func begunShare(trial lab.Trial) float64 {
	return trial.Audit.Figures[lab.FigureAchieved] / trial.Audit.Figures[lab.FigureOffered]
}

// heldWithin reports whether a trial held its rate and met the objective of the study. Without an objective,
// at most a share of mostWrong of its answers may be wrong.
func (e *experiment) heldWithin(trial lab.Trial) bool {
	figures := trial.Audit.Figures
	if objective, judged := figures[lab.FigureObjective]; judged && objective < 1 {
		return false
	}
	if e.study.Load != nil && e.study.Load.Objective != "" {
		return e.held(trial)
	}
	return e.held(trial) && figures[lab.FigureErrors] <= mostWrong
}

// heldSentence returns a sentence on the rates that each variant held and missed, "" if none was missed.
func (e *experiment) heldSentence(rates []lab.HeldRate) string {
	if !slices.ContainsFunc(rates, func(r lab.HeldRate) bool { return r.Held < r.Trials }) {
		return ""
	}
	var parts []string
	for _, v := range e.variants() {
		var held, missed []string
		for _, r := range rates {
			shown := lab.Plain(r.Rate) + "/s"
			switch {
			case r.Variant != v.Name || r.Trials == 0:
			case r.Held == r.Trials:
				held = appendNew(held, shown) // several points may have the same rate
			default:
				missed = append(missed, fmt.Sprintf("%s (missed in %d of %s: %s)", shown, r.Trials-r.Held,
					lab.Count(r.Trials, "trial"), r.Missed))
			}
		}
		text := v.Name + " held " + strings.Join(held, ", ")
		if len(held) == 0 {
			text = v.Name + " held none"
		}
		if len(missed) > 0 {
			text += ", not " + strings.Join(missed, ", ")
		}
		if len(held)+len(missed) > 0 {
			parts = append(parts, text)
		}
	}
	return fmt.Sprintf("Of the offered rates %s.", strings.Join(parts, "; "))
}

// missedText returns the reasons why trials did not hold their rate, with medians over the trials, "" without
// trials. It names an objective only if one was judged and missed.
func missedText(missed []lab.Trial) string {
	if len(missed) == 0 {
		return ""
	}
	var begun, wrong, objective []float64
	for _, trial := range missed {
		figures := trial.Audit.Figures
		begun = append(begun, begunShare(trial))
		wrong = append(wrong, figures[lab.FigureErrors])
		if met, judged := figures[lab.FigureObjective]; judged {
			objective = append(objective, met)
		}
	}
	var parts []string
	if share := stats.Median(begun); share < leastAchieved {
		parts = append(parts, figure.Percent(share)+" of it was begun")
	}
	if share := stats.Median(wrong); share > mostWrong {
		parts = append(parts, figure.Percent(share)+" of the answers were not right")
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case slices.Contains(objective, 0):
		return "the objective was missed"
	}
	return "not all of it was done within the load"
}

// completes reports whether the system measures when an operation is complete. Findings are then about that,
// not about the answer.
func (e *experiment) completes() bool {
	_, known := lab.FindMetric(e.study.Metrics, lab.CompletionTime, 0.5, "")
	return known && e.study.Load != nil
}

// commonPoint returns the point with the highest rate that all variants held in all their trials, of the
// rates at which most variants ran. If none was held, it returns the point with the lowest of these rates.
func (e *experiment) commonPoint() string {
	type candidate struct {
		name string
		n    int // variants that ran
		rate float64
		held bool // by all of them
	}
	var all []candidate
	for _, point := range e.study.Points {
		c := candidate{name: point.Name, held: true}
		for _, v := range e.variants() {
			trials := e.counted(v.Name, point.Name)
			if offered, open := offeredRate(point, trials); open && len(trials) > 0 {
				c.n++
				c.rate = offered
				c.held = c.held && allOf(trials, e.heldWithin)
			}
		}
		if c.n > 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MaxFunc(all, func(x, y candidate) int {
		better := cmp.Compare(x.rate, y.rate)
		if !x.held && !y.held {
			better = -better
		}
		return cmp.Or(cmp.Compare(x.n, y.n), compareBool(x.held, y.held), better)
	}).name
}

// compareBool compares two booleans as cmp.Compare does, with false before true.
func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// mostBehind is the largest backlog of accepted operations that is normal at the end of a load, in seconds of
// the load.
const mostBehind = 1.0

// behind returns the share of accepted operations that were not done when the load
// ended, and whether that is more than mostBehind.
func (e *experiment) behind(variant, point string) (share float64, late bool) {
	share, measured := e.mean(variant, point, e.metricName(lab.Unfinished, 0, ""))
	return share, measured && share*e.study.Load.Duration > mostBehind
}
