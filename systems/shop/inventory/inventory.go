// Package inventory is the component that holds the stock. What lies on the shelf
// is either reserved and then sold, or goes back: on hand, reserved and sold always
// add up to what there was. It knows no orders beyond their ids.
package inventory

import (
	"context"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
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

// reservationColumns is how many values a reservation is written with.
const reservationColumns = 6

// Inventory implements shop.Inventory on its tables.
type Inventory struct {
	db     *database.DB
	ledger steps.Ledger
	record []string // INSERT by number of lines
	take   []string // from the shelf, by number of lines
	sell   []string
	put    []string // back, from the reserved
	unsell []string // back, from the sold
	levels []string // SELECT by number of products
}

var _ shop.Inventory = (*Inventory)(nil)

// New makes the component on its database.
func New(db *database.DB) *Inventory {
	keep := db.KeepExisting("order_id")
	return &Inventory{
		db:     db,
		ledger: steps.NewLedger(db, "reservations", "reservation"),
		record: database.Texts(shop.MaxLines, func(n int) string {
			return "INSERT INTO reservations (order_id, line, product_id, quantity, state, journal) VALUES " + database.Values(n, reservationColumns) + keep
		}),
		take:   moves(db, "on_hand", "reserved"),
		sell:   moves(db, "reserved", "sold"),
		put:    moves(db, "reserved", "on_hand"),
		unsell: moves(db, "sold", "on_hand"),
		levels: database.Texts(levelsAtOnce, func(n int) string {
			return "SELECT product_id, on_hand, reserved, sold, version FROM stock WHERE product_id IN (" + database.Placeholders(n) + ")"
		}),
	}
}

// Reserve implements shop.Inventory.
func (c *Inventory) Reserve(ctx context.Context, in *shoppb.ReserveRequest) (*shoppb.StepResponse, error) {
	order, lines := in.GetOrderId(), in.GetLines()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	if err := shop.CheckLines(lines); err != nil {
		return nil, err
	}
	answer := &shoppb.StepResponse{}
	err := c.db.Do(ctx, func(ctx context.Context) error {
		added, err := c.insert(ctx, order, StateReserved, lines)
		if err != nil {
			return err
		}
		answer.Repeat = added < int64(len(lines))
		if answer.Repeat {
			return c.ledger.Expect(ctx, order, StateReserved, StateCommitted)
		}
		return c.fromShelf(ctx, lines)
	})
	return answer, steps.Named("reserve", order, err)
}

// insert records the lines and returns how many of them are new.
func (c *Inventory) insert(ctx context.Context, order, state string, lines []*shoppb.Line) (int64, error) {
	args := make([]any, 0, reservationColumns*len(lines))
	entry := steps.Entry(state)
	for i, line := range lines {
		args = append(args, order, i, line.GetProductId(), line.GetQuantity(), state, entry)
	}
	return c.db.Exec(ctx, c.record[len(lines)], args...)
}

// fromShelf takes all lines or fails; the caller's transaction then undoes what
// was taken.
func (c *Inventory) fromShelf(ctx context.Context, lines []*shoppb.Line) error {
	taken, err := c.move(ctx, c.take, lines)
	if err != nil || taken == int64(len(lines)) {
		return err
	}
	return outOfStock(lines, taken)
}

// outOfStock says that there is enough for some of the lines only.
func outOfStock(lines []*shoppb.Line, there int64) error {
	if len(lines) == 1 {
		return shop.Problemf(shop.OutOfStock, "product %d: the shelf does not hold %d", lines[0].GetProductId(), lines[0].GetQuantity())
	}
	return shop.Problemf(shop.OutOfStock, "the shelf holds %d of the %d lines", there, len(lines))
}

// Commit implements shop.Inventory.
func (c *Inventory) Commit(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.step(ctx, "commit", in.GetOrderId(), StateReserved, StateCommitted, c.sell)
}

// Restock implements shop.Inventory.
func (c *Inventory) Restock(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return c.step(ctx, "restock", in.GetOrderId(), StateCommitted, StateRestocked, c.unsell)
}

// Release implements shop.Inventory.
func (c *Inventory) Release(ctx context.Context, in *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	order := in.GetOrderId()
	if err := shop.CheckOrderID(order); err != nil {
		return nil, err
	}
	var answer *shoppb.StepResponse
	err := c.db.Do(ctx, func(ctx context.Context) error {
		added, err := c.insert(ctx, order, StateReleased, []*shoppb.Line{{}})
		if err != nil || added > 0 {
			answer = &shoppb.StepResponse{}
			return err
		}
		answer, err = c.step(ctx, "release", order, StateReserved, StateReleased, c.put)
		return err
	})
	return answer, steps.Named("release", order, err)
}

// step moves the lines of an order along with its state.
func (c *Inventory) step(ctx context.Context, doing, order, from, to string, texts []string) (*shoppb.StepResponse, error) {
	return c.ledger.Step(ctx, doing, order, from, to, func(ctx context.Context) error {
		lines, err := c.lines(ctx, order)
		if err != nil {
			return err
		}
		changed, err := c.move(ctx, texts, lines)
		if err == nil && changed != int64(len(lines)) {
			return shop.Problemf(shop.Internal, "%d of %d lines moved: the stock disagrees with the reservations", changed, len(lines))
		}
		return err
	})
}

// lines reads what an order has reserved.
func (c *Inventory) lines(ctx context.Context, order string) ([]*shoppb.Line, error) {
	var lines []*shoppb.Line
	err := c.db.Each(ctx, func(row database.Row) error {
		line := &shoppb.Line{}
		lines = append(lines, line)
		return row.Scan(&line.ProductId, &line.Quantity)
	}, "SELECT product_id, quantity FROM reservations WHERE order_id = ?", order)
	return lines, err
}
