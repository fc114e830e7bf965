package mapped

import (
	"context"

	"gorm.io/gorm"

	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// book implements orders.Tables.
type book struct{ ledger[orders.Order] }

// Move implements orders.Tables. also holds the kind and the detail of a rejection, and the lease.
func (t book) Move(
	ctx context.Context, all []string, from, to string, also ...any,
) (changed int64, err error) {
	return t.move(ctx, all, from, to, map[string]any{"rejection_kind": also[0], "rejection_detail": also[1],
		"lease_until_us": also[2], "version": gorm.Expr("version + 1")})
}

func (t book) InsertLines(ctx context.Context, lines []orders.OrderLine) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := t.change(ctx, func(tx *gorm.DB) *gorm.DB { return tx.Create(&lines) })
	return err
}

func (t book) Arrive(ctx context.Context, all []orders.Underway, to shop.State) (moved int64, err error) {
	for _, u := range all {
		some, err := t.change(ctx, func(tx *gorm.DB) *gorm.DB {
			return tx.Model(&orders.Order{}).Where("order_id = ? AND lease_until_us = ?", u.Order, u.Lease).
				Updates(map[string]any{"state": string(to), "version": gorm.Expr("version + 1"), "lease_until_us": nil,
					"journal": t.appended(steps.Entry(string(to)))})
		})
		if err != nil {
			return 0, err
		}
		moved += some
	}
	return moved, nil
}

func (t book) Leases(ctx context.Context, ids []string) (map[string]int64, error) {
	var rows []orders.Order
	err := t.locked(ctx, "order_id").Where("lease_until_us IS NOT NULL AND order_id IN ?", ids).Find(&rows).Error
	leases := map[string]int64{}
	for _, row := range rows {
		leases[row.OrderID] = row.Underway().Lease
	}
	return leases, err
}

func (t book) Change(
	ctx context.Context, u orders.Underway, change orders.Change,
) (changed int64, err error) {
	columns := map[string]any{}
	for _, column := range change.Columns {
		columns[column.Name] = column.Value
	}
	if change.NewVersion {
		columns["version"] = gorm.Expr("version + 1")
	}
	if change.Entry != "" {
		columns["journal"] = t.appended(change.Entry)
	}
	return t.change(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Model(&orders.Order{}).Where("order_id = ? AND lease_until_us = ? AND state = ?", u.Order,
			u.Lease, string(u.State)).Updates(columns)
	})
}

func (t book) Hold(ctx context.Context, id string, in shop.State, lease int64) (held int64, err error) {
	return t.change(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Model(&orders.Order{}).
			Where("order_id = ? AND state = ? AND lease_until_us IS NULL", id, string(in)).
			Update("lease_until_us", lease)
	})
}

func (t book) Standing(ctx context.Context, id string) (orders.Underway, error) {
	var order orders.Order
	known, err := found(t.read(ctx).Take(&order, "order_id = ?", id).Error)
	if !known {
		return orders.Underway{Order: id}, err
	}
	return order.Underway(), nil
}

func (t book) Abandoned(ctx context.Context, now int64, limit int) ([]orders.Underway, error) {
	var rows []orders.Order
	err := t.read(ctx).Where("lease_until_us < ?", now).Order("lease_until_us").Limit(limit).Find(&rows).Error
	var abandoned []orders.Underway
	for _, row := range rows {
		abandoned = append(abandoned, row.Underway())
	}
	return abandoned, err
}

func (t book) ByID(ctx context.Context, id string) ([]*shoppb.Order, error) {
	return messages(t.withLines(ctx).Where("order_id = ?", id))
}

func (t book) ByKey(ctx context.Context, key string) ([]*shoppb.Order, error) {
	return messages(t.withLines(ctx).Where("idempotency_key = ?", key))
}

func (t book) OfCustomer(
	ctx context.Context, customer int64, before string, limit int,
) ([]*shoppb.Order, error) {
	return messages(t.withLines(ctx).Where("customer_id = ? AND order_id < ?", customer, before).
		Order("order_id DESC").Limit(limit))
}

// withLines returns a session that reads orders with their lines by a second query.
func (t book) withLines(ctx context.Context) *gorm.DB {
	return t.read(ctx).Preload("Lines", func(tx *gorm.DB) *gorm.DB { return tx.Order("line") })
}

// messages returns the orders of a query as messages.
func messages(query *gorm.DB) ([]*shoppb.Order, error) {
	var rows []orders.Order
	err := query.Find(&rows).Error
	all := make([]*shoppb.Order, len(rows))
	for i, row := range rows {
		all[i] = row.Message()
	}
	return all, err
}
