package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
)

// Handler handles messages in the order in which they came. It works in the
// transaction that the context carries and returns nil when all messages had their
// effect. After an error none has: an Unavailable error is retried after a pause, any
// other makes the broker deliver the messages again, one by one. A message that fails
// alone, repeatedly, becomes a dead letter.
type Handler func(ctx context.Context, messages []broker.Message) error

// ErrAgain is returned by a handler that wants the same messages again at once, in a
// new transaction, because it learned from the first attempt how to handle them. It may be
// returned once per batch.
var ErrAgain = errors.New("the handler wants the messages once more")

// Source delivers the messages of a subscription to a handler until the context ends.
type Source interface {
	Consume(ctx context.Context, subscription broker.Subscription, handler broker.Handler) error
}

// Subscriber delivers the messages of a queue to a component. Several processes may
// have one for the same queue.
type Subscriber struct {
	// Database is the component's database. Messages are handled in its transactions, and
	// its inbox makes sure that each has its effect once. It is nil for a handler that
	// needs neither transaction nor inbox.
	Database *database.DB
	Source   Source
	Queue    string // also names the consumer in the inbox
	Handle   Handler
	Prefetch int // unacknowledged messages that the broker may deliver; 0 means 256
	Batch    int // messages in one transaction; 0 means Prefetch
	// Tracer makes spans of messages that are traced; nil makes none.
	Tracer trace.TracerProvider
}

const (
	// keepFor is the time for which the inbox remembers a message.
	keepFor = time.Hour
	// defaultPrefetch is also the default of Batch. A transaction's cost is shared by its
	// messages: a batch of 256 makes an order of the shop a sixth cheaper than one of 64, and
	// 1024 only a twentieth cheaper than 256.
	defaultPrefetch = 256
	// pruneEvery is the interval in which the inbox is pruned.
	pruneEvery = time.Minute
	// handleWithin bounds one attempt, so that a database that hangs counts as
	// unavailable.
	handleWithin = 30 * time.Second
)

// Run handles messages until the context ends and returns when the current batch is
// finished. It retries what fails and reports each failure to logError.
func (s Subscriber) Run(ctx context.Context, logError func(error)) {
	s.Prefetch = cmp.Or(s.Prefetch, defaultPrefetch)
	s.Batch = cmp.Or(s.Batch, s.Prefetch)
	w := worker{Subscriber: s, logError: logError}
	if s.Database != nil {
		w.inbox = newInbox(s.Database)
		var background sync.WaitGroup
		defer background.Wait()
		pruning, stop := context.WithCancel(ctx)
		defer stop()
		background.Go(func() { w.keepPruning(pruning) })
	}
	subscription := broker.Subscription{Queue: s.Queue, Prefetch: s.Prefetch, Batch: s.Batch}
	var retry backoff
	for ctx.Err() == nil {
		begun := time.Now()
		err := s.Source.Consume(ctx, subscription, w.take)
		if time.Since(begun) > longWait { // then it has worked for a while, most likely
			retry = backoff{}
		}
		if err != nil && ctx.Err() == nil {
			logError(fmt.Errorf("subscriber of %s: %w", s.Queue, err))
			retry.pause(ctx)
		}
	}
}

// worker is the state of a Subscriber while it runs.
type worker struct {
	Subscriber
	inbox    *inbox
	logError func(error)
}

// take is the broker.Handler of a worker. It returns nil when the messages have had
// their effect, now or in an earlier delivery. It retries transient errors until the
// context ends; after any other error the broker delivers the messages again, one by
// one, and only the failure of a single message is logged.
func (w worker) take(ctx context.Context, deliveries []broker.Delivery) error {
	messages := distinct(deliveries)
	ctx, traced := w.startProcessSpans(ctx, deliveries)
	defer traced.End()
	var retry backoff
	for {
		// An attempt that has begun is finished even if the context ends.
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleWithin)
		err := w.attempt(attempt, messages)
		cancel()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("subscriber of %s: %d messages from %s on: %w", w.Queue, len(messages), messages[0].ID,
			err)
		if !isTransient(err) {
			if len(messages) == 1 {
				w.logError(err)
			}
			return err
		}
		w.logError(err)
		if retry.pause(ctx); ctx.Err() != nil {
			return err
		}
	}
}

// distinct returns the messages of a batch without repetitions.
func distinct(deliveries []broker.Delivery) []broker.Message {
	seen := make(map[string]bool, len(deliveries))
	messages := make([]broker.Message, 0, len(deliveries))
	for _, d := range deliveries {
		if !seen[d.ID] {
			messages = append(messages, d.Message)
		}
		seen[d.ID] = true
	}
	return messages
}

// attempt handles messages in one transaction. Repetitions are rare: it first assumes
// that all messages are new. Only if that fails does it look up the new ones.
func (w worker) attempt(ctx context.Context, messages []broker.Message) error {
	if w.inbox == nil {
		return w.handle(ctx, messages)
	}
	err := w.recordAndHandle(ctx, messages)
	if !errors.Is(err, errRepeats) {
		return err
	}
	fresh, err := w.inbox.unknown(ctx, w.Queue, messages)
	if err != nil || len(fresh) == 0 {
		return err
	}
	return w.recordAndHandle(ctx, fresh)
}

// recordAndHandle records new messages in the inbox and handles them, in one
// transaction. It returns errRepeats if some are not new.
func (w worker) recordAndHandle(ctx context.Context, messages []broker.Message) error {
	work := func(ctx context.Context) error {
		if err := w.inbox.record(ctx, w.Queue, messages); err != nil {
			return err
		}
		return w.handle(ctx, messages)
	}
	err := w.Database.Do(ctx, work)
	if errors.Is(err, ErrAgain) {
		err = w.Database.Do(ctx, work)
	}
	return err
}

// handle calls the handler. It turns a panic into an error, so that the message that
// causes it becomes a dead letter and the process goes on.
func (w worker) handle(ctx context.Context, messages []broker.Message) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the handler panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return w.Handle(ctx, messages)
}

// keepPruning removes records that are older than keepFor, until the context ends.
func (w worker) keepPruning(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := w.inbox.prune(ctx, w.Queue, time.Now().Add(-keepFor))
			if err != nil && ctx.Err() == nil {
				w.logError(err)
			}
		}
	}
}
