// Package mapped keeps the data of the shop's components with an ORM, gorm, written as its documentation
// shows: rows are structs, statements are built of their fields at every call, the lines of orders come by a
// second query, and stock levels, balances and orders that end are changed one row at a time. The components
// decide which rows change and what is refused, as with SQL.
//
// The tables are those of package schema, with the same seed: nothing is migrated. Outboxes, inboxes and the
// table of sagas do not use the ORM. Only programs whose units need it have this package.
//
// Entry point: Stores.
package mapped

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/reference"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
)

// Stores returns the tables of the components, each in the database of its component, through gorm. It
// creates none.
type Stores struct{}

// Catalog returns the tables of the catalog.
func (Stores) Catalog(db *database.DB) catalog.Tables { return products{open(db)} }

// Customers returns the table of the customers.
func (Stores) Customers(db *database.DB) customers.Table { return buyers{open(db)} }

// Inventory returns the tables of the inventory.
func (Stores) Inventory(db *database.DB) inventory.Tables {
	return stock{ledger[inventory.Reservation]{open(db)}}
}

// Payments returns the tables of the payments.
func (Stores) Payments(db *database.DB) payments.Tables {
	return accounts{ledger[payments.Payment]{open(db)}}
}

// Shipping returns the table of the shipments.
func (Stores) Shipping(db *database.DB) shipping.Table {
	return parcels{ledger[shipping.Shipment]{open(db)}}
}

// Orders returns the tables of the orders.
func (Stores) Orders(db *database.DB) orders.Tables { return book{ledger[orders.Order]{open(db)}} }

// Replica returns the tables of the orders' replica.
func (Stores) Replica(db *database.DB) reference.Tables { return replica{open(db)} }

// store is a database as gorm sees it.
type store struct {
	db  *database.DB
	orm *gorm.DB
}

// open puts gorm on an open database. It makes no connection, so it cannot fail.
func open(db *database.DB) store {
	pool := db.Pool()
	var dialect gorm.Dialector = sqlite{pool}
	switch db.Driver() {
	case database.MariaDB:
		dialect = mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true})
	case database.PostgreSQL:
		dialect = postgres.New(postgres.Config{Conn: pool})
	}
	// gorm's transactions around single writes are off, since change makes them. gorm would log on standard
	// output, which belongs to the control protocol. The callback passes the number of rows and the error of
	// each query to the pool, which counts the rows and makes the error one of package database.
	orm, err := gorm.Open(dialect, &gorm.Config{SkipDefaultTransaction: true, DisableAutomaticPing: true,
		Logger: logger.Discard})
	if err == nil {
		err = orm.Callback().Query().After("gorm:query").Register("cleave:read", func(tx *gorm.DB) {
			if !errors.Is(tx.Error, gorm.ErrRecordNotFound) {
				tx.Error = pool.Read(tx.Statement.SQL.String(), tx.RowsAffected, tx.Error)
			}
		})
	}
	if err != nil {
		panic(fmt.Sprintf("put gorm on %s: %v", db.Driver(), err))
	}
	return store{db, orm}
}

// read returns a session in the transaction that the context carries, if any. change also writes with it.
func (s store) read(ctx context.Context) *gorm.DB { return s.orm.WithContext(ctx) }

// locked returns a session that locks the rows that it reads, in the order of a key.
func (s store) locked(ctx context.Context, key string) *gorm.DB {
	return s.read(ctx).Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Order(key)
}

// change runs work in the transaction that the context carries, or in one of its own, and returns how many
// rows the last statement of work has changed.
func (s store) change(ctx context.Context, work func(tx *gorm.DB) *gorm.DB) (rows int64, err error) {
	err = s.db.Do(ctx, func(ctx context.Context) error {
		done := work(s.read(ctx))
		rows = done.RowsAffected
		return done.Error
	})
	return rows, err
}

// appended returns the expression of the journal with a new entry.
func (s store) appended(entry string) clause.Expr { return gorm.Expr(s.db.Appended("journal"), entry) }

// among reads the rows of a query whose column has one of some values. Without values it runs no query.
func among[K any](query *gorm.DB, column string, values []K, rows any) error {
	if len(values) == 0 {
		return nil
	}
	return query.Where(column+" IN ?", values).Find(rows).Error
}

// found reports whether a query has found its row.
func found(err error) (bool, error) {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return false, nil
	}
	return err == nil, err
}
