package assembly

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/cached"
	"github.com/cleave-lab/cleave/systems/shop/coordination/brokered"
	"github.com/cleave-lab/cleave/systems/shop/coordination/choreographed"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/coordination/orchestrated"
	"github.com/cleave-lab/cleave/systems/shop/coordination/reacting"
	"github.com/cleave-lab/cleave/systems/shop/coordination/twophase"
	"github.com/cleave-lab/cleave/systems/shop/customers"
	"github.com/cleave-lab/cleave/systems/shop/inventory"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/payments"
	"github.com/cleave-lab/cleave/systems/shop/reference"
	"github.com/cleave-lab/cleave/systems/shop/shipping"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

// Surroundings hold the databases, callees and services around a unit.
type Surroundings struct {
	// Database returns the database of a component that the unit hosts. Components that share one get the
	// same handle: that lets them share a transaction.
	Database func(component string) *database.DB
	// Call returns a client of the unit that hosts a component.
	Call func(component string) grpc.ClientConnInterface
	// Broker carries events, if the design has a broker; Documents keep read models, if it has any. Both must
	// be declared, see Declare.
	Broker    broker.Client
	Documents document.Store
	// Tracer makes the spans of messages; nil: neither messages nor calls have spans.
	Tracer trace.TracerProvider
	// Final is called with an order when the commit that made it final has just returned. Shown is called when
	// the document of a read model shows a version, which was made in microseconds since 1970, or a newer one.
	// Both must be quick, and may be nil.
	Final func(order string)
	Shown func(document string, version, occurredUnixUs int64)
	// Mapped makes the tables of components by an ORM; nil in programs that have none.
	Mapped Stores
	// Process names this process among all of the shop, the same after a restart;
	// empty means the unit's name, which is enough for one replica.
	Process string
}

// Hosted is a unit of the shop that is joined and does not run yet.
type Hosted struct {
	shop.Parts
	// Offers registers each component that the unit hosts with a binding.
	Offers []func(grpc.ServiceRegistrar)
	// Background is work that goes on beside the requests until the context ends.
	Background []func(ctx context.Context, logError func(error))
}

// Host joins the components that a unit hosts with clients of all others.
func Host(design architecture.Design, unit architecture.Unit, around Surroundings) (Hosted, error) {
	stores, err := around.stores(design)
	if err != nil {
		return Hosted{}, fmt.Errorf("unit %s: %w", unit.Name, err)
	}
	h := host{design: design, unit: unit, around: around, stores: stores}
	lacksBroker := design.NeedsBroker(unit) && around.Broker == nil
	lacksDocuments := design.Documents != "" && around.Documents == nil
	if lacksBroker || lacksDocuments {
		return Hosted{}, fmt.Errorf("unit %s: its broker %q or document store %q was not opened", unit.Name,
			design.Broker, design.Documents)
	}
	h.Catalog = place(&h, shop.ComponentCatalog, h.catalog, shoppb.OfferCatalog, shoppb.CallCatalog,
		shoppb.FollowCatalog)
	h.Customers = place(&h, shop.ComponentCustomers,
		func(db *database.DB) shop.Customers { return customers.New(stores.Customers(db)) },
		shoppb.OfferCustomers, shoppb.CallCustomers, shoppb.FollowCustomers)
	h.Inventory = place(&h, shop.ComponentInventory, h.inventory, shoppb.OfferInventory, shoppb.CallInventory,
		shoppb.FollowInventory)
	h.Payments = place(&h, shop.ComponentPayments, h.payments, shoppb.OfferPayments, shoppb.CallPayments,
		shoppb.FollowPayments)
	h.Shipping = place(&h, shop.ComponentShipping, h.shipping, shoppb.OfferShipping, shoppb.CallShipping,
		shoppb.FollowShipping)
	h.placeViews()
	h.takePart()
	var refused error
	h.Orders = place(&h, shop.ComponentOrders, func(db *database.DB) shop.Orders {
		book := h.book(db)
		coordinator, err := h.coordinator(db, book)
		refused = err
		return orders.New(book, coordinator)
	}, shoppb.OfferOrders, shoppb.CallOrders, shoppb.FollowOrders)
	if design.NeedsBroker(unit) {
		h.listen()
	}
	if h.Hosts(shop.ComponentOrders) {
		h.placeCopies()
	}
	return h.Hosted, refused
}

// book returns the book of orders, which is watched.
func (h *host) book(db *database.DB) *orders.Book {
	return orders.NewBook(db, h.stores.Orders(db)).Watch(h.around.Final)
}

// batches reports whether calls that come at the same time share a transaction. Only where the orders drive
// a saga do steps come one by one.
func (h *host) batches() bool {
	return h.design.Coordination == architecture.Orchestrated && h.design.Batching
}

func (h *host) inventory(db *database.DB) shop.Inventory {
	h.stock = inventory.New(db, h.stores.Inventory(db), h.batches())
	return h.stock
}

func (h *host) payments(db *database.DB) shop.Payments {
	h.accounts = payments.New(db, h.stores.Payments(db), h.batches())
	return h.accounts
}

func (h *host) shipping(db *database.DB) shop.Shipping {
	h.parcels = shipping.New(db, h.stores.Shipping(db), h.batches())
	return h.parcels
}

// placeViews places the components of the read side: views of tables beside the owners of the tables, views
// of documents in their own units.
func (h *host) placeViews() {
	if h.design.Views == architecture.FromDocuments {
		h.StockViews = hosting.Join(h, shop.ComponentStockViews,
			func() shop.StockViews { return stockviews.FromDocuments(h.around.Documents, nil) },
			shoppb.OfferStockViews, shoppb.CallStockViews, shoppb.FollowStockViews)
		h.OrderViews = hosting.Join(h, shop.ComponentOrderViews,
			func() shop.OrderViews { return orderviews.FromDocuments(h.around.Documents, nil) },
			shoppb.OfferOrderViews, shoppb.CallOrderViews, shoppb.FollowOrderViews)
		return
	}
	h.StockViews = place(h, shop.ComponentInventory,
		func(db *database.DB) shop.StockViews { return stockviews.FromTables(h.stores.Inventory(db)) },
		shoppb.OfferStockViews, shoppb.CallStockViews, shoppb.FollowStockViews)
	h.OrderViews = place(h, shop.ComponentOrders,
		func(db *database.DB) shop.OrderViews {
			return orderviews.FromBook(orders.NewBook(db, h.stores.Orders(db)))
		}, shoppb.OfferOrderViews, shoppb.CallOrderViews, shoppb.FollowOrderViews)
}

// placeCopies lets the unit in front answer from a cache, or from the orders' copy of the catalog. It comes
// last, because the prices of orders come from neither.
func (h *host) placeCopies() {
	replica := h.replica(h.around.Database(shop.ComponentOrders))
	switch {
	case h.design.Views == architecture.FromCache:
		h.Catalog = cached.NewCatalog(h.Catalog, h.Hosts(shop.ComponentCatalog))
		h.StockViews = cached.NewStockViews(h.StockViews)
	case h.design.Views == architecture.FromDocuments && replica != nil:
		h.Catalog = reference.Catalog{Catalog: h.Catalog, Replica: replica}
	}
}

// host is a unit while it is being joined.
type host struct {
	Hosted
	design architecture.Design
	unit   architecture.Unit
	around Surroundings
	stores Stores

	// nil if another unit hosts them.
	stock    *inventory.Inventory
	accounts *payments.Payments
	parcels  *shipping.Shipping

	senders map[*database.DB]reacting.Sender
	// The participants of two-phase commits, by component.
	participants map[string]shoppb.Participant
}

// place returns a component: on its database if this unit hosts it, else its client.
func place[C any](
	h *host, component string, here func(*database.DB) C, offer func(grpc.ServiceRegistrar, C),
	call func(grpc.ClientConnInterface) C, follow func(C, hosting.Begin) C,
) C {
	onDatabase := func() C { return here(h.around.Database(component)) }
	return hosting.Join(h, component, onDatabase, offer, call, follow)
}

// Hosts implements hosting.Host.
func (h *host) Hosts(component string) bool { return h.unit.Hosts(component) }

// Call implements hosting.Host.
func (h *host) Call(component string) grpc.ClientConnInterface { return h.around.Call(component) }

// Offer implements hosting.Host.
func (h *host) Offer(register func(grpc.ServiceRegistrar)) { h.Offers = append(h.Offers, register) }

// Traced implements hosting.Host.
func (h *host) Traced() bool { return h.around.Tracer != nil }

// coordinator returns the coordinator of the orders of this unit.
func (h *host) coordinator(db *database.DB, book *orders.Book) (orders.Coordinator, error) {
	switch h.design.Coordination {
	case architecture.ACID:
		return local.New(db, book, h.together(), h.design.Batching), nil
	case architecture.Orchestrated:
		saga := orchestrated.New(db, book, h.reference(db), h.Parts, h.design.Batching)
		h.Background = append(h.Background, saga.Run)
		return saga, nil
	case architecture.TwoPhase:
		coordinator := twophase.New(book, h.reference(db), h.coordinated())
		h.Background = append(h.Background, coordinator.Run)
		return coordinator, nil
	case architecture.Brokered, architecture.Choreographed:
		begin := choreographed.New
		if h.design.Coordination == architecture.Brokered {
			begin = brokered.New
		}
		return begin(db, book, h.sender(db), h.reference(db), h.design.Batching), nil
	}
	return nil, fmt.Errorf("coordination %q: %w", h.design.Coordination, errors.ErrUnsupported)
}
