package event

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/backing/broker"
)

const (
	// relayBatch is the number of rows whose messages are published together.
	relayBatch = 128
	// removeEvery is the interval between removals of published rows: one commit removes many.
	// After a crash, the messages of the rows that were not removed are published again. If other
	// owners use the outbox, rows are removed at once, because messages of other owners with the
	// same keys wait for the removal.
	removeEvery = 20 * time.Millisecond
	// removeFrom is the number of published rows that are removed at once, without waiting for
	// the interval.
	removeFrom = 256
	// pollEvery is the interval at which the relay reads the outbox if nothing wakes it, and the
	// interval of heartbeats.
	pollEvery = time.Second
	// lease is the time without a heartbeat after which an owner counts as dead and
	// others publish its messages.
	lease = 5 * time.Second
	// pollBlocked is the pause before the relay reads again while its messages wait for
	// older ones of another owner.
	pollBlocked = 5 * time.Millisecond
)

// Publisher publishes messages. It returns nil when the broker has confirmed all of
// them, and a *broker.PublishError that lists the unconfirmed ones when it has
// confirmed only some.
type Publisher interface {
	Publish(ctx context.Context, messages ...broker.Message) error
}

// Relay publishes the messages of an outbox. Several processes may have a relay for the
// same database: each relay publishes the messages of its own process and those of dead
// processes. Every read starts at the lowest position in the table. The rows of
// concurrent transactions become visible in any order, so a read that started after the
// last position would miss rows.
//
// If the broker does not confirm a message, later ones of its key wait. Only those that were sent together
// with it can overtake it.
type Relay struct {
	// Tracer starts the spans of traced messages; nil: no spans. It must be set before Run.
	Tracer trace.TracerProvider

	outbox   *Outbox
	broker   Publisher
	logError func(error)

	// published holds the positions of published rows that a read may still return: rows that
	// are not removed yet, and rows that were removed since the last read began.
	published map[int64]struct{}
	// partial holds the rows of which the broker has confirmed only some messages: the indexes of
	// the confirmed messages, by the position of the row.
	partial map[int64]map[int]bool
	// unconfirmed holds the keys of the messages that the broker did not confirm in the last publication.
	unconfirmed map[string]bool

	mu       sync.Mutex
	toRemove []int64       // positions of published rows that are still in the outbox
	removed  []int64       // positions of rows removed since the last read began
	due      chan struct{} // wakes keepRemoving before removeEvery has passed
	shared   bool          // other owners that are alive use the outbox
}

// NewRelay returns the relay of an outbox. Only Run publishes messages.
func NewRelay(outbox *Outbox, to Publisher) *Relay {
	return &Relay{outbox: outbox, broker: to, published: map[int64]struct{}{}, partial: map[int64]map[int]bool{},
		unconfirmed: map[string]bool{}, due: make(chan struct{}, 1)}
}

// Run publishes messages until the context ends. It retries after failures, and reports
// them to logError. If the outbox has no owner, Run reports that and returns at once.
func (r *Relay) Run(ctx context.Context, logError func(error)) {
	r.logError = func(err error) {
		if err != nil && ctx.Err() == nil {
			logError(err)
		}
	}
	if r.outbox.owner == "" {
		logError(errors.New("the outbox has no owner: name the process"))
		return
	}
	var background sync.WaitGroup
	background.Go(func() { r.keepRemoving(ctx) })
	background.Go(func() { r.keepAlive(ctx) })
	defer background.Wait()
	var retry backoff
	for ctx.Err() == nil {
		more, blocked, err := r.publishNext(ctx)
		if err != nil {
			r.logError(err)
			retry.pause(ctx)
			continue
		}
		retry = backoff{}
		switch {
		case more: // read the next batch at once
		case blocked:
			r.await(ctx, pollBlocked)
		default:
			r.await(ctx, pollEvery)
		}
	}
}

// await waits until a message is added, the time has passed or the context ends.
func (r *Relay) await(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.outbox.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// publishNext reads a batch and publishes it. more reports whether there were messages
// to publish; blocked, whether some wait for older ones.
func (r *Relay) publishNext(ctx context.Context) (more, blocked bool, err error) {
	r.mu.Lock()
	for _, position := range r.removed { // a read that begins now cannot return these rows
		delete(r.published, position)
	}
	r.removed = nil
	r.mu.Unlock()
	// The read may return all published rows, so the limit is their number plus relayBatch. If rows of other
	// owners fill that room, own messages behind those rows wait for a later read: reading on would read the
	// whole backlog for every event.
	rows, err := r.outbox.head(ctx, relayBatch+len(r.published))
	if err != nil {
		return false, false, err
	}
	ready, blocked := r.ready(rows)
	if len(ready) == 0 {
		return false, blocked, nil
	}
	return true, blocked, r.publish(ctx, ready)
}

// queued is a message in a row of the outbox.
type queued struct {
	row   *row
	index int
}

func (q queued) message() broker.Message { return q.row.messages[q.index] }

// ready returns the messages of this owner that may be published now. To keep the order of a key, it
// leaves out a message if another owner has an older one with the same key, or if the broker did not
// confirm an older one. blocked reports whether it left out a message.
func (r *Relay) ready(rows []row) (ready []queued, blocked bool) {
	waiting := map[string]bool{} // keys whose later messages must wait
	for i := range rows {
		candidate := &rows[i]
		own := candidate.owner == r.outbox.owner
		if _, done := r.published[candidate.position]; own && done {
			continue
		}
		for index, m := range candidate.messages {
			switch {
			case !own:
				waiting[m.Key] = true
			case r.partial[candidate.position][index]:
			case waiting[m.Key]:
				blocked = true
			default:
				ready = append(ready, queued{candidate, index})
				if r.unconfirmed[m.Key] {
					waiting[m.Key] = true
				}
			}
		}
	}
	return ready, blocked
}

// publish publishes messages and marks the confirmed ones. If rows are to be removed at once, it wakes
// keepRemoving.
func (r *Relay) publish(ctx context.Context, ready []queued) error {
	messages := make([]broker.Message, len(ready))
	for i, q := range ready {
		messages[i] = q.message()
	}
	traced := startPublishSpans(r.Tracer, messages)
	defer traced.End()
	err := r.broker.Publish(ctx, messages...)
	var partly *broker.PublishError
	if err != nil && !errors.As(err, &partly) {
		return err
	}
	var unconfirmed []int
	if partly != nil {
		unconfirmed = partly.Unconfirmed
	}
	clear(r.unconfirmed)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, q := range ready {
		if _, failed := slices.BinarySearch(unconfirmed, i); failed {
			r.unconfirmed[messages[i].Key] = true
			continue
		}
		r.confirmed(q)
	}
	enough := removeFrom
	if r.shared {
		enough = 1
	}
	if len(r.toRemove) >= enough {
		select {
		case r.due <- struct{}{}:
		default:
		}
	}
	return err
}

// confirmed marks a message as published, and its row once all messages of the row are
// published. The caller holds mu.
func (r *Relay) confirmed(q queued) {
	position := q.row.position
	if len(q.row.messages) > 1 {
		if r.partial[position] == nil {
			r.partial[position] = make(map[int]bool, len(q.row.messages))
		}
		r.partial[position][q.index] = true
		if len(r.partial[position]) < len(q.row.messages) {
			return
		}
		delete(r.partial, position)
	}
	r.published[position] = struct{}{}
	r.toRemove = append(r.toRemove, position)
}

// keepRemoving removes published rows, many with one commit, until the context ends.
func (r *Relay) keepRemoving(ctx context.Context) {
	tick := time.NewTicker(removeEvery)
	defer tick.Stop()
	var retry backoff
	for {
		select {
		case <-ctx.Done():
			// The next process would publish rows again that are not removed now.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), pollEvery)
			defer cancel()
			_ = r.removePublished(last) // a failure only repeats messages, which is allowed
			return
		case <-tick.C:
		case <-r.due:
		}
		if err := r.removePublished(ctx); err != nil {
			r.logError(err)
			retry.pause(ctx)
			continue
		}
		retry = backoff{}
	}
}

// removePublished removes the rows in toRemove from the outbox. After an error they stay in toRemove.
func (r *Relay) removePublished(ctx context.Context) error {
	r.mu.Lock()
	positions := r.toRemove
	r.toRemove = nil
	r.mu.Unlock()
	if len(positions) == 0 {
		return nil
	}
	err := r.outbox.remove(ctx, positions)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.toRemove = append(r.toRemove, positions...)
		return err
	}
	r.removed = append(r.removed, positions...)
	return nil
}
