package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// answerPatience bounds the wait for a unit's answer to a question.
const answerPatience = 5 * time.Second

// heard is the answer of a unit and the time when it arrived.
type heard struct {
	at   time.Time
	data json.RawMessage
}

// offer hands an answer to whoever waits for it; nobody may have asked.
func offer(to chan<- heard, data json.RawMessage) {
	select {
	case to <- heard{time.Now(), data}:
	default:
	}
}

// ask asks a unit for something, decodes the answer, and returns the time when it arrived.
func (u *Unit) ask(
	ctx context.Context, what lab.CommandKind, answers <-chan heard, answer any,
) (arrived time.Time, err error) {
	if err := u.send(lab.Command{Command: what}); err != nil {
		return arrived, err
	}
	select {
	case said := <-answers:
		arrived, err = said.at, json.Unmarshal(said.data, answer)
	case <-u.Ended:
		err = errors.New("it has ended")
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(answerPatience):
		err = fmt.Errorf("no answer for %v", answerPatience)
	}
	if err != nil {
		err = fmt.Errorf("ask unit %s for its %s: %w", u.Spec.Name, what, err)
	}
	return arrived, err
}
