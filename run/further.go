package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// playFurther plays further blocks, beyond the plan, at points at which trials were lost. It skips trials
// whose numbers are in done. A trial is lost if none of its attempts counts, or if it has no response times
// because operations were sent late. Every variant is played once more at such a point, because trials are
// compared within a block. There are at most MaxRepeats further blocks. Whether there is one depends only on
// which trials count, never on their results. Designs that stop by their verdicts have none: they continue
// until all is decided.
func (e *experiment) playFurther(ctx context.Context, done []int) error {
	design := e.plan.Study.Design
	if design.Until == lab.UntilDecided {
		return nil
	}
	last := 0
	for _, planned := range e.plan.Trials {
		last = max(last, planned.Block)
	}
	number := len(e.plan.Trials)
	for block := last + 1; block <= last+design.MaxRepeats; block++ {
		further, err := e.further(block, number)
		if err != nil || len(further) == 0 {
			return err
		}
		number += len(further)
		e.Progress.Further(further)
		for _, planned := range further {
			if slices.Contains(done, planned.Number) {
				continue
			}
			if err := e.warmUp(ctx); err != nil { // it was not played yet if all trials of the plan were done before
				return err
			}
			if err := e.playUntilValid(ctx, planned); err != nil {
				return err
			}
		}
	}
	return nil
}

// further returns the trials of a further block, numbered from last+1: those at points at which trials of
// earlier blocks were lost. The same records give the same trials, so that the block can be resumed.
func (e *experiment) further(block, last int) ([]lab.PlannedTrial, error) {
	played, err := e.Store.Trials()
	if err != nil {
		return nil, err
	}
	earlier := slices.DeleteFunc(slices.Clone(played), func(t lab.Trial) bool { return t.Block >= block })
	lost := e.lost(earlier)
	if len(lost) == 0 {
		return nil, nil
	}
	whole := e.plan.Study.Block(block, 0) // numbered below, without the trials that are left out
	further := slices.DeleteFunc(whole, func(p lab.PlannedTrial) bool { return !slices.Contains(lost, p.Point) })
	for i := range further {
		further[i].Number = last + 1 + i
	}
	e.Progress.Note(fmt.Sprintf("trials that do not count are missing at %s: a further block is played there "+
		"(%s)", strings.Join(lost, ", "), lab.Count(len(further), "trial")))
	return further, nil
}

// lost returns the points at which a variant has fewer valid trials than planned. Trials that lack times,
// because operations were sent late, count as invalid here. It ignores variants that have no valid trial at a
// point, and those with an invalid audit: playing them again would not help.
func (e *experiment) lost(played []lab.Trial) []string {
	planned := map[trialKind]int{}
	counted := map[trialKind]int{}
	invalid := map[string]bool{}
	for _, p := range e.plan.Trials {
		if !p.Profiled {
			planned[trialKind{p.Variant, p.Point}]++
		}
	}
	for _, trial := range played {
		if trial.Valid && !trial.Late && !trial.Profiled {
			counted[trialKind{trial.Variant, trial.Point.Name}]++
		}
		invalid[trial.Variant] = invalid[trial.Variant] || trial.Audit.Verdict == lab.AuditInvalid
	}
	var points []string
	for at, n := range counted {
		if n < planned[at] && !invalid[at.variant] && !slices.Contains(points, at.point) {
			points = append(points, at.point)
		}
	}
	slices.Sort(points)
	return points
}
