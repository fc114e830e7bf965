package mapped_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/mapped"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// late ends a context when a statement has changed rows, and waits until its transaction is gone.
type late struct {
	db  *database.DB
	end context.CancelFunc // nil: not yet
}

// Observe implements database.Observer.
func (l *late) Observe(ctx context.Context, s database.Statement) {
	if l.end == nil || s.Kind != database.KindExec {
		return
	}
	l.end()
	l.end = nil
	for err := error(nil); err == nil; {
		_, err = l.db.Exec(context.WithoutCancel(ctx), "UPDATE orders SET state = state WHERE 1 = 0")
	}
}

// TestAChangeThatIsTooLateIsNoFailure: a change of an order is one statement, but an ORM sends its commit
// separately. The deadline may pass in between: that is a cancellation, no failure of the shop.
func TestAChangeThatIsTooLateIsNoFailure(t *testing.T) {
	testset.Need(t, "it starts PostgreSQL")
	config := databasetest.Fresh(t, database.PostgreSQL)
	observer := &late{}
	config.Observer = observer
	observer.db = databasetest.Open(t, config)
	testset.Must(t, schema.Create(t.Context(), observer.db, shop.ComponentOrders))
	book := orders.NewBook(observer.db, mapped.Stores{}.Orders(observer.db))
	u := orders.Underway{Order: uuid.Must(uuid.NewV7()).String(), State: shop.StatePending, Lease: 1}
	err := book.Begin(t.Context(), orders.Beginning{Lease: u.Lease, Order: &shoppb.Order{OrderId: u.Order,
		IdempotencyKey: "key", CustomerId: 1, State: string(u.State), Version: 1}})
	testset.Must(t, err)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	observer.end = end
	if _, err := book.Turn(ctx, u, &shoppb.Rejection{Kind: "declined"}); !shop.IsKind(err, rpc.Cancelled) {
		t.Errorf("turn: %v, want the problem %s", err, rpc.Cancelled)
	}
	if left, err := book.Abandoned(t.Context(), 2); err != nil || len(left) != 1 || left[0].Reason != nil {
		t.Errorf("under way is %v, %v, want the order as it was", left, err)
	}
}
