package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// clockQuestions is the number of questions to each clock: the fastest answer is the most exact.
	clockQuestions = 5
	// clockPatience is how long a unit may take to answer.
	clockPatience = 5 * time.Second
)

// heard is the answer of a unit's clock and the time when it arrived.
type heard struct {
	at   time.Time
	data json.RawMessage
}

// askClocks reads the clock of every unit that speaks the control protocol.
func (s *Supervisor) askClocks(ctx context.Context) ([]lab.ClockReading, error) {
	own, err := os.ReadFile(lab.KernelRun)
	if err != nil {
		return nil, fmt.Errorf("tell whether units have this host's clock: %w", err)
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

func (u *Unit) readClock(ctx context.Context, ownRun string) (lab.ClockReading, error) {
	best := lab.ClockReading{Unit: u.Spec.Name}
	for n := range clockQuestions {
		asked := time.Now()
		if err := u.send(lab.Command{Command: lab.CommandClock}); err != nil {
			return best, err
		}
		var answer lab.ClockAnswer
		var arrived time.Time
		select {
		case a := <-u.clock:
			arrived = a.at
			if err := json.Unmarshal(a.data, &answer); err != nil {
				return best, fmt.Errorf("unit %s tells its clock: %w", u.Spec.Name, err)
			}
		case <-u.Ended:
			return best, fmt.Errorf("unit %s ended while its clock was read", u.Spec.Name)
		case <-ctx.Done():
			return best, fmt.Errorf("read the clock of unit %s: %w", u.Spec.Name, context.Cause(ctx))
		case <-time.After(clockPatience):
			return best, fmt.Errorf("unit %s did not tell its clock within %v", u.Spec.Name, clockPatience)
		}
		if answer.KernelRun == ownRun {
			best.Shared = true
		}
		half := arrived.Sub(asked) / 2
		if n == 0 || half.Seconds() < best.BoundSeconds {
			best.BoundSeconds = half.Seconds()
			best.OffsetSeconds = time.Unix(0, answer.Nanoseconds).Sub(asked.Add(half)).Seconds()
		}
	}
	return best, nil
}
