package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// answerPatience bounds the wait for a unit's answer to a question.
const answerPatience = 5 * time.Second

// reply is the answer of a unit to a question, and the time when it arrived.
type reply struct {
	at   time.Time
	data json.RawMessage
}

// offer passes an answer to the goroutine that asks. It drops the answer if one is there that nobody has
// taken.
func offer(to chan<- reply, data json.RawMessage) {
	select {
	case to <- reply{time.Now(), data}:
	default:
	}
}

// ask sends a question to a unit, decodes the answer, and returns the time when it arrived.
func (u *Unit) ask(
	ctx context.Context, question lab.CommandKind, answers <-chan reply, answer any,
) (arrived time.Time, err error) {
	select {
	case <-answers: // the answer to an earlier question, which came too late
	default:
	}
	if err := u.send(lab.Command{Command: question}); err != nil {
		return arrived, err
	}
	select {
	case got := <-answers:
		arrived = got.at
		err = json.Unmarshal(got.data, answer)
	case <-u.Ended:
		err = errors.New("it has ended")
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(answerPatience):
		err = fmt.Errorf("no answer for %v", answerPatience)
	}
	if err != nil {
		err = fmt.Errorf("ask unit %s for its %s: %w", u.Spec.Name, question, err)
	}
	return arrived, err
}

// clockQuestions is the number of questions to each clock; the fastest answer, which is the most exact,
// counts.
const clockQuestions = 5

// askClocks reads the clock of every unit that has a control connection.
func (s *Supervisor) askClocks(ctx context.Context) ([]lab.ClockReading, error) {
	own, err := os.ReadFile(lab.KernelRun)
	if err != nil {
		return nil, fmt.Errorf("compare the clocks of units with this host's: %w", err)
	}
	var readings []lab.ClockReading
	for _, u := range s.All() {
		if u.Spec.Foreign {
			continue
		}
		reading, err := u.readClock(ctx, strings.TrimSpace(string(own)))
		if err != nil {
			return nil, err
		}
		readings = append(readings, reading)
	}
	return readings, nil
}

// readClock returns the offset of the unit's clock from this host's, and its bound: the answer was sent at
// some moment between question and arrival. ownRun identifies the run of this host's kernel.
func (u *Unit) readClock(ctx context.Context, ownRun string) (lab.ClockReading, error) {
	best := lab.ClockReading{Unit: u.Spec.Name}
	for n := range clockQuestions {
		asked := time.Now()
		var answer lab.ClockAnswer
		arrived, err := u.ask(ctx, lab.CommandClock, u.clock, &answer)
		if err != nil {
			return best, err
		}
		if answer.KernelRun == ownRun {
			best.Shared = true
		}
		half := arrived.Sub(asked) / 2
		if n == 0 || half.Seconds() < best.BoundSeconds {
			best.BoundSeconds = half.Seconds()
			theirs := time.Unix(0, answer.Nanoseconds)
			best.OffsetSeconds = theirs.Sub(asked.Add(half)).Seconds()
		}
	}
	return best, nil
}
