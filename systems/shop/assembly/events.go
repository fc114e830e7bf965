package assembly

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/brokered"
	"github.com/cleave-lab/cleave/systems/shop/coordination/choreographed"
	"github.com/cleave-lab/cleave/systems/shop/coordination/reacting"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/reference"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

// Declare makes the queues and collections of a design that are missing. Every unit with a broker or
// documents calls it before its work begins, since any unit may be the first.
func Declare(ctx context.Context, design architecture.Design, around Surroundings) error {
	if around.Broker != nil {
		if err := around.Broker.Declare(ctx, design.Topology()); err != nil {
			return fmt.Errorf("declare the queues of the shop: %w", err)
		}
	}
	if design.Documents != "" {
		if err := around.Documents.Declare(ctx, orderviews.Collection(), stockviews.Collection()); err != nil {
			return fmt.Errorf("declare the documents of the shop: %w", err)
		}
	}
	return nil
}

// PrepareComponent makes the tables of a component of a design and fills them with
// a fresh shop. It is called once per component, before any unit begins.
func PrepareComponent(
	ctx context.Context, design architecture.Design, component string, db *database.DB, seed shop.Seed,
) error {
	of := tablesWith(design, component)
	if design.Broker != "" {
		if err := event.CreateTables(ctx, db); err != nil {
			return err
		}
	}
	if err := schema.Create(ctx, db, of...); err != nil {
		return err
	}
	return schema.Load(ctx, db, seed, of...)
}

// PrepareDocuments makes the read models of a fresh shop, once, before any unit
// begins.
func PrepareDocuments(ctx context.Context, store document.Store, seed shop.Seed) error {
	if err := store.Declare(ctx, orderviews.Collection(), stockviews.Collection()); err != nil {
		return err
	}
	return stockviews.Fill(ctx, store, seed)
}

// sender returns the publisher of a database's events: its outbox, or dual writes. It also starts the work in
// the background that the publisher needs.
func (h *host) sender(db *database.DB) reacting.Sender {
	if known, ok := h.senders[db]; ok {
		return known
	}
	if h.senders == nil {
		h.senders = map[*database.DB]reacting.Sender{}
	}
	if h.design.Publishing == architecture.DualWrite {
		made := event.NewDualWrite(db, h.around.Broker, h.design.Topology())
		made.Tracer = h.around.Tracer
		h.senders[db] = made
		h.Background = append(h.Background, made.Run)
		return made
	}
	made := event.NewOutbox(db, cmp.Or(h.around.Process, h.unit.Name), h.design.Topology())
	h.senders[db] = made
	relay := event.NewRelay(made, h.around.Broker)
	relay.Tracer = h.around.Tracer
	h.Background = append(h.Background, relay.Run)
	return made
}

// replica returns the orders' copy of catalog and customers; nil if they have none.
func (h *host) replica(db *database.DB) *reference.Replica {
	if h.design.Reference != architecture.Replicated {
		return nil
	}
	return reference.NewReplica(db, h.stores.Replica(db), h.around.Shown)
}

// catalog returns the catalog, which publishes its changes if the orders have a replica.
func (h *host) catalog(db *database.DB) shop.Catalog {
	component := catalog.New(db, h.stores.Catalog(db))
	if h.design.Reference == architecture.Replicated {
		sender := h.sender(db)
		component.OnReprice(func(ctx context.Context, change *shoppb.ProductRepriced) error {
			m, err := events.Encode(change, time.Now())
			if err != nil {
				return err
			}
			return sender.Add(ctx, m)
		})
	}
	return component
}

// reactions holds, for each component, the function that makes its handler of messages.
type reactions struct {
	inventory func(*database.DB, reacting.Stock, reacting.Sender, bool) reacting.Handler
	payments  func(*database.DB, coordination.Payments, reacting.Sender) reacting.Handler
	shipping  func(*database.DB, coordination.Shipping, reacting.Sender) reacting.Handler
	orders    func(*database.DB, *orders.Book, reacting.Sender,
		func(context.Context, []*shoppb.ProductRepriced) error) reacting.Handler
}

// listen subscribes the components of this unit to their messages. Without a saga over the broker only the
// orders' replica has some.
func (h *host) listen() {
	var react reactions
	switch h.design.Coordination {
	case architecture.Choreographed:
		react = reactions{choreographed.Inventory, choreographed.Payments, choreographed.Shipping,
			choreographed.Orders}
	case architecture.Brokered:
		react = reactions{brokered.Inventory, brokered.Payments, brokered.Shipping, brokered.Orders}
	default:
		if h.Hosts(shop.ComponentOrders) {
			db := h.around.Database(shop.ComponentOrders)
			h.subscribe(shop.ComponentOrders, db, h.replica(db).Handle)
		}
		return
	}
	views := h.design.Views == architecture.FromDocuments
	for _, component := range h.unit.Components {
		var db *database.DB // nil for read models, which have no tables
		if slices.Contains(shop.Components(), component) {
			db = h.around.Database(component)
		}
		switch component {
		case shop.ComponentInventory:
			h.subscribe(component, db, react.inventory(db, h.stock, h.sender(db), views))
		case shop.ComponentPayments:
			h.subscribe(component, db, react.payments(db, h.accounts, h.sender(db)))
		case shop.ComponentShipping:
			h.subscribe(component, db, react.shipping(db, h.parcels, h.sender(db)))
		case shop.ComponentOrders: // without a replica no price comes
			h.subscribe(component, db, react.orders(db, h.book(db), h.sender(db), h.replica(db).Keep))
		case shop.ComponentOrderViews:
			h.subscribe(component, db, orderviews.FromDocuments(h.around.Documents, h.around.Shown).Apply)
		case shop.ComponentStockViews:
			h.subscribe(component, db, stockviews.FromDocuments(h.around.Documents, h.around.Shown).Apply)
		}
	}
}

// subscribe passes the messages of a component's queue to its handler.
func (h *host) subscribe(component string, db *database.DB, handle event.Handler) {
	s := event.Subscriber{Database: db, Source: h.around.Broker, Queue: component, Handle: handle,
		Prefetch: h.design.Prefetch, Tracer: h.around.Tracer}
	if !h.design.Batching {
		s.Batch = 1 // a transaction for each message
	}
	h.Background = append(h.Background, s.Run)
}
