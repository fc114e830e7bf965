// Package batching carries out calls of one kind that come at the same time as one
// batch: group commit for steps, one call for reads. Nobody waits for company: a call
// that comes while no other is under way is carried out alone, at once.
//
// Steps form batches where they are taken, in one transaction of the component's
// database: one commit, and a few statements, for all of them. Where the caller has
// opened the transaction itself, there is nothing to share. Reads form batches where
// they are asked for: one call to the other unit, and one statement there, for all who
// ask. What they get was read after they asked.
//
// Each call of a batch has its own outcome. Where a batch fails as a whole, nothing of it
// stays, and its calls are carried out one by one: what is wrong with one is not the
// others' fault. Calls must be fit for that: see package steps.
//
// Entry points: Batcher; NewCatalog and NewCustomers for those who ask them.
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

const (
	// most is how many calls one transaction carries out.
	most = 32
	// underWay is how many calls or batches of one kind there are at a time. With one,
	// batches are largest: two need half as many statements again for each call.
	underWay = 1
)

// Batcher carries out calls of one kind. Q is what a call asks for.
type Batcher[Q any] struct {
	db  *database.DB  // nil for what changes nothing here
	all steps.Step[Q] // what changes something, in one transaction

	mu      sync.Mutex
	waiting []*call[Q]
	busy    int
}

// call is one that waits for the others of its batch.
type call[Q any] struct {
	ctx     context.Context
	asks    Q
	turn    *spans.Part // the wait, of an operation that is traced
	outcome chan steps.Outcome
}

// ErrAlone is the outcome of a call that is to be carried out once more, alone.
var ErrAlone = errors.New("the batch could not be carried out as one")

// New makes a batcher on the database of what it carries out; nil for what changes
// nothing and is asked of another unit.
func New[Q any](db *database.DB, all steps.Step[Q]) *Batcher[Q] {
	return &Batcher[Q]{db: db, all: all}
}

// Do carries out a call together with others, or alone: as a batch of one. Whoever
// gives up may find it carried out nevertheless.
func (b *Batcher[Q]) Do(ctx context.Context, asks Q) (*shoppb.StepResponse, error) {
	if b.db != nil && b.db.InTransaction(ctx) {
		return steps.One(ctx, asks, b.all)
	}
	b.mu.Lock()
	if b.busy < underWay {
		b.busy++
		b.mu.Unlock()
		defer b.next()
		return steps.One(ctx, asks, b.all)
	}
	c := &call[Q]{ctx: ctx, asks: asks, outcome: make(chan steps.Outcome, 1)}
	_, c.turn = spans.Begin(ctx, "wait for its turn", lab.SegmentQueueing)
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case came := <-c.outcome:
		if errors.Is(came.Err, ErrAlone) {
			return steps.One(ctx, asks, b.all)
		}
		return came.Answer()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// next passes the turn on to who waits, if anybody.
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

// take returns the next batch; where nobody waits, the turn is over.
func (b *Batcher[Q]) take() []*call[Q] {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), most)
	if n == 0 {
		b.busy--
		return nil
	}
	group := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return group
}

// Keyed is what a call may ask with: whatever of the batch is about this key, such as
// a message that it tells, belongs to this call's trace.
type Keyed interface{ Key() string }

// carryOut carries out a batch and hands every call its outcome.
func (b *Batcher[Q]) carryOut(group []*call[Q]) {
	ctx, cancel := longest(group)
	defer cancel()
	for _, c := range group {
		c.turn.End()
	}
	var outcomes []steps.Outcome
	err := ErrAlone
	if len(group) > 1 {
		outcomes, err = b.attempt(ctx, group)
	}
	if err != nil && !shop.IsKind(err, rpc.Unavailable) && ctx.Err() == nil {
		err = ErrAlone
	}
	for i, c := range group {
		if err != nil {
			c.outcome <- steps.Outcome{Err: err}
		} else {
			c.outcome <- outcomes[i]
		}
	}
}

// longest returns a context with the latest deadline of a batch's calls, or without one where a call has
// none. A call with less time stops waiting by itself (Do) and takes nothing from the others.
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

// attempt carries out a batch.
func (b *Batcher[Q]) attempt(ctx context.Context, group []*call[Q]) ([]steps.Outcome, error) {
	var traced spans.Batch
	asked := make([]Q, len(group))
	for i, c := range group {
		asked[i] = c.asks
		_, part := spans.Begin(c.ctx, "carry out with others", lab.SegmentBusiness)
		key := ""
		if keyed, is := any(c.asks).(Keyed); is {
			key = keyed.Key()
		}
		traced.Add(key, part)
	}
	defer traced.End()
	return b.all(traced.Join(ctx), asked)
}
