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
		arrived, err = got.at, json.Unmarshal(got.data, answer)
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
