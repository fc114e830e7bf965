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
// Calls that are refused leave their batch, which is carried out without them. Where
// a batch cannot be carried out in the plain way for another reason (something has
// been done before), nothing of it stays. What left a batch, or was in such a one, is
// carried out alone, which tells its caller what is the matter. Calls must be fit for
// that: see package steps.
//
// Entry points: Batcher; the batching Inventory, Payments and Shipping; Catalog and
// Customers for those who ask them.
package batching

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

const (
	// most is how many calls one transaction carries out.
	most = 32
	// underWay is how many calls or batches of one kind there are at a time. With one,
	// batches are largest: two need half as many statements again for each call.
	underWay = 1
)

// Batcher carries out calls of one kind. Q is what a call asks for. A nil one carries
// out every call alone, at once.
type Batcher[Q any] struct {
	db  *database.DB // nil where a batch needs no transaction here
	all all[Q]

	mu      sync.Mutex
	waiting []*call[Q]
	busy    int
}

// all carries out a batch, within the transaction of the context where there is a
// database, and reports whether every call went the plain way. Where not, or where
// some are refused, what it did is undone. refused has a value for each call that is;
// nil means that none is.
type all[Q any] func(ctx context.Context, group []Q) (refused []*shoppb.Rejection, plain bool, err error)

// call is one that waits for the others of its batch.
type call[Q any] struct {
	ctx  context.Context
	asks Q
	turn *spans.Part // the wait, of an operation that is traced
	done chan error
}

// errAlone tells a call to try by itself.
var errAlone = errors.New("the batch could not be carried out as one")

// New makes a batcher, of what is never refused, on the database of what it
// carries out. all works within the transaction of the context and reports whether
// every call went the plain way; where not, what it did is undone.
func New[Q any](db *database.DB, all func(ctx context.Context, group []Q) (plain bool, err error)) *Batcher[Q] {
	return newBatcher(db, func(ctx context.Context, group []Q) ([]*shoppb.Rejection, bool, error) {
		plain, err := all(ctx, group)
		return nil, plain, err
	})
}

// newReads makes a batcher of what changes nothing and is asked of another unit.
func newReads[Q any](all func(ctx context.Context, group []Q) (plain bool, err error)) *Batcher[Q] {
	return New(nil, all)
}

func newBatcher[Q any](db *database.DB, all all[Q]) *Batcher[Q] { return &Batcher[Q]{db: db, all: all} }

// Do carries out a call together with others, or alone. Whoever gives up may find
// it carried out nevertheless.
func (b *Batcher[Q]) Do(ctx context.Context, asks Q, alone func(ctx context.Context) error) error {
	if b == nil || b.db != nil && b.db.InTransaction(ctx) {
		return alone(ctx)
	}
	b.mu.Lock()
	if b.busy < underWay {
		b.busy++
		b.mu.Unlock()
		defer b.next()
		return alone(ctx)
	}
	c := &call[Q]{ctx: ctx, asks: asks, done: make(chan error, 1)}
	_, c.turn = spans.Begin(ctx, "wait for its turn", lab.SegmentQueueing)
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case err := <-c.done:
		if errors.Is(err, errAlone) {
			return alone(ctx)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
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

// take is the next batch; where nobody waits, the turn is over.
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

// keyOf is the key of what a call asks with, if it has one.
func keyOf(asks any) string {
	if keyed, is := asks.(Keyed); is {
		return keyed.Key()
	}
	return ""
}

// carryOut carries out a batch in the time that its first call has, without those
// that are refused: alone, what is refused leaves no trace, and its caller learns why
// and can ask again.
func (b *Batcher[Q]) carryOut(group []*call[Q]) {
	ctx := context.Background()
	if deadline, limited := group[0].ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	for _, c := range group {
		c.turn.End()
	}
	err := errAlone
	if len(group) > 1 {
		var refused []*shoppb.Rejection
		if refused, err = b.attempt(ctx, group); errors.Is(err, errRefused) {
			if group, err = without(group, refused), errAlone; len(group) > 1 {
				_, err = b.attempt(ctx, group)
			}
		}
	}
	if err != nil && !shop.IsKind(err, shop.Unavailable) && ctx.Err() == nil {
		err = errAlone // what is wrong with one call is not the others' fault
	}
	for _, c := range group {
		c.done <- err
	}
}

// errRefused undoes what was done for a batch of which some are refused.
var errRefused = errors.New("a part of the batch is refused")

// attempt carries out a batch, in a transaction whole or not at all.
func (b *Batcher[Q]) attempt(ctx context.Context, group []*call[Q]) (refused []*shoppb.Rejection, err error) {
	var traced spans.Batch
	asked := make([]Q, len(group))
	for i, c := range group {
		asked[i] = c.asks
		_, part := spans.Begin(c.ctx, "carry out with others", lab.SegmentBusiness)
		traced.Add(keyOf(c.asks), part)
	}
	defer traced.End()
	err = b.within(traced.Join(ctx), func(ctx context.Context) error {
		var plain bool
		var err error
		refused, plain, err = b.all(ctx, asked)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(refused, func(r *shoppb.Rejection) bool { return r != nil }):
			return errRefused
		case !plain:
			return errAlone
		}
		return nil
	})
	return refused, err
}

// within runs work in a transaction, where there is a database.
func (b *Batcher[Q]) within(ctx context.Context, work func(context.Context) error) error {
	if b.db == nil {
		return work(ctx)
	}
	return b.db.Do(ctx, work)
}

// without sends those that are refused on their own way and returns the others.
func without[Q any](group []*call[Q], refused []*shoppb.Rejection) []*call[Q] {
	var others []*call[Q]
	for i, c := range group {
		if refused[i] != nil {
			c.done <- errAlone
		} else {
			others = append(others, c)
		}
	}
	return others
}
