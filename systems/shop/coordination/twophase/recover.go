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

// Run calls Recover and Resolve again and again until the context ends; see orders.Repeat. It runs them
// concurrently, because orders may wait for locks of transactions in doubt.
func (c *Coordinator) Run(ctx context.Context, logError func(error)) {
	var beside sync.WaitGroup
	beside.Go(func() { orders.Repeat(ctx, c.Resolve, logError) })
	orders.Repeat(ctx, c.Recover, logError)
	beside.Wait()
}

// Recover takes over orders whose lease has ended. It returns the errors of the orders that it could not end,
// except those that another coordinator has taken over.
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

// Resolve ends the transactions in doubt that have a decision or can no longer get one.
func (c *Coordinator) Resolve(ctx context.Context) error {
	errs := make([]error, len(Components()))
	var all sync.WaitGroup
	for n, component := range Components() { // a component that does not answer delays no other
		all.Go(func() { errs[n] = c.resolve(ctx, component) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// resume sends the decision about an order to the participants again. If there is no decision, it makes
// another attempt.
func (c *Coordinator) resume(ctx context.Context, u orders.Underway) error {
	within, stop := context.WithTimeout(ctx, orders.Lease-orders.Margin)
	defer stop()
	switch u.State {
	case shop.StateConfirmed:
		// The lease may be that of an abandoned cancellation. Then no transaction belongs to this attempt:
		// finish only ends the lease, and Resolve rolls the cancellation back.
		return c.finish(within, u, attempt{u.Order, placing, u.Lease})
	case shop.StateCancelled:
		return c.finish(within, u, attempt{u.Order, cancelling, u.Lease})
	}
	before := attempt{u.Order, placing, u.Lease}
	u, err := c.book.Take(within, u, c.lease())
	if err == nil {
		err = c.end(within, before, false, Components()) // without its lease it cannot be confirmed
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
		begun := time.UnixMicro(a.lease).Add(-orders.Lease)
		isYoung := begun.Add(young).After(c.now())
		if !ours || isYoung {
			continue // a young one is left to its coordinator
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

// abandon takes the lease away from an attempt whose time is over, so that the attempt can no longer be
// decided. resolve does not leave this to Recover, since prepared transactions lock rows that other orders
// need.
func (c *Coordinator) abandon(ctx context.Context, a attempt) error {
	u := orders.Underway{Order: a.order, State: shop.StatePending, Lease: a.lease}
	if a.kind == cancelling {
		u.State = shop.StateConfirmed
	}
	_, err := c.book.Take(ctx, u, c.now().UnixMicro())
	return err
}

// decided returns the decision about an attempt. open is true while the attempt has its lease and may still
// be decided. Otherwise commit is true if its transactions are to be committed, and false if they are to be
// rolled back. An attempt without its lease is rolled back, even if its decision to commit was forgotten:
// then all participants have committed already, and the transaction in doubt is a late repetition.
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
