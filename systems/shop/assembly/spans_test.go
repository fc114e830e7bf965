package assembly_test

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// TestAMonolithTracesCancellations: its compensations have spans, as those of other architectures.
func TestAMonolithTracesCancellations(t *testing.T) {
	design := designOf(t, architecture.Monolith, nil)
	db := shoptest.Open(t, databasetest.Fresh(t, database.SQLite),
		shop.Seed{Customers: 1, Products: 1, Stock: 9, Balance: 9e9}, shop.Components()...)
	tracer := spans.NewProvider(1)
	hosted, err := assembly.Host(design, design.Units[0], assembly.Surroundings{Tracer: tracer,
		Database: func(string) *database.DB { return db }})
	testset.Must(t, err)
	created, err := hosted.Orders.CreateOrder(t.Context(), &shoppb.CreateOrderRequest{IdempotencyKey: "a",
		CustomerId: 1, Lines: []*shoppb.Line{{ProductId: 1, Quantity: 1}}})
	testset.Must(t, err)
	ctx, root := spans.Enter(t.Context(), tracer, "POST /orders/{orderId}/cancel")
	_, err = hosted.Orders.CancelOrder(ctx, &shoppb.CancelOrderRequest{OrderId: created.GetOrder().GetOrderId()})
	root.End()
	testset.Must(t, err)
	_, calls := hostingtest.OneTrace(t, map[string]*spans.Provider{"shop": tracer})
	want := []string{"inventory Inventory/Restock", "orders Orders/CancelOrder", "payments Payments/Refund",
		"shipping Shipping/Recall"}
	if !slices.Equal(calls, want) {
		t.Errorf("the trace has the calls %q, want %q", calls, want)
	}
}
