// Package reference is the orders' copy of the catalog's products and of the customers: names, prices,
// addresses. It is in the database of the orders, and events of the catalog keep it up to date: it costs no
// call, and may lag behind.
//
// The shop has no operation that changes a customer, so the replica has customers as the seed made them.
//
// Entry points: NewReplica; Catalog for clients.
package reference

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Products is the beginning of the documents' names for Shown; the number of the product
// follows.
const Products = "known_products/"

// Shown is called for every event after its commit: the replica has this version of a
// product, or a newer one. It must be quick.
type Shown func(document string, version, occurredUnixUs int64)

// Replica is a copy on the database of the orders.
type Replica struct {
	db     *database.DB
	tables Tables
	shown  Shown
}

// NewReplica makes the copy on the tables of a database. shown may be nil.
func NewReplica(db *database.DB, tables Tables, shown Shown) *Replica {
	return &Replica{db: db, tables: tables, shown: shown}
}

// Of looks up the customers and products of orders.
func (r *Replica) Of(ctx context.Context, orders []*shoppb.Order) (coordination.Known, error) {
	k := coordination.About(orders)
	err := r.customersInto(ctx, k.Customers)
	if err == nil {
		err = r.productsInto(ctx, k.Products)
	}
	return k, err
}

// customersInto fills in the wanted customers that are known.
func (r *Replica) customersInto(ctx context.Context, wanted map[int64]*shoppb.Customer) error {
	rows, err := r.tables.Customers(ctx, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return fmt.Errorf("look up %d customers: %w", len(wanted), err)
	}
	for _, row := range rows {
		wanted[row.CustomerID] = &shoppb.Customer{CustomerId: row.CustomerID, Name: row.Name, Address: row.Address}
	}
	return nil
}

// productsInto fills in the wanted products that are known.
func (r *Replica) productsInto(ctx context.Context, wanted map[int64]*shoppb.Product) error {
	rows, err := r.tables.Products(ctx, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return fmt.Errorf("look up %d products: %w", len(wanted), err)
	}
	for _, row := range rows {
		wanted[row.ProductID] = &shoppb.Product{ProductId: row.ProductID, Name: row.Name,
			PriceCents: row.PriceCents}
	}
	return nil
}

// Catalog is a catalog whose products clients read from the replica.
type Catalog struct {
	shop.Catalog
	Replica *Replica
}

// GetProduct implements shop.Catalog.
func (c Catalog) GetProduct(ctx context.Context, in *shoppb.GetProductRequest) (*shoppb.Product, error) {
	id := in.GetProductId()
	known := map[int64]*shoppb.Product{id: nil}
	if err := c.Replica.productsInto(ctx, known); err != nil {
		return nil, err
	}
	if known[id] == nil {
		return nil, shop.NoProduct(id)
	}
	return known[id], nil
}

// Keep applies changes in the transaction that the context carries. Only a newer version
// replaces an older one, so changes may come late, twice and in any order.
func (r *Replica) Keep(ctx context.Context, changes []*shoppb.ProductRepriced) error {
	newest := map[int64]*shoppb.Price{}
	for _, change := range changes {
		price := change.GetPrice()
		if price.GetVersion() > newest[price.GetProductId()].GetVersion() {
			newest[price.GetProductId()] = price
		}
	}
	for _, id := range slices.Sorted(maps.Keys(newest)) {
		if err := r.tables.Reprice(ctx, id, newest[id].GetPriceCents(), newest[id].GetVersion()); err != nil {
			return fmt.Errorf("keep product %d current: %w", id, err)
		}
	}
	if r.shown != nil {
		r.db.AfterCommit(ctx, func() {
			for _, change := range changes {
				price := change.GetPrice()
				product := strconv.FormatInt(price.GetProductId(), 10)
				r.shown(Products+product, price.GetVersion(), change.GetHappening().GetOccurredUnixUs())
			}
		})
	}
	return nil
}

// Handle is Keep for the messages of a queue that has no other events.
func (r *Replica) Handle(ctx context.Context, messages []broker.Message) error {
	changes := make([]*shoppb.ProductRepriced, len(messages))
	for i, m := range messages {
		e, err := events.Decode(m)
		if err != nil {
			return err
		}
		change, is := e.(*shoppb.ProductRepriced)
		if !is { // the topology is wrong
			return rpc.Problemf(rpc.Internal, "event %s is about no price", m.ID)
		}
		changes[i] = change
	}
	return r.Keep(ctx, changes)
}
