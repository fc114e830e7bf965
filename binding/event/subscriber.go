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

// Handler takes messages in the order in which they came. It works in the
// transaction that the context carries and returns nil when all of them had their
// effect; after an error none has, and they come again, each alone. What it
// returns for one alone decides: an error that is Unavailable is waited out, any
// other makes the message a dead letter.
type Handler func(ctx context.Context, messages []broker.Message) error

// ErrAgain is returned by a handler that wants the same messages once more, in a
// new transaction: it now knows how to take them.
var ErrAgain = errors.New("the handler wants the messages once more")

// Source is a broker as a subscriber needs it.
type Source interface {
	Consume(ctx context.Context, subscription broker.Subscription, handler broker.Handler) error
}

// Subscriber lets a component take messages from its queue. Several processes may
// have one for the same queue.
type Subscriber struct {
	// Database is the component's. Messages are handled in its transactions, once
	// each by its inbox; nil for a handler that needs neither.
	Database *database.DB
	Source   Source
	Queue    string // also names the consumer in the inbox
	Handle   Handler
	Prefetch int // messages that may be held; 0 means 256
	Batch    int // messages in one transaction; 0 means Prefetch
	// Tracer makes spans of messages that are traced; nil makes none.
	Tracer trace.TracerProvider
}

const (
	// keepFor is how long the inbox remembers a message.
	keepFor = time.Hour
	// defaultPrefetch is also how many messages one transaction takes at most. What a
	// transaction costs is shared by its messages: from 64 to 256 an order of the shop
	// costs a sixth less, from there to 1024 a twentieth.
	defaultPrefetch = 256
	// pruneEvery is how often the inbox is pruned.
	pruneEvery = time.Minute
	// handleWithin bounds one attempt, so that a database that hangs is told from
	// one that works.
	handleWithin = 30 * time.Second
)

// Run handles messages until the context ends; what is being handled then is
// finished. logError hears of what fails; it is tried again.
func (s Subscriber) Run(ctx context.Context, logError func(error)) {
	s.Prefetch = cmp.Or(s.Prefetch, defaultPrefetch)
	s.Batch = cmp.Or(s.Batch, s.Prefetch)
	w := worker{Subscriber: s, logError: logError}
	if s.Database != nil {
		w.inbox = newInbox(s.Database)
		var beside sync.WaitGroup
		defer beside.Wait()
		pruning, stop := context.WithCancel(ctx)
		defer stop()
		beside.Go(func() { w.keepPruning(pruning) })
	}
	subscription := broker.Subscription{Queue: s.Queue, Prefetch: s.Prefetch, Batch: s.Batch}
	var failing waiting
	for ctx.Err() == nil {
		if err := s.Source.Consume(ctx, subscription, w.take); err != nil && ctx.Err() == nil {
			logError(fmt.Errorf("subscriber of %s: %w", s.Queue, err))
			failing.pause(ctx)
		}
	}
}

// worker is a subscriber that runs.
type worker struct {
	Subscriber
	inbox    *inbox
	logError func(error)
}

// take is a broker.Handler. It returns nil once the messages had their effect, now
// or before.
func (w worker) take(ctx context.Context, deliveries []broker.Delivery) error {
	messages := distinct(deliveries)
	ctx, traced := w.traced(ctx, deliveries)
	defer traced.End()
	var failing waiting
	for {
		// Whoever is told to stop finishes what it has begun.
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleWithin)
		err := w.attempt(attempt, messages)
		cancel()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("subscriber of %s: %d messages from %s on: %w", w.Queue, len(messages), messages[0].ID,
			err)
		if !heals(err) {
			if len(messages) == 1 {
				w.logError(err)
			}
			return err
		}
		w.logError(err)
		if failing.pause(ctx); ctx.Err() != nil {
			return err
		}
	}
}

// distinct returns the messages without those that are in the batch twice.
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

// attempt handles messages in one transaction. It assumes that all are new and
// only when that fails looks which are: repetitions are rare.
func (w worker) attempt(ctx context.Context, messages []broker.Message) error {
	if w.inbox == nil {
		return w.handle(ctx, messages)
	}
	err := w.together(ctx, messages)
	if !errors.Is(err, errRepeats) {
		return err
	}
	fresh, err := w.inbox.unknown(ctx, w.Queue, messages)
	if err != nil || len(fresh) == 0 {
		return err
	}
	return w.together(ctx, fresh)
}

// together notes and handles messages that are new.
func (w worker) together(ctx context.Context, messages []broker.Message) error {
	work := func(ctx context.Context) error {
		if err := w.inbox.first(ctx, w.Queue, messages); err != nil {
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

// handle calls the handler. One that panics has failed: the message is to blame,
// and the others shall go on.
func (w worker) handle(ctx context.Context, messages []broker.Message) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the handler panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return w.Handle(ctx, messages)
}

// keepPruning removes notes that are too old to be needed.
func (w worker) keepPruning(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := w.inbox.prune(ctx, w.Queue, time.Now().Add(-keepFor)); err != nil && ctx.Err() == nil {
				w.logError(err)
			}
		}
	}
}
