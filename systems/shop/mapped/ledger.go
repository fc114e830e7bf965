package mapped

import (
	"context"
	"maps"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// ledger implements steps.Rows on the table of R.
type ledger[R steps.Row] struct{ store }

// mostRows is the most rows in one INSERT: databases limit the values of a statement.
const mostRows = 500

// Insert implements steps.Rows.
func (l ledger[R]) Insert(ctx context.Context, rows []steps.Row) (added int64, err error) {
	entities := make([]R, len(rows))
	for i, row := range rows {
		entities[i] = row.(R)
	}
	for some := range slices.Chunk(entities, mostRows) {
		fresh, err := l.change(ctx, func(tx *gorm.DB) *gorm.DB {
			return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&some)
		})
		if err != nil {
			return 0, err
		}
		added += fresh
	}
	return added, nil
}

// States implements steps.Rows.
func (l ledger[R]) States(ctx context.Context, orders []string) (map[string]string, error) {
	var rows []struct{ OrderID, State string }
	err := among(l.locked(ctx, "order_id").Model(new(R)), "order_id", orders, &rows)
	states := map[string]string{}
	for _, row := range rows {
		states[row.OrderID] = row.State
	}
	return states, err
}

// Move implements steps.Rows. It ignores the values of other columns: only book has some, and its own Move.
func (l ledger[R]) Move(
	ctx context.Context, orders []string, from, to string, _ ...any,
) (changed int64, err error) {
	return l.move(ctx, orders, from, to, map[string]any{})
}

// move is Move that changes other columns, too.
func (l ledger[R]) move(
	ctx context.Context, orders []string, from, to string, columns map[string]any,
) (changed int64, err error) {
	if len(orders) == 0 {
		return 0, nil
	}
	columns["state"] = to
	columns["journal"] = l.appended(steps.Entry(to))
	return l.change(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Model(new(R)).Where("state = ? AND order_id IN ?", from, orders).Updates(columns)
	})
}

// amounts calls change for each amount, in the order of their keys, and reports whether all rows had enough.
// moved is the number of rows that were changed, also if one had too little.
func amounts(
	of map[int64]int64, change func(key, amount int64) (int64, error),
) (enough bool, moved int64, err error) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		changed, err := change(key, of[key])
		if err != nil {
			return false, 0, err
		}
		moved += changed
	}
	return moved == int64(len(of)), moved, nil
}

// stock implements inventory.Tables.
type stock struct {
	ledger[inventory.Reservation]
}

func (t stock) Reserved(ctx context.Context, orders []string) (rows []inventory.Reservation, err error) {
	err = among(t.locked(ctx, "order_id, line"), "order_id", orders, &rows)
	return rows, err
}

func (t stock) OnHand(ctx context.Context, products []int64) (map[int64]int64, error) {
	var rows []inventory.Stock
	err := among(t.locked(ctx, "product_id"), "product_id", products, &rows)
	levels := map[int64]int64{}
	for _, row := range rows {
		levels[row.ProductID] = row.OnHand
	}
	return levels, err
}

func (t stock) Shift(
	ctx context.Context, shift inventory.Shift, of map[int64]int64,
) (enough bool, moved int64, err error) {
	return amounts(of, func(product, amount int64) (int64, error) {
		return t.change(ctx, func(tx *gorm.DB) *gorm.DB {
			return tx.Model(&inventory.Stock{}).Where("product_id = ? AND "+shift.From+" >= ?", product, amount).
				Updates(map[string]any{shift.From: gorm.Expr(shift.From+" - ?", amount),
					shift.To: gorm.Expr(shift.To+" + ?", amount), "version": gorm.Expr("version + 1")})
		})
	})
}

func (t stock) Stock(ctx context.Context, products []int64) (rows []inventory.Stock, err error) {
	err = among(t.read(ctx), "product_id", products, &rows)
	return rows, err
}

// accounts implements payments.Tables.
type accounts struct{ ledger[payments.Payment] }

func (t accounts) Balances(ctx context.Context, customers []int64) (map[int64]int64, error) {
	var rows []payments.Account
	err := among(t.locked(ctx, "customer_id"), "customer_id", customers, &rows)
	balances := map[int64]int64{}
	for _, row := range rows {
		balances[row.CustomerID] = row.BalanceCents
	}
	return balances, err
}

func (t accounts) Balance(ctx context.Context, customer int64) (cents int64, known bool, err error) {
	var account payments.Account
	known, err = found(t.read(ctx).Take(&account, "customer_id = ?", customer).Error)
	return account.BalanceCents, known, err
}

func (t accounts) Debit(
	ctx context.Context, of map[int64]int64,
) (enough bool, moved int64, err error) {
	return amounts(of, func(customer, amount int64) (int64, error) {
		return t.change(ctx, func(tx *gorm.DB) *gorm.DB {
			return tx.Model(&payments.Account{}).Where("customer_id = ? AND balance_cents >= ?", customer, amount).
				Update("balance_cents", gorm.Expr("balance_cents - ?", amount))
		})
	})
}

func (t accounts) Refund(ctx context.Context, order string) (changed int64, err error) {
	return t.change(ctx, func(tx *gorm.DB) *gorm.DB {
		var payment payments.Payment
		if taken := tx.Take(&payment, "order_id = ?", order); taken.Error != nil {
			return taken
		}
		return tx.Model(&payments.Account{}).Where("customer_id = ?", payment.CustomerID).
			Update("balance_cents", gorm.Expr("balance_cents + ?", payment.AmountCents))
	})
}

// parcels implements shipping.Table.
type parcels struct{ ledger[shipping.Shipment] }

func (t parcels) Shipment(
	ctx context.Context, order string,
) (shipment shipping.Shipment, known bool, err error) {
	known, err = found(t.read(ctx).Take(&shipment, "order_id = ?", order).Error)
	return shipment, known, err
}
