// Package inventory is the component that holds the stock. Items are on hand, then
// reserved, then sold, or go back: the three numbers always add up to the initial stock.
// It knows no orders beyond their ids.
package inventory

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/batching"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// The states of a reservation.
const (
	StateReserved  = "reserved"
	StateCommitted = "committed" // sold
	StateReleased  = "released"  // given back before it was sold
	StateRestocked = "restocked" // given back after it was sold
)

// Inventory implements shop.Inventory on its tables, each step for many orders at once.
type Inventory struct {
	db     *database.DB
	tables Tables
	ledger steps.Ledger

	reserveOne steps.Ask[*shoppb.ReserveRequest]
	commitOne  steps.Ask[*shoppb.StepRequest]
}

var _ shop.Inventory = (*Inventory)(nil)

// New makes the component on the tables of its database. batch: concurrent calls of each forward step share a
// transaction.
func New(db *database.DB, tables Tables, batch bool) *Inventory {
	c := &Inventory{db: db, tables: tables, ledger: steps.NewLedger(db, tables, "reservation")}
	c.reserveOne = batching.Ask(db, c.ReserveAll, batch)
	c.commitOne = batching.Ask(db, c.CommitAll, batch)
	return c
}

// The shifts of stock between its columns.
var (
	take    = Shift{onHand, reserved}
	sell    = Shift{reserved, sold}
	putBack = Shift{reserved, onHand}
	unsell  = Shift{sold, onHand}
)

// Reserve implements shop.Inventory.
func (c *Inventory) Reserve(ctx context.Context, in *shoppb.ReserveRequest) (*shoppb.StepResponse, error) {
	return c.reserveOne(ctx, in)
}

// Commit implements shop.Inventory.
func (c *Inventory) Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.commitOne(ctx, in)
}

// Release implements shop.Inventory.
func (c *Inventory) Release(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return steps.One(ctx, in, c.ReleaseAll)
}

// Restock implements shop.Inventory.
func (c *Inventory) Restock(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return steps.One(ctx, in, func(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
		return c.step(ctx, "restock", all, StateCommitted, StateRestocked, unsell)
	})
}

// ReserveAll is Reserve for a batch of orders, in their order.
func (c *Inventory) ReserveAll(ctx context.Context, all []*shoppb.ReserveRequest) ([]steps.Outcome, error) {
	check := func(in *shoppb.ReserveRequest) error { return shop.CheckLines(in.GetLines()) }
	return steps.Do(ctx, c.db, "reserve", all, check, c.reserve)
}

// reserve takes the lines of orders from the shelf; see steps.Take for readFirst. If that is false there is
// one order: if it turns out to be known, reserve starts again and reads first.
func (c *Inventory) reserve(
	ctx context.Context, all []*shoppb.ReserveRequest, readFirst bool,
) ([]steps.Outcome, error) {
	var known map[string]reservation
	var stock shelf
	if readFirst {
		var err error
		if known, err = c.reservations(ctx, steps.IDs(all)); err != nil {
			return nil, err
		}
		if stock, err = c.onHand(ctx, all, known); err != nil {
			return nil, err
		}
	}
	outcomes := make([]steps.Outcome, len(all))
	wanted := map[int64]int64{}
	entry := steps.Entry(StateReserved)
	var rows []steps.Row
	var refused []string
	for n, in := range all {
		order := in.GetOrderId()
		lines := in.GetLines()
		if state := known[order].state; state != "" {
			outcomes[n] = c.ledger.RepeatOrConflict(order, state, StateReserved, StateCommitted)
			continue
		}
		if readFirst {
			if held := stock.take(lines); held < len(lines) {
				outcomes[n].Err = outOfStock(lines, held)
				refused = append(refused, order)
				continue
			}
		}
		for i, line := range lines {
			rows = append(rows, Reservation{order, i, line.GetProductId(), line.GetQuantity(), StateReserved, entry})
			wanted[line.GetProductId()] += line.GetQuantity()
		}
	}
	if fresh, err := c.ledger.Begin(ctx, rows, refused, readFirst); err != nil {
		return nil, err
	} else if !fresh {
		return c.reserve(ctx, all, true)
	}
	enough, moved, err := c.tables.Shift(ctx, take, wanted)
	if err == nil && !enough {
		if readFirst {
			return nil, rpc.Problemf(rpc.Internal, "%d of %d products moved: the shelf is not what was locked",
				moved, len(wanted))
		}
		outcomes[0].Err = outOfStock(all[0].GetLines(), int(moved))
	}
	return outcomes, err
}

// outOfStock returns the refusal of lines of which the shelf holds only some.
func outOfStock(lines []*shoppb.Line, held int) error {
	if len(lines) == 1 {
		return rpc.Problemf(shop.OutOfStock, "product %d: the shelf does not hold %d", lines[0].GetProductId(),
			lines[0].GetQuantity())
	}
	return rpc.Problemf(shop.OutOfStock, "the shelf holds %d of the %d lines", held, len(lines))
}

// CommitAll is Commit for a batch of orders.
func (c *Inventory) CommitAll(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
	return c.step(ctx, "commit", all, StateReserved, StateCommitted, sell)
}

// ReleaseAll is Release for a batch of orders.
func (c *Inventory) ReleaseAll(ctx context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
	return steps.Do(ctx, c.db, "release", all, nil, c.release)
}

// release gives reservations back, and forbids those that have not come; see reserve for readFirst.
func (c *Inventory) release(
	ctx context.Context, all []*shoppb.StepRequest, readFirst bool,
) ([]steps.Outcome, error) {
	var known map[string]reservation
	if readFirst {
		var err error
		if known, err = c.reservations(ctx, steps.IDs(all)); err != nil {
			return nil, err
		}
	}
	var rows []steps.Row
	entry := steps.Entry(StateReleased)
	for _, in := range all {
		if known[in.GetOrderId()].state == "" {
			rows = append(rows, Reservation{OrderID: in.GetOrderId(), State: StateReleased, Journal: entry})
		}
	}
	if fresh, err := c.ledger.Begin(ctx, rows, nil, readFirst); err != nil {
		return nil, err
	} else if !fresh {
		return c.release(ctx, all, true)
	}
	outcomes, err := c.advance(ctx, all, known, StateReserved, StateReleased, putBack)
	if err != nil {
		return nil, err
	}
	for n, in := range all {
		if known[in.GetOrderId()].state == "" {
			outcomes[n] = steps.Outcome{}
		}
	}
	return outcomes, nil
}

// step moves the lines of orders along with their state.
func (c *Inventory) step(
	ctx context.Context, doing string, all []*shoppb.StepRequest, from, to string, shift Shift,
) ([]steps.Outcome, error) {
	move := func(ctx context.Context, all []*shoppb.StepRequest, _ bool) ([]steps.Outcome, error) {
		known, err := c.reservations(ctx, steps.IDs(all))
		if err != nil {
			return nil, err
		}
		return c.advance(ctx, all, known, from, to, shift)
	}
	return steps.Do(ctx, c.db, doing, all, nil, move)
}

// advance is step for orders whose rows are read and locked.
func (c *Inventory) advance(
	ctx context.Context, all []*shoppb.StepRequest, known map[string]reservation, from, to string,
	shift Shift,
) ([]steps.Outcome, error) {
	outcomes := make([]steps.Outcome, len(all))
	lines := int64(0)
	quantities := map[int64]int64{}
	var moving []string
	for n, in := range all {
		before := known[in.GetOrderId()]
		if before.state != from {
			outcomes[n] = c.ledger.RepeatOrConflict(in.GetOrderId(), before.state, to)
			continue
		}
		moving = append(moving, in.GetOrderId())
		for _, line := range before.lines {
			lines++
			quantities[line.GetProductId()] += line.GetQuantity()
		}
	}
	changed, err := c.ledger.Move(ctx, moving, from, to)
	if err == nil && changed != lines {
		err = rpc.Problemf(rpc.Internal, "%d of %d lines are %s: the reservations are not what was locked",
			changed, lines, to)
	}
	if err != nil {
		return nil, err
	}
	enough, moved, err := c.tables.Shift(ctx, shift, quantities)
	if err == nil && !enough {
		err = rpc.Problemf(rpc.Internal, "%d of %d products moved: the stock disagrees with the reservations",
			moved, len(quantities))
	}
	return outcomes, err
}
