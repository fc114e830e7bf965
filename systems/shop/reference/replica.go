// Package reference is a copy of what the orders must know of the catalog's products and of the customers
// before they take an order: names, prices, addresses. It is beside the orders, and events of the catalog
// keep it current: it costs no call, and may lag behind.
//
// The shop has no operation that changes a customer, so of these the replica has what the seed gave it.
//
// Entry point: NewReplica.
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

// Products begins the names of the replica's products as Shown is told them; their
// numbers follow.
const Products = "known_products/"

// Shown is told, after the commit, that the replica has a product as an event tells of
// it, or newer: with the version that the event makes and when it happened. It must be
// quick.
type Shown func(document string, version, occurredUnixUs int64)

// Replica is a copy on the database of the orders.
type Replica struct {
	db     *database.DB
	tables Tables
	shown  Shown
}

// NewReplica makes the copy on the tables of a database. shown may be nil: nobody asks.
func NewReplica(db *database.DB, tables Tables, shown Shown) *Replica {
	return &Replica{db: db, tables: tables, shown: shown}
}

// Of looks up what some orders are about.
func (r *Replica) Of(ctx context.Context, orders []*shoppb.Order) (coordination.Known, error) {
	k := coordination.About(orders)
	err := r.customersInto(ctx, k.Customers)
	if err == nil {
		err = r.productsInto(ctx, k.Products)
	}
	return k, err
}

// customersInto fills in those that are wanted and known.
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

// productsInto fills in those that are wanted and known.
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

// Quote is shop.Catalog's, by what the replica knows.
func (r *Replica) Quote(ctx context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	known := map[int64]*shoppb.Product{}
	for _, id := range in.GetProductIds() {
		known[id] = nil
	}
	if err := r.productsInto(ctx, known); err != nil {
		return nil, err
	}
	quote := &shoppb.QuoteResponse{}
	for _, id := range in.GetProductIds() {
		if known[id] == nil {
			return nil, rpc.Problemf(shop.UnknownProduct, "there is no product %d", id)
		}
		quote.Products = append(quote.Products, known[id])
	}
	return quote, nil
}

// GetCustomer is shop.Customers', by what the replica knows: without the mail address.
func (r *Replica) GetCustomer(ctx context.Context, in *shoppb.GetCustomerRequest) (*shoppb.Customer, error) {
	known := map[int64]*shoppb.Customer{in.GetCustomerId(): nil}
	if err := r.customersInto(ctx, known); err != nil {
		return nil, err
	}
	if known[in.GetCustomerId()] == nil {
		return nil, rpc.Problemf(shop.UnknownCustomer, "there is no customer %d", in.GetCustomerId())
	}
	return known[in.GetCustomerId()], nil
}

// Keep takes changes in, in the transaction that the context carries. A newer version
// replaces an older one and never the other way round, so they may come late, twice and
// in any order.
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
		r.db.AfterCommit(ctx, func() { r.tell(changes) })
	}
	return nil
}

func (r *Replica) tell(changes []*shoppb.ProductRepriced) {
	for _, change := range changes {
		r.shown(Products+strconv.FormatInt(change.GetPrice().GetProductId(), 10), change.GetPrice().GetVersion(),
			change.GetHappening().GetOccurredUnixUs())
	}
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
