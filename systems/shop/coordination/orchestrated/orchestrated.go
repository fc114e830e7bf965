// Package orchestrated carries an order through components that have databases of
// their own: a saga (Garcia-Molina and Salem 1987) that the orders drive. Each step
// commits in its component's database; when the rules of the shop refuse a step, the
// steps before it are compensated, the last first.
//
// The saga's log is the row of the order itself. It holds what a successor needs:
// that the order is not final, whether it goes back, and the end of the lease. The
// steps that were taken are not written down, because every step can be repeated: so
// a saga costs its order one more commit, that of the final state. A coordinator that
// works on a saga holds its lease; when a lease runs out, Recover takes the saga over
// and repeats its steps from the first. No step takes longer than the lease, so two
// never work on one saga, and the book refuses a coordinator that has lost its lease.
//
// The steps before Charge can be undone, Charge may be refused, and the steps after it
// cannot be refused: a paid order is always carried forward.
//
// Others may see a pending order and its reserved stock: a saga is not isolated.
package orchestrated

import (
	"context"
	"errors"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Coordinator implements orders.Coordinator. Run must run beside it, for sagas that were abandoned.
type Coordinator struct {
	book       *orders.Book
	reference  coordination.Reference
	components shop.Parts
	lookUp     steps.Ask[*coordination.Placing]
	begin      steps.Ask[orders.Beginning]
	arrive     steps.Ask[orders.Underway]
	now        func() time.Time
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator. db is the database of the book; the components may be
// anywhere. batch: concurrent calls of Place look up what they need together, and record their orders in one
// transaction.
func New(
	db *database.DB, book *orders.Book, reference coordination.Reference, components shop.Parts, batch bool,
) *Coordinator {
	c := &Coordinator{book: book, reference: reference, components: components, now: time.Now,
		begin: batching.Ask(db, book.BeginAll, batch), arrive: batching.Ask(db, book.ArriveAll, batch)}
	c.lookUp = batching.Ask(db, c.lookUpAll, batch)
	return c
}

// lookUpAll looks up the customers and products of a batch of orders.
func (c *Coordinator) lookUpAll(
	ctx context.Context, all []*coordination.Placing,
) ([]steps.Outcome, error) {
	if err := coordination.LookUp(ctx, c.reference, all...); err != nil {
		return nil, err
	}
	outcomes := make([]steps.Outcome, len(all))
	for i, p := range all {
		outcomes[i].Err = p.Err
	}
	return outcomes, nil
}

// lease returns the end of a lease that begins now, in microseconds since 1970.
func (c *Coordinator) lease() int64 { return c.now().Add(orders.Lease).UnixMicro() }

// Place implements orders.Coordinator. Once the order is on record its saga goes
// on even if the caller gives up.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	p := &coordination.Placing{Order: order}
	if _, err := c.lookUp(ctx, p); err != nil {
		return coordination.Refuse(ctx, c.book, order, err)
	}
	begun := orders.Beginning{Order: p.Priced, Lease: c.lease()}
	if _, err := c.begin(ctx, begun); err != nil {
		return nil, err
	}
	saga := orders.Underway{Order: order.GetOrderId(), State: shop.StatePending, Lease: begun.Lease}
	ctx, stop := saga.Within(context.WithoutCancel(ctx))
	defer stop()
	return c.forward(ctx, saga, p.Priced, p.Customer)
}

// forward takes all steps and confirms the order, or compensates them and rejects it
// if one is refused. After another error the saga stays on record.
func (c *Coordinator) forward(
	ctx context.Context, saga orders.Underway, order *shoppb.Order, customer *shoppb.Customer,
) (*shoppb.Order, error) {
	err := c.takeSteps(ctx, order, customer)
	if reason, ok := shop.Rejects(err); ok {
		if saga, err = c.book.Turn(ctx, saga, reason); err == nil {
			err = c.takeBack(ctx, saga.Order)
		}
	}
	if err != nil {
		return nil, err
	}
	if _, err := c.arrive(ctx, saga); err != nil {
		return nil, err
	}
	if saga.Reason != nil {
		return coordination.Advanced(order, shop.StateRejected, saga.Reason), nil
	}
	return coordination.Advanced(order, shop.StateConfirmed, nil), nil
}

// takeSteps takes from stock and account and ships.
func (c *Coordinator) takeSteps(ctx context.Context, order *shoppb.Order, customer *shoppb.Customer) error {
	all := c.components
	return inTurn(
		func() error { _, err := all.Inventory.Reserve(ctx, coordination.Reservation(order)); return err },
		func() error { _, err := all.Payments.Charge(ctx, coordination.Charge(order)); return err },
		func() error { _, err := all.Inventory.Commit(ctx, coordination.Step(order)); return err },
		func() error { _, err := all.Shipping.Ship(ctx, coordination.Shipment(order, customer)); return err },
	)
}

// takeBack compensates the steps before a refusal, whether or not they were taken.
func (c *Coordinator) takeBack(ctx context.Context, id string) error {
	step := &shoppb.StepRequest{OrderId: id}
	return inTurn(
		func() error { _, err := c.components.Payments.Void(ctx, step); return err },
		func() error { _, err := c.components.Inventory.Release(ctx, step); return err },
	)
}

// Cancel implements orders.Coordinator. The order counts as cancelled once that
// is on record; its compensations follow here or in Recover.
func (c *Coordinator) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	saga, moved, err := c.book.BeginCancel(ctx, id, c.lease())
	if err != nil {
		return nil, err
	}
	if moved {
		ctx, stop := saga.Within(context.WithoutCancel(ctx))
		defer stop()
		_ = c.undo(ctx, saga) // the saga is on record: Recover goes on
	}
	return c.book.Get(ctx, id)
}

// undo takes back the steps of a confirmed order, the last first.
func (c *Coordinator) undo(ctx context.Context, saga orders.Underway) error {
	step := &shoppb.StepRequest{OrderId: saga.Order}
	return inTurn(
		func() error { _, err := c.components.Shipping.Recall(ctx, step); return err },
		func() error { _, err := c.components.Inventory.Restock(ctx, step); return err },
		func() error { _, err := c.components.Payments.Refund(ctx, step); return err },
		func() error { return c.book.EndCancel(ctx, saga) },
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

// Recover takes over sagas whose lease is over. It returns the errors of those that it could not end, which
// stay on record.
func (c *Coordinator) Recover(ctx context.Context) error {
	abandoned, err := c.book.Abandoned(ctx, c.now().UnixMicro())
	errs := []error{err}
	for _, saga := range abandoned {
		if err := c.resume(ctx, saga); !errors.Is(err, orders.ErrOvertaken) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// resume repeats a saga from its first step.
func (c *Coordinator) resume(ctx context.Context, saga orders.Underway) error {
	saga, err := c.book.Take(ctx, saga, c.lease())
	if err != nil {
		return err
	}
	ctx, stop := saga.Within(ctx)
	defer stop()
	switch {
	case saga.State == shop.StateCancelled:
		return c.undo(ctx, saga)
	case saga.Reason != nil:
		if err := c.takeBack(ctx, saga.Order); err != nil {
			return err
		}
		return c.book.Arrive(ctx, saga)
	}
	order, customer, err := coordination.OnRecord(ctx, c.book, c.reference, saga.Order)
	if err != nil {
		return err
	}
	_, err = c.forward(ctx, saga, order, customer)
	return err
}

// Run recovers abandoned sagas until the context ends; see orders.Repeat.
func (c *Coordinator) Run(ctx context.Context, logError func(error)) {
	orders.Repeat(ctx, c.Recover, logError)
}
