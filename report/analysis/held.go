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

// mostWrong is the share of answers that were not right above which a rate was not held,
// where no objective says otherwise.
const mostWrong = 0.01

// heldRates says of every offered rate in how many trials each variant held it. Trials
// in which the generator was the limit say nothing; of a rate with no others nothing is known.
func (e *experiment) heldRates() []lab.HeldRate {
	var all []lab.HeldRate
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			played := e.lastAttempts(v.Name, point.Name)
			rate := lab.HeldRate{Variant: v.Name, Point: point.Name}
			rate.Rate, _ = offeredRate(point, nil)
			var begun, wrong []float64
			for _, trial := range played {
				figures := trial.Audit.Figures
				offered, asked := figures[lab.FigureOffered]
				if !asked || figures[lab.FigureLimited] > 0 {
					continue
				}
				rate.Rate, rate.Trials = offered, rate.Trials+1
				begun, wrong = append(begun, figures[lab.FigureAchieved]/offered),
					append(wrong, figures[lab.FigureErrors])
				if trial.Valid && e.heldWithin(trial) {
					rate.Held++
				}
			}
			rate.Begun, rate.Wrong = stats.Median(begun), stats.Median(wrong)
			if rate.Rate > 0 && len(played) > 0 {
				all = append(all, rate)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b lab.HeldRate) int {
		if a.Variant != b.Variant {
			return 0
		}
		return cmp.Compare(a.Rate, b.Rate)
	})
	return all
}

// heldWithin reports whether a trial held its rate within the objective of the study, where
// that was judged.
func (e *experiment) heldWithin(trial lab.Trial) bool {
	objective, judged := trial.Audit.Figures[lab.FigureObjective]
	return e.held(trial) && (!judged || objective > 0)
}

// lastAttempts are the last ones at every trial of a variant at a point.
func (e *experiment) lastAttempts(variant, point string) []lab.Trial {
	var found []lab.Trial
	for _, trial := range e.trials {
		if trial.Variant != variant || trial.Point.Name != point {
			continue
		}
		if n := len(found); n > 0 && found[n-1].Number == trial.Number {
			found = found[:n-1]
		}
		found = append(found, trial)
	}
	return found
}

// saysHeld tells up to which of the offered rates each variant held, where one did not.
func (e *experiment) saysHeld(rates []lab.HeldRate) string {
	if !slices.ContainsFunc(rates, func(r lab.HeldRate) bool { return r.Held < r.Trials }) {
		return ""
	}
	var parts []string
	for _, v := range e.variants() {
		var held, missed []string
		for _, r := range rates {
			shown := plain(r.Rate) + "/s"
			switch {
			case r.Variant != v.Name || r.Trials == 0:
			case r.Held == r.Trials:
				held = appendNew(held, shown) // at several points
			default:
				missed = append(missed, fmt.Sprintf("%s (missed in %d of %s: %s)", shown, r.Trials-r.Held,
					count(r.Trials, "trial"), missedWords(r)))
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

// missedWords says why a rate was not held.
func missedWords(r lab.HeldRate) string {
	var parts []string
	if r.Begun < leastAchieved {
		parts = append(parts, figure.Percent(r.Begun)+" of it was begun")
	}
	if r.Wrong > mostWrong {
		parts = append(parts, figure.Percent(r.Wrong)+" of the answers were not right")
	}
	if len(parts) == 0 {
		return "the objective was missed"
	}
	return strings.Join(parts, ", ")
}
