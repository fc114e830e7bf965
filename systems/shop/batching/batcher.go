// Package batching carries out calls of one kind that come at the same time as one batch: group commit for
// steps, one look-up for orders. No call waits for more calls to come: one that comes while no other is being
// carried out is carried out alone, at once.
//
// Steps form batches in their component, in one transaction of its database: one
// commit, and a few statements, for all of them. If the caller has opened the
// transaction itself, the step is taken in it, alone. Look-ups form batches in the unit that takes the
// orders: each order gets what was read after it asked.
//
// Each call of a batch has its own outcome. If a batch fails as a whole, nothing of it
// stays, and its calls are carried out one by one, so that one bad call does not make
// the others fail. Calls must be fit for that: see package steps.
//
// Entry point: Ask.
package batching

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// most is the greatest number of calls in a batch.
const most = 32

// Batcher carries out calls of one kind, with requests of type Q: one call or batch at a time. With two,
// batches were smaller, and each call took half again as many statements.
type Batcher[Q any] struct {
	db  *database.DB
	all steps.Step[Q] // carries out a batch

	mu      sync.Mutex
	waiting []*call[Q]
	busy    bool
}

// call is a call that waits for its batch.
type call[Q any] struct {
	ctx     context.Context
	asks    Q
	turn    *spans.Part // the wait, of an operation that is traced
	outcome chan steps.Outcome
}

// ErrAlone is the outcome of a call that its caller is to carry out alone, in Do, beside later batches.
var ErrAlone = errors.New("the batch could not be carried out as one")

// Ask returns the step for single calls on a database: each alone or, if batch is true, together with those
// that come at the same time.
func Ask[Q any](db *database.DB, all steps.Step[Q], batch bool) steps.Ask[Q] {
	if batch {
		return (&Batcher[Q]{db: db, all: all}).Do
	}
	return steps.Alone(all)
}

// Do carries out a call together with others, or alone: as a batch of one. A call whose context ends while it
// waits may still be carried out.
func (b *Batcher[Q]) Do(ctx context.Context, asks Q) (*shoppb.StepResponse, error) {
	if b.db.InTransaction(ctx) {
		return steps.One(ctx, asks, b.all)
	}
	b.mu.Lock()
	if !b.busy {
		b.busy = true
		b.mu.Unlock()
		defer b.next()
		return steps.One(ctx, asks, b.all)
	}
	c := &call[Q]{ctx: ctx, asks: asks, outcome: make(chan steps.Outcome, 1)}
	_, c.turn = spans.Begin(ctx, "wait for its turn", lab.SegmentQueueing)
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case outcome := <-c.outcome:
		if errors.Is(outcome.Err, ErrAlone) {
			return steps.One(ctx, asks, b.all)
		}
		return outcome.Answer()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// next carries out the calls that have come meanwhile, in the background, and then ends the turn.
func (b *Batcher[Q]) next() {
	group := b.take()
	if group == nil {
		return
	}
	go func() {
		for ; group != nil; group = b.take() {
			b.carryOut(group)
		}
	}()
}

// take returns the next batch. If no call waits, it ends the turn and returns nil.
func (b *Batcher[Q]) take() []*call[Q] {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), most)
	if n == 0 {
		b.busy = false
		return nil
	}
	group := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return group
}

// carryOut carries out a batch and hands every call its outcome.
func (b *Batcher[Q]) carryOut(group []*call[Q]) {
	ctx, cancel := longest(group)
	defer cancel()
	for _, c := range group {
		c.turn.End()
	}
	var outcomes []steps.Outcome
	err := ErrAlone // the caller of a single call carries it out itself
	if len(group) > 1 {
		outcomes, err = b.attempt(ctx, group)
	}
	if err != nil && !shop.IsKind(err, rpc.Unavailable) && ctx.Err() == nil {
		err = ErrAlone // one of the calls may be the only cause
	}
	for i, c := range group {
		if err != nil {
			c.outcome <- steps.Outcome{Err: err}
		} else {
			c.outcome <- outcomes[i]
		}
	}
}

// longest returns a context with the latest deadline of a batch's calls, or without a deadline if a call has
// none. A call with less time stops waiting by itself, in Do.
func longest[Q any](group []*call[Q]) (context.Context, context.CancelFunc) {
	var latest time.Time
	for _, c := range group {
		deadline, limited := c.ctx.Deadline()
		if !limited {
			return context.WithCancel(context.Background())
		}
		if deadline.After(latest) {
			latest = deadline
		}
	}
	return context.WithDeadline(context.Background(), latest)
}

// attempt carries out a batch. A message about an order that the batch publishes belongs to the trace of the
// order's call.
func (b *Batcher[Q]) attempt(ctx context.Context, group []*call[Q]) ([]steps.Outcome, error) {
	var traced spans.Batch
	asked := make([]Q, len(group))
	for i, c := range group {
		asked[i] = c.asks
		_, part := spans.Begin(c.ctx, "carry out with others", lab.SegmentBusiness)
		order := ""
		if in, is := any(c.asks).(steps.OfOrder); is {
			order = in.GetOrderId()
		}
		traced.Add(order, part)
	}
	defer traced.End()
	return b.all(traced.Join(ctx), asked)
}
