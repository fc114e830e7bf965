package orders

import (
	"context"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// bySQL implements Tables.
type bySQL struct {
	steps.Table
	db      *database.DB
	journal string   // assignment of an UPDATE
	lines   []string // INSERT by number of lines
	arrive  []string // UPDATE to the final state, by number of orders
	leases  []string // SELECT, and lock, by number of orders
}

// lineColumns is the number of values of a line.
const lineColumns = 6

// BySQL returns the tables in a database.
func BySQL(db *database.DB) Tables {
	journal := db.Append("journal")
	return bySQL{
		db: db, journal: journal,
		Table: steps.NewTable(db, "orders", columnKind+" = ?, "+columnDetail+" = ?, version = version + 1, "+
			columnLease+" = ?").Of(steps.Most, "order_id", "idempotency_key", "customer_id", "total_cents",
			columnState, columnKind, columnDetail, "version", "created_unix_us", columnLease, "journal"),
		lines: database.Texts(shop.MaxLines, func(n int) string {
			return "INSERT INTO order_lines (order_id, line, product_id, name, quantity, unit_price_cents) VALUES " +
				database.Values(n, lineColumns)
		}),
		arrive: database.Texts(steps.Most, func(n int) string {
			return "UPDATE orders SET state = ?, version = version + 1, lease_until_us = NULL, " + journal +
				" WHERE " +
				strings.TrimSuffix(strings.Repeat("order_id = ? AND lease_until_us = ? OR ", n), " OR ")
		}),
		leases: database.TextsIn(steps.Most,
			"SELECT order_id, lease_until_us FROM orders WHERE lease_until_us IS NOT NULL AND order_id IN",
			db.ForUpdate("order_id")),
	}
}

func (t bySQL) InsertLines(ctx context.Context, lines []OrderLine) error {
	values := make([]any, 0, lineColumns*len(lines))
	for _, l := range lines {
		values = append(values, l.OrderID, l.Line, l.ProductID, l.Name, l.Quantity, l.UnitPriceCents)
	}
	_, err := t.db.ExecRows(ctx, t.lines, lineColumns, values)
	return err
}

func (t bySQL) Arrive(ctx context.Context, all []Underway, to shop.State) (moved int64, err error) {
	for part := range slices.Chunk(all, steps.Most) {
		args := []any{string(to), steps.Entry(string(to))}
		for _, u := range part {
			args = append(args, u.Order, u.Lease)
		}
		some, err := t.db.Exec(ctx, t.arrive[len(part)], args...)
		if err != nil {
			return 0, err
		}
		moved += some
	}
	return moved, nil
}

func (t bySQL) Leases(ctx context.Context, orders []string) (map[string]int64, error) {
	return database.Pairs[string, int64](ctx, t.db, t.leases, orders)
}

func (t bySQL) Change(ctx context.Context, u Underway, change Change) (changed int64, err error) {
	var set []string
	var args []any
	for _, column := range change.Columns {
		set = append(set, column.Name+" = ?")
		args = append(args, column.Value)
	}
	if change.NewVersion {
		set = append(set, "version = version + 1")
	}
	if change.Entry != "" {
		set = append(set, t.journal)
		args = append(args, change.Entry)
	}
	return t.db.Exec(ctx, "UPDATE orders SET "+strings.Join(set, ", ")+
		" WHERE order_id = ? AND lease_until_us = ? AND state = ?",
		append(args, u.Order, u.Lease, string(u.State))...)
}

func (t bySQL) Hold(ctx context.Context, id string, in shop.State, lease int64) (held int64, err error) {
	return t.db.Exec(ctx, "UPDATE orders SET lease_until_us = ? WHERE order_id = ? AND state = ? "+
		"AND lease_until_us IS NULL", lease, id, string(in))
}

func (t bySQL) Standing(ctx context.Context, id string) (Underway, error) {
	u := Underway{Order: id}
	_, err := t.db.One(ctx, []any{&u.State, &u.Lease},
		"SELECT state, COALESCE(lease_until_us, 0) FROM orders WHERE order_id = ?", id)
	return u, err
}

func (t bySQL) Abandoned(ctx context.Context, now int64, limit int) ([]Underway, error) {
	var found []Underway
	err := t.db.Each(ctx, func(row database.Row) error {
		u := Underway{}
		reason := &shoppb.Rejection{}
		if err := row.Scan(&u.Order, &u.State, &reason.Kind, &reason.Detail, &u.Lease); err != nil {
			return err
		}
		if reason.Kind != "" {
			u.Reason = reason
		}
		found = append(found, u)
		return nil
	}, "SELECT order_id, state, rejection_kind, rejection_detail, lease_until_us FROM orders WHERE "+
		"lease_until_us < ? ORDER BY lease_until_us LIMIT ?",
		now, limit)
	return found, err
}

func (t bySQL) ByID(ctx context.Context, id string) ([]*shoppb.Order, error) {
	return t.read(ctx, "SELECT * FROM orders WHERE order_id = ?", id)
}

func (t bySQL) ByKey(ctx context.Context, key string) ([]*shoppb.Order, error) {
	return t.read(ctx, "SELECT * FROM orders WHERE idempotency_key = ?", key)
}

func (t bySQL) OfCustomer(
	ctx context.Context, customer int64, before string, limit int,
) ([]*shoppb.Order, error) {
	return t.read(ctx,
		"SELECT * FROM orders WHERE customer_id = ? AND order_id < ? ORDER BY order_id DESC LIMIT ?",
		customer, before, limit)
}

// read returns the orders that a query on the table selects, with their lines, the
// newest first.
func (t bySQL) read(ctx context.Context, which string, args ...any) ([]*shoppb.Order, error) {
	var orders []*shoppb.Order
	err := t.db.Each(ctx, func(row database.Row) error {
		order := &shoppb.Order{}
		line := &shoppb.OrderLine{}
		rejection := &shoppb.Rejection{}
		err := row.Scan(&order.OrderId, &order.IdempotencyKey, &order.CustomerId, &order.TotalCents, &order.State,
			&rejection.Kind, &rejection.Detail, &order.Version, &order.CreatedUnixUs,
			&line.ProductId, &line.Name, &line.Quantity, &line.UnitPriceCents)
		if err != nil {
			return err
		}
		if last := len(orders) - 1; last >= 0 && orders[last].OrderId == order.OrderId {
			order = orders[last]
		} else {
			orders = append(orders, order)
		}
		if order.State == string(shop.StateRejected) {
			order.Rejection = rejection
		}
		order.Lines = append(order.Lines, line)
		return nil
	}, `SELECT o.order_id, o.idempotency_key, o.customer_id, o.total_cents, o.state, o.rejection_kind,
 o.rejection_detail, o.version, o.created_unix_us, l.product_id, l.name, l.quantity, l.unit_price_cents
FROM (`+which+`) o JOIN order_lines l ON l.order_id = o.order_id ORDER BY o.order_id DESC, l.line`, args...)
	return orders, err
}
