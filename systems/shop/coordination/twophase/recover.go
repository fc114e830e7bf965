package twophase

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Run ends abandoned orders and transactions in doubt until the context ends; see orders.Repeat. Orders may
// wait for locks of transactions that are in doubt: so both go on side by side.
func (c *Coordinator) Run(ctx context.Context, logError func(error)) {
	var beside sync.WaitGroup
	beside.Go(func() { orders.Repeat(ctx, c.Resolve, logError) })
	orders.Repeat(ctx, c.Recover, logError)
	beside.Wait()
}

// Recover takes over orders whose lease is over. It returns the errors of those that it could not end.
func (c *Coordinator) Recover(ctx context.Context) error {
	abandoned, err := c.book.Abandoned(ctx, c.now().UnixMicro())
	errs := []error{err}
	for some := range slices.Chunk(abandoned, sideBySide) {
		ends := make([]error, len(some))
		var all sync.WaitGroup
		for n, u := range some {
			all.Go(func() { ends[n] = c.resume(ctx, u) })
		}
		all.Wait()
		errs = append(errs, slices.DeleteFunc(ends, func(err error) bool {
			return errors.Is(err, orders.ErrOvertaken)
		})...)
	}
	return errors.Join(errs...)
}

// Resolve ends the transactions in doubt that have a decision, or can have none any more.
func (c *Coordinator) Resolve(ctx context.Context) error {
	errs := make([]error, len(Components()))
	var all sync.WaitGroup
	for n, component := range Components() { // a component that does not answer delays no other
		all.Go(func() { errs[n] = c.resolve(ctx, component) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// resume repeats the decision about an order to the participants; without a decision it makes another
// attempt.
func (c *Coordinator) resume(ctx context.Context, u orders.Underway) error {
	within, stop := context.WithTimeout(ctx, orders.Lease-orders.Margin)
	defer stop()
	switch u.State {
	case shop.StateConfirmed:
		// If a cancellation was abandoned instead, nothing is prepared under this name.
		return c.finish(within, u, attempt{u.Order, placing, u.Lease})
	case shop.StateCancelled:
		return c.finish(within, u, attempt{u.Order, cancelling, u.Lease})
	}
	before := attempt{u.Order, placing, u.Lease}
	u, err := c.book.Take(within, u, c.lease())
	if err == nil {
		err = c.end(within, before, false, Components()) // nothing can be decided about it any more
	}
	if err != nil {
		return err
	}
	order, customer, err := coordination.OnRecord(within, c.book, c.reference, u.Order)
	if err != nil {
		return err
	}
	_, err = c.forward(within, u, order, customer)
	return err
}

// resolve ends the transactions that a component has in doubt.
func (c *Coordinator) resolve(ctx context.Context, component string) error {
	ctx, stop := context.WithTimeout(ctx, orders.Lease-orders.Margin)
	defer stop()
	doubtful, err := c.participants[component].InDoubt(ctx, &shoppb.InDoubtRequest{Component: component})
	errs := []error{err}
	for _, name := range doubtful.GetTransactions() {
		a, ours := attemptOf(name)
		if !ours || time.UnixMicro(a.lease).Add(young-orders.Lease).After(c.now()) {
			continue
		}
		commit, open, err := c.decided(ctx, a)
		if open && a.lease < c.now().UnixMicro() {
			open = false
			err = c.abandon(ctx, a)
		}
		if errors.Is(err, orders.ErrOvertaken) {
			continue // another coordinator has taken the order over, and ends it
		}
		if err == nil && !open {
			err = c.end(ctx, a, commit, []string{component})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// abandon takes the lease away from an attempt whose time is over, so that nothing can be decided about it
// any more. It does not wait for Recover: the prepared transactions keep other orders from their rows.
func (c *Coordinator) abandon(ctx context.Context, a attempt) error {
	u := orders.Underway{Order: a.order, State: shop.StatePending, Lease: a.lease}
	if a.kind == cancelling {
		u.State = shop.StateConfirmed
	}
	_, err := c.book.Take(ctx, u, c.now().UnixMicro())
	return err
}

// decided returns the decision about an attempt: to commit, or not. It is open while the attempt has its
// lease and may still be decided. An attempt that has lost its lease is rolled back. So is one whose decision
// is forgotten: all participants have committed it, and this transaction is a late repetition.
func (c *Coordinator) decided(ctx context.Context, a attempt) (commit, open bool, err error) {
	u, err := c.book.Standing(ctx, a.order)
	if err != nil || u.Lease != a.lease {
		return false, false, err
	}
	before, after := shop.StatePending, shop.StateConfirmed
	if a.kind == cancelling {
		before, after = shop.StateConfirmed, shop.StateCancelled
	}
	return u.State == after, u.State == before, nil
}
