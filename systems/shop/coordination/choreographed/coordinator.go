package choreographed

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Coordinator implements orders.Coordinator: it takes an order and tells so, and
// answers that it is pending.
type Coordinator struct {
	db      *database.DB
	book    *orders.Book
	replica replica
	outbox  Outbox
	placing *batching.Batcher[*placing] // nil: one by one
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator. db is the database of the book, with the replica of
// catalog and customers and the outbox in it.
func New(db *database.DB, book *orders.Book, outbox Outbox) *Coordinator {
	return &Coordinator{db: db, book: book, replica: newReplica(db), outbox: outbox}
}

// Batch has orders that come at the same time taken in one transaction. It is called
// before the first order.
func (c *Coordinator) Batch() {
	c.placing = batching.New(c.db, func(ctx context.Context, group []*placing) (bool, error) { return true, c.place(ctx, group) })
}

// placing is an order that is being placed, and then what came of it.
type placing struct {
	order  *shoppb.Order
	placed *shoppb.Order
	taken  bool // its key is on record
}

// Key names the order among those of a batch; see batching.Keyed.
func (p *placing) Key() string { return p.order.GetOrderId() }

// Place implements orders.Coordinator.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	p := &placing{order: order}
	err := c.placing.Do(ctx, p, func(ctx context.Context) error { return c.place(ctx, []*placing{p}) })
	switch {
	case err != nil:
		return nil, err
	case p.taken:
		return nil, orders.ErrKeyTaken
	}
	return p.placed, nil
}

// place takes orders: it prices them, writes them down and tells of those whose keys
// are not on record, in one transaction.
func (c *Coordinator) place(ctx context.Context, group []*placing) error {
	wanted := make([]*shoppb.Order, len(group))
	for i, p := range group {
		wanted[i] = p.order
	}
	known, err := c.replica.of(ctx, wanted)
	if err != nil {
		return err
	}
	placed, told := make([]*shoppb.Order, len(group)), make([]events.Event, len(group))
	for i, order := range wanted {
		placed[i], told[i] = known.price(order)
	}
	return c.db.Do(ctx, func(ctx context.Context) error {
		taken, err := c.book.RecordAll(ctx, placed)
		if err != nil {
			return err
		}
		fresh := make([]events.Event, len(group))
		for i, p := range group {
			p.placed, p.taken = placed[i], taken[placed[i].GetOrderId()]
			if !p.taken {
				fresh[i] = told[i]
			}
		}
		return tell(ctx, c.outbox, fresh...)
	})
}

// Cancel implements orders.Coordinator. The order counts as cancelled once that is
// on record; the components undo their steps when they are told.
func (c *Coordinator) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	var cancelled *shoppb.Order
	err := c.db.Do(ctx, func(ctx context.Context) error {
		moved, err := c.book.Advance(ctx, id, shop.StateConfirmed, shop.StateCancelled, nil)
		if err != nil {
			return err
		}
		if cancelled, err = c.book.Get(ctx, id); err != nil || !moved {
			return err
		}
		return tell(ctx, c.outbox, &shoppb.OrderCancelled{Order: cancelled})
	})
	return cancelled, err
}

// advanced is a copy of a pending order in its next state.
func advanced(order *shoppb.Order, state shop.State, why *shoppb.Rejection) *shoppb.Order {
	next := proto.CloneOf(order)
	next.State, next.Rejection, next.Version = string(state), why, order.GetVersion()+1
	return next
}
