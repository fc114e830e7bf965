package mapped

import (
	"context"

	"gorm.io/gorm"

	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/reference"
)

// products implements catalog.Tables.
type products struct{ store }

func (t products) Products(ctx context.Context, ids []int64) (rows []catalog.Product, err error) {
	err = among(t.read(ctx), "product_id", ids, &rows)
	return rows, err
}

func (t products) Beyond(
	ctx context.Context, name string, product int64, before string, limit int,
) (rows []catalog.Product, err error) {
	err = t.read(ctx).Where("search_name < ? AND (search_name > ? OR search_name = ? AND product_id > ?)",
		before, name, name, product).Order("search_name, product_id").Limit(limit).Find(&rows).Error
	return rows, err
}

func (t products) Reprice(ctx context.Context, id, cents int64) (changed int64, err error) {
	return t.change(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Model(&catalog.Product{}).Where("product_id = ? AND price_cents <> ?", id, cents).
			Updates(map[string]any{"price_cents": cents, "version": gorm.Expr("version + 1")})
	})
}

func (t products) Note(ctx context.Context, price catalog.Price) error {
	_, err := t.change(ctx, func(tx *gorm.DB) *gorm.DB { return tx.Create(&price) })
	return err
}

// buyers implements customers.Table.
type buyers struct{ store }

func (t buyers) Customers(ctx context.Context, ids []int64) (rows []customers.Customer, err error) {
	err = among(t.read(ctx), "customer_id", ids, &rows)
	return rows, err
}

// replica implements reference.Tables.
type replica struct{ store }

func (t replica) Products(ctx context.Context, ids []int64) (rows []reference.KnownProduct, err error) {
	err = among(t.read(ctx), "product_id", ids, &rows)
	return rows, err
}

func (t replica) Customers(ctx context.Context, ids []int64) (rows []reference.KnownCustomer, err error) {
	err = among(t.read(ctx), "customer_id", ids, &rows)
	return rows, err
}

func (t replica) Reprice(ctx context.Context, id, cents, version int64) error {
	_, err := t.change(ctx, func(tx *gorm.DB) *gorm.DB {
		return tx.Model(&reference.KnownProduct{}).Where("product_id = ? AND version < ?", id, version).
			Updates(map[string]any{"price_cents": cents, "version": version})
	})
	return err
}
