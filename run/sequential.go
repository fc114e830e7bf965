package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// looks analyses the data of an experiment after every block: it reports new verdicts and, in a design that
// ends when all is decided, skips the trials that are not needed.
type looks struct {
	*experiment
	began    time.Time
	within   time.Duration               // time limit of the experiment; 0: none
	block    int                         // the block before which the last look was made
	reported map[string]string           // the last reported verdict, by question
	ended    bool                        // no further trial is played
	isNeeded func(lab.PlannedTrial) bool // the answer of the stopping rule at the last look
}

// looks returns the state of an experiment before its first look. The time limit begins now.
func (e *experiment) looks() *looks {
	within := lab.Seconds(e.plan.Study.Design.Within)
	return &looks{experiment: e, began: time.Now(), within: within, reported: map[string]string{},
		isNeeded: func(lab.PlannedTrial) bool { return true }}
}

// needed reports whether a trial is to be played. In an ordinary design all trials are. In a design that ends
// when all is decided, it asks the stopping rule before each block after lab.FirstLook, and checks that the
// remaining time suffices for the needed trials of the block. Within a block it only checks the time limit.
func (l *looks) needed(planned lab.PlannedTrial) (bool, error) {
	if planned.Block != l.block && !l.ended {
		if err := l.look(planned.Block); err != nil {
			return false, err
		}
	}
	if !l.stops() {
		return true, nil
	}
	timeIsUp := l.within > 0 && time.Since(l.began) >= l.within
	if timeIsUp && !l.ended {
		l.end(fmt.Sprintf("The %v are over (--resume goes on)", l.within))
	}
	return !l.ended && l.isNeeded(planned), nil
}

// stops reports whether the design leaves out trials that are not needed, and ends when all is decided.
func (l *looks) stops() bool { return l.plan.Study.Design.Until == lab.UntilDecided }

// firstReported is the first block before which verdicts are possible: one block has no confidence interval.
const firstReported = 3

// look reports new verdicts before a block, and asks the stopping rule which of its trials are needed.
func (l *looks) look(block int) error {
	l.block = block
	if block < firstReported {
		return nil
	}
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
	l.lengthen(l.Stopping.Lengths(before))
	l.report(l.Stopping.Answers(before))
	if headline := l.Stopping.Headline(before); headline != nil {
		l.Progress.Look(block-1, *headline)
	}
	if l.stops() && block > lab.FirstLook {
		l.askRule(before)
	}
	return nil
}

// lengthen sets the lengths of the loads of further trials, as multiples of the planned ones by point, and
// reports points at which they become longer.
func (l *looks) lengthen(lengths map[string]float64) {
	for _, point := range slices.Sorted(maps.Keys(lengths)) {
		if times := lengths[point]; times > max(1, l.lengths[point]) {
			l.Progress.Note(fmt.Sprintf("not steady at %s: from block %d on load and warm-up last %g times as long "+
				"as planned, and shorter trials there do not count", point, l.block, times))
		}
	}
	l.lengths = lengths
}

// maxReported limits the answers on one line.
const maxReported = 4

// report reports the answers that have changed since the last look.
func (l *looks) report(answers []lab.Answer) {
	var news []string
	decided := 0
	for _, a := range answers {
		if a.Verdict != "" {
			decided++
		}
		if a.Verdict != l.reported[a.Question] {
			news = append(news, a.Text)
		}
		l.reported[a.Question] = a.Verdict
	}
	if len(news) == 0 {
		return
	}
	if more := len(news) - maxReported; more > 0 {
		news = append(news[:maxReported], fmt.Sprintf("and %d more", more))
	}
	l.Progress.Note(fmt.Sprintf("known so far, after block %d of %d: %d of %d decided; new: %s",
		l.block-1, l.plan.Study.Design.Blocks, decided, len(answers), strings.Join(news, "; ")))
}

// askRule asks the stopping rule which trials of the block are needed, given all trials before it.
func (l *looks) askRule(before []lab.Trial) {
	block := l.block
	l.isNeeded = l.Stopping.Needed(before)
	planned := 0
	open := []lab.PlannedTrial{}
	for _, p := range l.plan.Trials {
		if p.Block == block {
			planned++
			if l.isNeeded(p) {
				open = append(open, p)
			}
		}
	}
	if len(open) == 0 {
		l.end("All is decided")
		return
	}
	if l.within > 0 {
		if next := l.estimateTime(open, before); time.Since(l.began)+next > l.within {
			l.end(fmt.Sprintf("Block %d would take about %v, more than is left of %v (--resume goes on)", block,
				next.Round(time.Second), l.within))
			return
		}
	}
	l.Progress.Note(fmt.Sprintf("after block %d: still needed of each block: %d of %s", block-1, len(open),
		lab.Count(planned, "trial")))
}

// end ends the experiment and reports the reason.
func (l *looks) end(why string) {
	l.ended = true
	l.Progress.Note(why + ": nothing more is played.")
}
