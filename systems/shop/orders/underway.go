package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// ErrOvertaken means that another coordinator works on an order by now, or has ended
// it: the time of the caller's lease was up.
var ErrOvertaken error = rpc.Problemf(rpc.DeadlineExceeded,
	"the time for this order was up, and it was taken over")

// Underway is an order that a coordinator works on, or has abandoned. It is kept in
// the row of the order itself: so the order and its progress change in one statement,
// and need no second record. The lease also identifies its holder: the book refuses
// the changes of a late predecessor.
type Underway struct {
	Order string
	// State is pending for an order that is being placed, cancelled for one that is being undone. In a
	// two-phase commit it is confirmed for an order whose commit some participants have not acknowledged, or
	// whose cancellation is not decided yet.
	State shop.State
	// Reason is set if a pending order is going to be rejected.
	Reason *shoppb.Rejection
	// Lease is the time until which no other coordinator works on the order, in microseconds since 1970.
	Lease int64
}

const (
	// Lease limits the time for which an order belongs to one coordinator.
	Lease = 5 * time.Second
	// Margin separates the end of work on an order from the end of its lease, so that the last step is over
	// when another coordinator takes over.
	Margin = time.Second
)

// Within returns the context of work under the lease.
func (u Underway) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, time.UnixMicro(u.Lease).Add(-Margin))
}

// The entries of an order's journal that are not states.
const (
	entryTurned = "turned" // its steps are going to be compensated
	entryUndone = "undone" // all its steps are compensated
)

// Repeat calls look, which looks for abandoned orders, at once and then again and again until the context
// ends. It passes errors to logError.
func Repeat(ctx context.Context, look func(context.Context) error, logError func(error)) {
	ticker := time.NewTicker(Lease / 5)
	defer ticker.Stop()
	for {
		if err := look(ctx); err != nil && ctx.Err() == nil {
			logError(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// GetOrderId implements steps.OfOrder.
func (u Underway) GetOrderId() string { return u.Order }

// Turn writes down that a pending order is going to be rejected, before its first compensation.
func (b *Book) Turn(ctx context.Context, u Underway, reason *shoppb.Rejection) (Underway, error) {
	change := Change{Columns: rejectionColumns(reason), Entry: steps.Entry(entryTurned)}
	err := b.changeHeld(ctx, "turn", u, change)
	u.Reason = reason
	return u, err
}

// Arrive writes the final state of a pending order and ends its lease: it is rejected if
// it has a reason, else confirmed. It skips the states between.
func (b *Book) Arrive(ctx context.Context, u Underway) error {
	_, err := steps.One(ctx, u, b.ArriveAll)
	return err
}

// ArriveAll is Arrive for a batch of orders. The lease of a single order is not read first: the statement
// that moves it compares the lease, and moves nothing if another coordinator has taken the order over.
func (b *Book) ArriveAll(ctx context.Context, all []Underway) ([]steps.Outcome, error) {
	return steps.DoStatement(ctx, b.db, "end", all,
		func(ctx context.Context, all []Underway, readFirst bool) ([]steps.Outcome, error) {
			var leases map[string]int64
			if readFirst { // reading the leases also locks them
				var err error
				if leases, err = b.tables.Leases(ctx, steps.IDs(all)); err != nil {
					return nil, err
				}
			}
			outcomes := make([]steps.Outcome, len(all))
			ends := map[shop.State][]Underway{}
			for i, u := range all {
				to := shop.StateConfirmed
				if u.Reason != nil {
					to = shop.StateRejected
				}
				if readFirst && leases[u.Order] != u.Lease {
					outcomes[i].Err = ErrOvertaken
				} else {
					ends[to] = append(ends[to], u)
				}
			}
			for to, held := range ends {
				moved, err := b.tables.Arrive(ctx, held, to)
				switch {
				case err != nil:
					return nil, err
				case moved == int64(len(held)):
				case readFirst:
					return nil, b.db.Contended("an order has moved since it was read")
				default:
					outcomes[0].Err = ErrOvertaken
				}
			}
			for i, u := range all {
				if outcomes[i].Err == nil {
					b.notifyFinal(ctx, u.Order)
				}
			}
			return outcomes, nil
		})
}

// BeginCancel makes a confirmed order cancelled; the holder of the lease undoes it. Its
// other results are those of Advance.
func (b *Book) BeginCancel(ctx context.Context, id string, lease int64) (Underway, bool, error) {
	moved, err := b.advanceOne(ctx, id, shop.StateConfirmed, shop.StateCancelled, nil, lease)
	return Underway{Order: id, State: shop.StateCancelled, Lease: lease}, moved, err
}

// EndCancel writes down that a cancelled order is undone, and ends its lease.
func (b *Book) EndCancel(ctx context.Context, u Underway) error {
	change := Change{Columns: []Column{{columnLease, nil}}, Entry: steps.Entry(entryUndone)}
	return b.changeHeld(ctx, "end", u, change)
}

// Take takes over an order whose lease is over: it gets a new lease.
func (b *Book) Take(ctx context.Context, u Underway, lease int64) (Underway, error) {
	err := b.changeHeld(ctx, "take", u, Change{Columns: []Column{{columnLease, lease}}})
	u.Lease = lease
	return u, err
}

// changeHeld changes an order if its state and its lease are still the known ones.
func (b *Book) changeHeld(ctx context.Context, doing string, u Underway, change Change) error {
	changed, err := b.tables.Change(ctx, u, change)
	if err == nil && changed != 1 {
		err = ErrOvertaken
	}
	if err != nil {
		return fmt.Errorf("%s order %s: %w", doing, u.Order, err)
	}
	return nil
}

// atOnce is the largest number of abandoned orders that are looked up together.
const atOnce = 100

// Abandoned returns the orders whose leases ended before now, in microseconds since 1970: at most atOnce of
// them, sorted by the ends of their leases.
func (b *Book) Abandoned(ctx context.Context, now int64) ([]Underway, error) {
	found, err := b.tables.Abandoned(ctx, now, atOnce)
	if err != nil {
		return nil, fmt.Errorf("look for abandoned orders: %w", err)
	}
	return found, nil
}

// CountUnderway returns the number of orders with a lease.
func CountUnderway(ctx context.Context, db *database.DB) (count int64, err error) {
	_, err = db.One(ctx, []any{&count}, "SELECT COUNT(*) FROM orders WHERE lease_until_us IS NOT NULL")
	return count, err
}
