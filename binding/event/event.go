// Package event sends events from the database of one component to those of
// others, over a broker, with a transactional outbox on one side and an inbox on
// the other. A message is published if and only if its transaction commits, and
// it takes effect exactly once.
//
//   - Outbox.Add writes messages into a table, in the transaction that the context
//     carries. A Relay publishes the committed ones to the broker, at least once and
//     in the order of each key, and removes them once the broker has confirmed them.
//   - A Subscriber hands messages to a component, many in one transaction together
//     with their records in the inbox, and acknowledges them after the commit. It skips
//     repeated messages. A message that the component rejects becomes a dead letter;
//     while the database is unavailable the subscriber waits.
//   - A DualWrite replaces an Outbox and its Relay in studies that measure their cost, and the
//     loss without them: it has no record of the messages that are still to be published.
//
// The package knows neither the contents of the messages nor the kind of broker or
// database.
//
// Entry points: CreateTables, NewOutbox, Relay, NewDualWrite, Subscriber.
package event

import (
	"context"
	"errors"
	"time"
)

// backoff is a pause that doubles with each failure, from firstWait to longWait.
type backoff struct{ next time.Duration }

const (
	firstWait = 10 * time.Millisecond
	longWait  = time.Second
)

// pause waits for the length of the next pause, or until the context ends.
func (b *backoff) pause(ctx context.Context) {
	b.next = min(max(2*b.next, firstWait), longWait)
	select {
	case <-time.After(b.next):
	case <-ctx.Done():
	}
}

// Unavailable marks an error as transient, so that a Subscriber retries and the message
// does not become a dead letter; nil stays nil. Errors of package database are marked
// already. It is for handlers that do not use a database.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}
	return unavailable{err}
}

type unavailable struct{ error }

func (u unavailable) Unwrap() error   { return u.error }
func (unavailable) Unavailable() bool { return true }

// isTransient reports whether a retry may succeed with the same messages: something
// was unavailable, or an attempt ran out of time.
func isTransient(err error) bool {
	var transient interface{ Unavailable() bool }
	if errors.As(err, &transient) && transient.Unavailable() {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
