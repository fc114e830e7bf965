// Package orchestrated carries an order through components that have databases of
// their own: a saga (Garcia-Molina and Salem 1987) that one place drives. Each
// step commits where it happens; a step that the rules of the shop refuse is
// followed by the compensations of those before it, the last first.
//
// The saga's log lies beside the order, in one transaction with it. It holds what
// a successor needs: that the order is on its way, and where to. How far it has
// come is not written down, because every step can be repeated: that saves a
// commit per step. Whoever works on a saga holds its lease; when a lease runs out,
// Recover takes the saga over and repeats its steps from the first. No step takes
// longer than the lease, so two never work on one saga.
//
// Others may see an order pending and its stock reserved before it is confirmed or
// rejected: a saga is not isolated.
package orchestrated

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

const (
	// lease is how long a saga belongs to who works on it.
	lease = 5 * time.Second
	// patience is how long work on a saga may take: less than the lease, so that the
	// last step has ended when somebody else takes over.
	patience = 4 * time.Second
)

// Coordinator implements orders.Coordinator. Recover must run beside it.
type Coordinator struct {
	db         *database.DB
	log        log
	book       *orders.Book
	components coordination.Components
	now        func() time.Time
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator. db is the database of the book; the components may be
// anywhere.
func New(db *database.DB, book *orders.Book, components coordination.Components) *Coordinator {
	return &Coordinator{db: db, log: log{db}, book: book, components: components, now: time.Now}
}

// Place implements orders.Coordinator. Once the order is on record its saga goes
// on when the caller gives up: an order that is half done helps nobody.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	customer, products, err := c.lookUp(ctx, order)
	if reason, ok := shop.Rejects(err); ok {
		rejected := coordination.Rejected(order, reason)
		return rejected, c.book.Record(ctx, rejected)
	}
	if err != nil {
		return nil, err
	}
	priced := coordination.Priced(order, products)
	s := saga{order: order.GetOrderId(), goal: confirm, lease: c.now().Add(lease).UnixMicro()}
	err = c.db.Do(ctx, func(ctx context.Context) error {
		if err := c.book.Record(ctx, priced); err != nil {
			return err
		}
		return c.log.begin(ctx, s)
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	return c.forward(ctx, s, priced, customer)
}

// lookUp asks what must be known before an order is taken.
func (c *Coordinator) lookUp(ctx context.Context, order *shoppb.Order) (*shoppb.Customer, []*shoppb.Product, error) {
	customer, err := c.components.Customers.GetCustomer(ctx, &shoppb.GetCustomerRequest{CustomerId: order.GetCustomerId()})
	if err != nil {
		return nil, nil, err
	}
	quote, err := c.components.Catalog.Quote(ctx, &shoppb.QuoteRequest{ProductIds: coordination.ProductIDs(order)})
	return customer, quote.GetProducts(), err
}

// forward takes all steps and confirms the order, or turns back where one is
// refused. After another error the saga stays in the log.
func (c *Coordinator) forward(ctx context.Context, s saga, order *shoppb.Order, customer *shoppb.Customer) (*shoppb.Order, error) {
	err := c.takeSteps(ctx, order, customer)
	if reason, ok := shop.Rejects(err); ok {
		if err := c.log.turn(ctx, s, reason); err != nil {
			return nil, err
		}
		s.goal, s.reason = reject, reason
		return c.back(ctx, s, order)
	}
	if err != nil {
		return nil, err
	}
	return c.arrive(ctx, s, order, shop.StateConfirmed)
}

// takeSteps takes from stock and account and ships.
func (c *Coordinator) takeSteps(ctx context.Context, order *shoppb.Order, customer *shoppb.Customer) error {
	id := order.GetOrderId()
	step := &shoppb.StepRequest{OrderId: id}
	return inTurn(
		func() error {
			_, err := c.components.Inventory.Reserve(ctx, &shoppb.ReserveRequest{OrderId: id, Lines: coordination.Lines(order)})
			return err
		},
		func() error {
			_, err := c.components.Payments.Authorise(ctx, &shoppb.AuthoriseRequest{
				OrderId: id, CustomerId: order.GetCustomerId(), AmountCents: order.GetTotalCents(),
			})
			return err
		},
		func() error { _, err := c.components.Payments.Capture(ctx, step); return err },
		func() error { _, err := c.components.Inventory.Commit(ctx, step); return err },
		func() error {
			_, err := c.components.Shipping.Ship(ctx, &shoppb.ShipRequest{OrderId: id, Recipient: customer.GetName(), Address: customer.GetAddress()})
			return err
		},
	)
}

// back undoes what the steps before a refusal have done, or may have done, and
// rejects the order.
func (c *Coordinator) back(ctx context.Context, s saga, order *shoppb.Order) (*shoppb.Order, error) {
	step := &shoppb.StepRequest{OrderId: s.order}
	err := inTurn(
		func() error { _, err := c.components.Payments.Void(ctx, step); return err },
		func() error { _, err := c.components.Inventory.Release(ctx, step); return err },
	)
	if err != nil {
		return nil, err
	}
	return c.arrive(ctx, s, order, shop.StateRejected)
}

// arrive writes the final state and removes the saga, in one transaction. The
// states between are passed in that moment.
func (c *Coordinator) arrive(ctx context.Context, s saga, order *shoppb.Order, state shop.State) (*shoppb.Order, error) {
	err := c.db.Do(ctx, func(ctx context.Context) error {
		if _, err := c.book.Advance(ctx, s.order, shop.StatePending, state, s.reason); err != nil {
			return err
		}
		return c.log.end(ctx, s)
	})
	if err != nil {
		return nil, err
	}
	final := proto.CloneOf(order)
	final.State, final.Rejection, final.Version = string(state), s.reason, order.GetVersion()+1
	return final, nil
}

// Cancel implements orders.Coordinator. The order counts as cancelled once that
// is on record; what is left of the work then happens here or in Recover.
func (c *Coordinator) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	s := saga{order: id, goal: cancel, lease: c.now().Add(lease).UnixMicro()}
	moved := false
	err := c.db.Do(ctx, func(ctx context.Context) (err error) {
		if moved, err = c.book.Advance(ctx, id, shop.StateConfirmed, shop.StateCancelled, nil); err != nil || !moved {
			return err
		}
		return c.log.begin(ctx, s)
	})
	if err != nil {
		return nil, err
	}
	if moved {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer stop()
		_ = c.undo(ctx, s) // the saga is in the log: Recover goes on
	}
	return c.book.Get(ctx, id)
}

// undo takes back the steps of a confirmed order, the last first.
func (c *Coordinator) undo(ctx context.Context, s saga) error {
	step := &shoppb.StepRequest{OrderId: s.order}
	return inTurn(
		func() error { _, err := c.components.Shipping.Recall(ctx, step); return err },
		func() error { _, err := c.components.Inventory.Restock(ctx, step); return err },
		func() error { _, err := c.components.Payments.Refund(ctx, step); return err },
		func() error { return c.log.end(ctx, s) },
	)
}

// inTurn takes steps until one fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many abandoned sagas are looked up together.
const atOnce = 100

// Recover takes over sagas whose lease is over, and returns how many it brought to
// their end and what kept it from others. Those stay in the log.
func (c *Coordinator) Recover(ctx context.Context) (ended int, err error) {
	abandoned, err := c.log.abandoned(ctx, c.now(), atOnce)
	errs := []error{err}
	for _, s := range abandoned {
		switch err := c.resume(ctx, s); {
		case err == nil:
			ended++
		case !errors.Is(err, errOvertaken):
			errs = append(errs, err)
		}
	}
	return ended, errors.Join(errs...)
}

// resume repeats a saga from its first step.
func (c *Coordinator) resume(ctx context.Context, s saga) error {
	until := c.now().Add(lease)
	if err := c.log.take(ctx, s, until); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if s.goal == cancel {
		return c.undo(ctx, s)
	}
	order, err := c.book.Get(ctx, s.order)
	if err != nil {
		return err
	}
	if s.goal == reject {
		_, err = c.back(ctx, s, order)
		return err
	}
	customer, err := c.components.Customers.GetCustomer(ctx, &shoppb.GetCustomerRequest{CustomerId: order.GetCustomerId()})
	if err != nil {
		return err
	}
	_, err = c.forward(ctx, s, order, customer)
	return err
}

// Run recovers abandoned sagas until the context ends. complain is told what
// fails; it is tried again.
func (c *Coordinator) Run(ctx context.Context, complain func(error)) {
	ticker := time.NewTicker(lease / 5)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, err := c.Recover(ctx); err != nil && ctx.Err() == nil {
				complain(err)
			}
		}
	}
}
