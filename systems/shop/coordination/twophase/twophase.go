// Package twophase carries an order through components that have databases of their own in one distributed
// transaction: a two-phase commit (Gray 1978) that the orders coordinate. Each component takes its steps in
// a transaction of its own and prepares it: durable, with its locks, and not to be seen yet. When all are
// prepared, the coordinator writes down its decision, and has all commit. Only while these commits take place
// can a step be seen without the others; the price is that the rows of an order stay locked all the time.
//
// What was prepared and has no decision is rolled back (presumed abort). The row of the order is the log:
// an order is on record, pending, before its first step, with a lease that names the attempt; its state
// becomes confirmed while that lease is still the one on record: that is the decision. The lease stays
// until all participants have acknowledged it, then it is forgotten. A refused order is rejected at once,
// which needs no log. So the name of a transaction (order, attempt, component) is enough to find the
// decision.
//
// The coordinator brings all to an end: Run, which must run beside it, takes over the orders whose lease is
// over, repeats decisions, and asks every participant for the transactions that it has in doubt.
//
// Participants prepare in a fixed order, so that no two orders wait for each other in different databases;
// the stock, which many orders want, comes last.
package twophase

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

const (
	// young is the age up to which a transaction is left to the coordinator that began it.
	young = time.Second
	// sideBySide is the number of abandoned orders that are carried on at the same time.
	sideBySide = 8
	// busyPause is the pause of a cancellation between two looks at an order that has a lease.
	busyPause = 20 * time.Millisecond
)

// Components returns the components that take part, in the order in which they prepare.
func Components() []string {
	return []string{shop.ComponentShipping, shop.ComponentPayments, shop.ComponentInventory}
}

// Coordinator implements orders.Coordinator. Run must run beside it.
type Coordinator struct {
	book         *orders.Book
	reference    coordination.Reference
	participants map[string]shoppb.Participant
	now          func() time.Time
}

var _ orders.Coordinator = (*Coordinator)(nil)

// New makes a coordinator of the participants that Components names. The book stands on the database of the
// orders.
func New(
	book *orders.Book, reference coordination.Reference, participants map[string]shoppb.Participant,
) *Coordinator {
	return &Coordinator{book, reference, participants, time.Now}
}

// The kinds of transactions.
const (
	placing    = "p"
	cancelling = "c"
)

// separator stands between the parts of a transaction's name.
const separator = "."

// attempt is an attempt to place or to cancel an order, under a lease.
type attempt struct {
	order, kind string
	lease       int64 // its end, in microseconds since 1970
}

// in returns the name of the transaction in a component.
func (a attempt) in(component string) string {
	return strings.Join([]string{a.order, a.kind + strconv.FormatInt(a.lease, 36), component}, separator)
}

// attemptOf reads the name of a transaction.
func attemptOf(name string) (attempt, bool) {
	parts := strings.Split(name, separator)
	if len(parts) != 3 || parts[1] == "" || shop.CheckOrderID(parts[0]) != nil {
		return attempt{}, false
	}
	under, err := strconv.ParseInt(parts[1][1:], 36, 64)
	return attempt{parts[0], parts[1][:1], under}, err == nil
}

// lease returns the end of a lease that begins now, in microseconds since 1970.
func (c *Coordinator) lease() int64 { return c.now().Add(orders.Lease).UnixMicro() }

// Place implements orders.Coordinator. Once the order is on record it goes on when the caller gives up.
func (c *Coordinator) Place(ctx context.Context, order *shoppb.Order) (*shoppb.Order, error) {
	p := &coordination.Placing{Order: order}
	err := coordination.LookUp(ctx, c.reference, p)
	if err = cmp.Or(err, p.Err); err != nil {
		return coordination.Refuse(ctx, c.book, order, err)
	}
	u := orders.Underway{Order: order.GetOrderId(), State: shop.StatePending, Lease: c.lease()}
	if err := c.book.Begin(ctx, orders.Beginning{Order: p.Priced, Lease: u.Lease}); err != nil {
		return nil, err
	}
	ctx, stop := u.Within(context.WithoutCancel(ctx))
	defer stop()
	return c.forward(ctx, u, p.Priced, p.Customer)
}

// forward prepares all steps of a pending order, decides, and sends the decision to the participants. An
// order without a decision stays on record, pending.
func (c *Coordinator) forward(
	ctx context.Context, u orders.Underway, order *shoppb.Order, customer *shoppb.Customer,
) (*shoppb.Order, error) {
	a := attempt{u.Order, placing, u.Lease}
	to := shop.StateConfirmed
	err := c.prepare(ctx, a, &shoppb.PrepareRequest{
		Reserve: coordination.Reservation(order), Charge: coordination.Charge(order),
		Ship: coordination.Shipment(order, customer),
	})
	reason, refused := shop.Rejects(err)
	if refused {
		to, err = shop.StateRejected, nil
	}
	if err == nil {
		err = c.book.Decide(ctx, u, to, reason)
	}
	if err != nil {
		return nil, err
	}
	if !refused {
		u.State = to
		_ = c.finish(ctx, u, a) // it is decided: Run repeats it
	}
	return coordination.Advanced(order, to, reason), nil
}

// prepare calls Prepare of all participants in turn. If one fails, all that were called roll back.
func (c *Coordinator) prepare(ctx context.Context, a attempt, in *shoppb.PrepareRequest) error {
	for n, component := range Components() {
		ask := &shoppb.PrepareRequest{Component: component, Transaction: a.in(component), Cancel: in.GetCancel()}
		switch component {
		case shop.ComponentInventory:
			ask.Reserve = in.GetReserve()
		case shop.ComponentPayments:
			ask.Charge = in.GetCharge()
		case shop.ComponentShipping:
			ask.Ship = in.GetShip()
		}
		if _, err := c.participants[component].Prepare(ctx, ask); err != nil {
			undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), orders.Margin)
			defer cancel()
			_ = c.end(undoing, a, false, Components()[:n+1]) // Run asks those that it does not reach
			return err
		}
	}
	return nil
}

// end sends the outcome of an attempt to participants, concurrently.
func (c *Coordinator) end(ctx context.Context, a attempt, commit bool, components []string) error {
	errs := make([]error, len(components))
	var all sync.WaitGroup
	for n, component := range components {
		all.Go(func() {
			_, errs[n] = c.participants[component].End(ctx, &shoppb.EndRequest{Component: component,
				Transaction: a.in(component), Commit: commit})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// finish sends the decision to commit to all participants, and forgets it when they have committed.
func (c *Coordinator) finish(ctx context.Context, u orders.Underway, a attempt) error {
	if err := c.end(ctx, a, true, Components()); err != nil {
		return err
	}
	return c.book.Forget(ctx, u)
}

// Cancel implements orders.Coordinator: it is a transaction of its own.
func (c *Coordinator) Cancel(ctx context.Context, id string) (*shoppb.Order, error) {
	u, cancelled, err := c.hold(ctx, id)
	if err != nil {
		return nil, err
	}
	if !cancelled {
		within, stop := u.Within(context.WithoutCancel(ctx))
		defer stop()
		if err := c.undo(within, u); err != nil {
			return nil, err
		}
	}
	return c.book.Get(ctx, id)
}

// hold takes the lease of an order, and waits while another coordinator has it.
func (c *Coordinator) hold(ctx context.Context, id string) (u orders.Underway, cancelled bool, err error) {
	ctx, stop := context.WithTimeout(ctx, 2*orders.Lease)
	defer stop()
	for {
		if u, cancelled, err = c.book.Hold(ctx, id, c.lease()); !errors.Is(err, orders.ErrBusy) {
			return u, cancelled, err
		}
		select {
		case <-ctx.Done():
			return u, false, ctx.Err()
		case <-time.After(busyPause):
		}
	}
}

// undo undoes all steps of a confirmed order, or none of them.
func (c *Coordinator) undo(ctx context.Context, u orders.Underway) error {
	a := attempt{u.Order, cancelling, u.Lease}
	err := c.prepare(ctx, a, &shoppb.PrepareRequest{Cancel: &shoppb.StepRequest{OrderId: u.Order}})
	if err != nil {
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), orders.Margin) // its time may be over
		defer cancel()
		return errors.Join(err, c.book.Forget(releasing, u)) // which ends the lease
	}
	if err := c.book.Decide(ctx, u, shop.StateCancelled, nil); err != nil {
		return err
	}
	u.State = shop.StateCancelled
	_ = c.finish(ctx, u, a) // it is decided: Run repeats it
	return nil
}
