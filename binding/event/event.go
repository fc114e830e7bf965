// Package event carries events from the database of one component to those of
// others, over a broker: a transactional outbox on one side, an inbox on the
// other. What a transaction says is told exactly when it is committed, and what
// it is told has its effect once.
//
//   - Outbox.Add writes messages into a table, in the transaction that the context
//     carries. A Relay takes what is committed from there to the broker and forgets
//     it when the broker has confirmed it: at least once, and in the order of each
//     key.
//   - A Subscriber hands messages to a component, many in one transaction with the
//     note in the inbox that they came, and acknowledges them after the commit. A
//     message that comes again is left out. One that the component cannot take goes
//     to the dead letters; a database that is away is waited for.
//   - A DualWrite takes the place of an Outbox and its Relay where the loss of messages
//     shall be measured: it keeps no record of what it has to publish.
//
// It knows neither what the messages say nor which broker and database there are.
//
// Entry points: CreateTables, NewOutbox, Relay, NewDualWrite, Subscriber.
package event

import (
	"context"
	"errors"
	"time"
)

// waiting is a pause that grows while something fails.
type waiting struct{ next time.Duration }

const (
	firstWait = 10 * time.Millisecond
	longWait  = time.Second
)

// pause waits, unless the context ends.
func (w *waiting) pause(ctx context.Context) {
	w.next = min(max(2*w.next, firstWait), longWait)
	select {
	case <-time.After(w.next):
	case <-ctx.Done():
	}
}

// Unavailable marks an error as one that waiting may heal; nil stays nil. Whoever
// handles messages without a database tells so that a message is not to blame.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}
	return unavailable{err}
}

type unavailable struct{ error }

func (u unavailable) Unwrap() error   { return u.error }
func (unavailable) Unavailable() bool { return true }

// heals reports whether an error may be gone the next time, whatever the message
// says: the database does not answer, or time was up.
func heals(err error) bool {
	var part interface{ Unavailable() bool }
	return errors.As(err, &part) && part.Unavailable() || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}
