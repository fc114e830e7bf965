package run

import (
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// looks is where an experiment stands that looks at its data after every block and
// plays on only what is needed.
type looks struct {
	*experiment
	began  time.Time
	within time.Duration // 0: no limit
	block  int           // the last one that was looked before
	trials int           // that were found to be needed since it began
	over   bool          // the time is up
	goesOn func(lab.PlannedTrial) bool
}

// looks begins to look; its time runs from now.
func (e *experiment) looks() *looks {
	within := time.Duration(e.plan.Study.Design.Within * float64(time.Second))
	return &looks{experiment: e, began: time.Now(), within: within, goesOn: func(lab.PlannedTrial) bool { return true }}
}

// needed reports whether a trial is to be played: every one of an ordinary design.
// Before each block after lab.FirstLook the rule is asked, and whether the time
// suffices for what it lets go on; within a block only the end of the time counts.
func (l *looks) needed(planned lab.PlannedTrial) (bool, error) {
	if l.Stopping == nil || l.plan.Study.Design.Until != lab.UntilDecided {
		return true, nil
	}
	if planned.Block > lab.FirstLook && planned.Block != l.block && !l.over {
		if err := l.look(planned.Block); err != nil {
			return false, err
		}
	}
	if l.within > 0 && !l.over && time.Since(l.began) >= l.within {
		l.end(fmt.Sprintf("The %v are over (--resume goes on)", l.within))
	}
	if l.over || !l.goesOn(planned) {
		return false, nil
	}
	l.trials++
	return true, nil
}

// look asks the rule what of a block is needed, given all blocks before it.
func (l *looks) look(block int) error {
	saved, err := l.Store.Trials()
	if err != nil {
		return err
	}
	var before []lab.Trial
	for _, trial := range saved {
		if trial.Block < block {
			before = append(before, trial)
		}
	}
	l.block, l.goesOn = block, l.Stopping.Needed(before)
	planned, open := 0, 0
	for _, p := range l.plan.Trials {
		if p.Block == block {
			planned++
			if l.goesOn(p) {
				open++
			}
		}
	}
	if open == 0 {
		l.end("All is decided")
		return nil
	}
	if l.trials > 0 && l.within > 0 {
		took := time.Since(l.began)
		if next := took / time.Duration(l.trials) * time.Duration(open); took+next > l.within {
			l.end(fmt.Sprintf("Block %d would take about %v, more than is left of %v (--resume goes on)", block, next.Round(time.Second), l.within))
			return nil
		}
	}
	l.Progress.Note(fmt.Sprintf("after block %d: %d of %d trials a block are still needed", block-1, open, planned))
	return nil
}

// end has no further trial played, and says why.
func (l *looks) end(why string) {
	l.over = true
	l.Progress.Note(why + ": nothing more is played.")
}
