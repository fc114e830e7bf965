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
	"github.com/cleave-lab/cleave/systems/shop/steps"
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
	db                  *database.DB
	products, customers []string // by number of rows
	shown               Shown
}

// NewReplica makes the copy on a database that has its tables. shown may be nil: nobody
// asks.
func NewReplica(db *database.DB, shown Shown) *Replica {
	return &Replica{
		db: db, shown: shown,
		products: database.TextsIn(steps.Most,
			"SELECT product_id, name, price_cents FROM known_products WHERE product_id IN", ""),
		customers: database.TextsIn(steps.Most,
			"SELECT customer_id, name, address FROM known_customers WHERE customer_id IN", ""),
	}
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
	err := database.EachOf(ctx, r.db, func(row database.Row) error {
		customer := &shoppb.Customer{}
		err := row.Scan(&customer.CustomerId, &customer.Name, &customer.Address)
		wanted[customer.GetCustomerId()] = customer
		return err
	}, r.customers, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return fmt.Errorf("look up %d customers: %w", len(wanted), err)
	}
	return nil
}

// productsInto fills in those that are wanted and known.
func (r *Replica) productsInto(ctx context.Context, wanted map[int64]*shoppb.Product) error {
	err := database.EachOf(ctx, r.db, func(row database.Row) error {
		product := &shoppb.Product{}
		err := row.Scan(&product.ProductId, &product.Name, &product.PriceCents)
		wanted[product.GetProductId()] = product
		return err
	}, r.products, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return fmt.Errorf("look up %d products: %w", len(wanted), err)
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
		price := newest[id]
		_, err := r.db.Exec(ctx,
			"UPDATE known_products SET price_cents = ?, version = ? WHERE product_id = ? AND version < ?",
			price.GetPriceCents(), price.GetVersion(), id, price.GetVersion())
		if err != nil {
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
