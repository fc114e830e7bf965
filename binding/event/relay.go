package event

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/backing/broker"
)

const (
	// relayBatch is of how many rows the messages are on their way to the broker
	// together.
	relayBatch = 128
	// forgetAfter is how long a message that was told may stay in the outbox, so
	// that many are removed with one commit. A crash in between repeats them.
	forgetAfter = 20 * time.Millisecond
	// forgetFrom is how many messages that were told are removed without waiting for that time.
	forgetFrom = 256
	// safetyNet is how often the outbox is looked into though nobody said that
	// there is something, and the heartbeat.
	safetyNet = time.Second
	// lease is after how long without a heartbeat an owner counts as dead, and
	// others tell its messages.
	lease = 5 * time.Second
	// blockedFor is the pause before the relay looks again for messages that wait for another owner.
	blockedFor = 5 * time.Millisecond
)

// Publisher is a broker as the relay needs it.
type Publisher interface {
	Publish(ctx context.Context, messages ...broker.Message) error
}

// Relay takes messages from an outbox to the broker. Several processes may have
// one for the same database: each tells what its own process left, and what dead
// ones left. It always begins at the head of what is there: the positions of
// concurrent transactions become visible in any order, so "greater than the last"
// would lose some.
type Relay struct {
	// Tracer makes spans of messages that are traced; nil makes none. It is set
	// before Run.
	Tracer trace.TracerProvider

	outbox   *Outbox
	broker   Publisher
	logError func(error)

	told map[int64]struct{} // rows in the outbox still, or until the next read
	// partly are the messages, by their index, that were told of other rows.
	partly map[int64]map[int]bool

	mu      sync.Mutex
	forget  []int64 // told, to be removed
	removed []int64 // removed since the last read began
	full    chan struct{}
}

// NewRelay makes the relay of an outbox.
func NewRelay(outbox *Outbox, to Publisher) *Relay {
	return &Relay{outbox: outbox, broker: to, told: map[int64]struct{}{}, partly: map[int64]map[int]bool{},
		full: make(chan struct{}, 1)}
}

// Run tells messages until the context ends. logError hears of what fails; it is
// tried again.
func (r *Relay) Run(ctx context.Context, logError func(error)) {
	r.logError = func(err error) {
		if err != nil && ctx.Err() == nil {
			logError(err)
		}
	}
	if r.outbox.owner == "" {
		logError(errNoOwner)
		return
	}
	var beside sync.WaitGroup
	beside.Go(func() { r.keepForgetting(ctx) })
	beside.Go(func() { r.keepAlive(ctx) })
	defer beside.Wait()
	r.outbox.notify() // there may be something from the last time
	var failing waiting
	for ctx.Err() == nil {
		more, blocked, err := r.tell(ctx)
		switch {
		case err != nil:
			r.logError(err)
			failing.pause(ctx)
		case more:
			failing = waiting{}
		case blocked:
			r.await(ctx, blockedFor)
		default:
			r.await(ctx, safetyNet)
		}
	}
}

// await waits until somebody has left a message, or time is up.
func (r *Relay) await(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.outbox.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tell does one round. more says that there were messages; blocked, that some wait
// for those of another owner.
func (r *Relay) tell(ctx context.Context) (more, blocked bool, err error) {
	r.mu.Lock()
	gone := r.removed
	r.removed = nil
	r.mu.Unlock()
	// What was removed before this read begins cannot be in it. The rest of told is
	// still needed: the read may see it.
	rows, err := r.outbox.head(ctx, relayBatch+len(r.told)-len(gone))
	for _, position := range gone {
		delete(r.told, position)
	}
	if err != nil {
		return false, false, err
	}
	ready, blocked := r.ready(rows)
	if len(ready) == 0 {
		return false, blocked, nil
	}
	return true, blocked, r.publish(ctx, ready)
}

// place is a message in a row.
type place struct {
	row   *row
	index int
}

func (p place) message() broker.Message { return p.row.messages[p.index] }

// ready returns the messages to be told now: own ones, unless another owner has an older
// one of the same key. Without that two processes would mix up the order of a key.
func (r *Relay) ready(rows []row) (ready []place, blocked bool) {
	foreign := map[string]bool{}
	for i := range rows {
		candidate := &rows[i]
		own := candidate.owner == r.outbox.owner
		if _, told := r.told[candidate.position]; own && told {
			continue
		}
		for index, m := range candidate.messages {
			switch {
			case !own:
				foreign[m.Key] = true
			case r.partly[candidate.position][index]:
			case foreign[m.Key]:
				blocked = true
			default:
				ready = append(ready, place{candidate, index})
			}
		}
	}
	return ready, blocked
}

// publish tells messages and notes which the broker has confirmed.
func (r *Relay) publish(ctx context.Context, ready []place) error {
	messages := make([]broker.Message, len(ready))
	for i, p := range ready {
		messages[i] = p.message()
	}
	traced := publishing(r.Tracer, messages)
	defer traced.End()
	err := r.broker.Publish(ctx, messages...)
	unconfirmed := map[int]bool{}
	var partly *broker.PublishError
	switch {
	case errors.As(err, &partly):
		for _, i := range partly.Unconfirmed {
			unconfirmed[i] = true
		}
	case err != nil:
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range ready {
		if !unconfirmed[i] {
			r.confirmed(p)
		}
	}
	if len(r.forget) >= forgetFrom {
		select {
		case r.full <- struct{}{}:
		default:
		}
	}
	return err
}

// confirmed notes that a message was told, and its row with the last one.
func (r *Relay) confirmed(p place) {
	position := p.row.position
	if len(p.row.messages) > 1 {
		if r.partly[position] == nil {
			r.partly[position] = make(map[int]bool, len(p.row.messages))
		}
		r.partly[position][p.index] = true
		if len(r.partly[position]) < len(p.row.messages) {
			return
		}
		delete(r.partly, position)
	}
	r.told[position] = struct{}{}
	r.forget = append(r.forget, position)
}

// keepForgetting removes what was told, many rows with one commit, beside the
// telling.
func (r *Relay) keepForgetting(ctx context.Context) {
	tick := time.NewTicker(forgetAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			// What was told needs not be told again by the next process.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), safetyNet)
			defer cancel()
			_ = r.forgetTold(last) // it is repeated then, which is allowed
			return
		case <-tick.C:
		case <-r.full:
		}
		r.logError(r.forgetTold(ctx))
	}
}

func (r *Relay) forgetTold(ctx context.Context) error {
	r.mu.Lock()
	positions := r.forget
	r.forget = nil
	r.mu.Unlock()
	if len(positions) == 0 {
		return nil
	}
	err := r.outbox.remove(ctx, positions)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.forget = append(r.forget, positions...)
		return err
	}
	r.removed = append(r.removed, positions...)
	return nil
}
