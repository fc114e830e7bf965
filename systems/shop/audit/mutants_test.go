package audit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/local"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

func seed() shop.Seed {
	return shop.Seed{Customers: 10, Products: 10, Stock: 40, Balance: 2_000_000, Random: 3}
}

// bench is a shop whose parts can be replaced by faulty ones.
type bench struct {
	db          *database.DB
	dbs         map[string]*database.DB
	book        *orders.Book
	components  shop.Parts
	coordinator func(orders.Coordinator) orders.Coordinator
	read        func(ctx context.Context, id string) (*shoppb.Order, error)
	// coordination is the way in which coordinator coordinates orders, for the audit.
	coordination audit.Coordination
	history      shoptest.History
}

func newBench(t *testing.T) *bench {
	db := filled(t)
	all := shoptest.On(db)
	return &bench{
		db: db, dbs: audit.InOne(db), book: all.Book, read: all.Book.Get, coordination: audit.ACID,
		coordinator: func(c orders.Coordinator) orders.Coordinator { return c },
		components: shop.Parts{Catalog: all.Catalog, Customers: all.Customers, Inventory: all.Inventory,
			Payments: all.Payments, Shipping: all.Shipping},
	}
}

// filled returns a fresh shop in a file of its own.
func filled(t *testing.T) *database.DB {
	t.Helper()
	return shoptest.Open(t, databasetest.Fresh(t, database.SQLite), seed(), shop.Components()...)
}

// play places, repeats, cancels and reads one order, as a client who records the answers.
func (b *bench) play(random *rand.Rand, number int) {
	service := orders.New(b.book, b.coordinator(local.New(b.db, b.book, b.singly(), false)))
	ctx := context.Background()
	request := &shoppb.CreateOrderRequest{
		IdempotencyKey: fmt.Sprintf("key-%d", number), CustomerId: 1 + random.Int64N(seed().Customers),
		Lines: []*shoppb.Line{{ProductId: 1 + random.Int64N(seed().Products), Quantity: 1 + random.Int64N(5)}},
	}
	var id string
	for range 1 + number%2 {
		created, err := service.CreateOrder(ctx, request)
		b.history.Add(audit.OperationCreate, request, created.GetOrder(), err)
		id = created.GetOrder().GetOrderId()
	}
	if number%4 == 0 && id != "" {
		cancelled, err := service.CancelOrder(ctx, &shoppb.CancelOrderRequest{OrderId: id})
		b.history.Add(audit.OperationCancel, nil, cancelled, err)
		seen, err := b.read(ctx, id)
		b.history.Add(audit.OperationRead, nil, seen, err)
	}
}

// singly returns the components for a coordinator that asks them for batches: their faults are
// in the steps of single orders.
func (b *bench) singly() local.Components {
	c := b.components
	return local.Components{
		Reference: coordination.Asked{Catalog: c.Catalog, Customers: c.Customers},
		Reserve:   each(c.Inventory.Reserve), Charge: each(c.Payments.Charge), Commit: each(c.Inventory.Commit),
		Ship:   each(c.Shipping.Ship),
		Recall: c.Shipping.Recall, Restock: c.Inventory.Restock, Refund: c.Payments.Refund,
	}
}

// each returns a step for batches that takes the step of each order by itself.
func each[Q, O any](step func(context.Context, Q) (O, error)) steps.Step[Q] {
	return func(ctx context.Context, all []Q) ([]steps.Outcome, error) {
		outcomes := make([]steps.Outcome, len(all))
		for i, in := range all {
			_, outcomes[i].Err = step(ctx, in)
		}
		return outcomes, nil
	}
}

func (b *bench) judge(t *testing.T) lab.Audit {
	t.Helper()
	state, err := audit.Read(context.Background(), b.dbs, false)
	testset.Must(t, err)
	return audit.Judge(audit.Input{Seed: seed(), Fresh: seed(), History: b.history, State: state,
		Coordination: b.coordination, Drained: true})
}

const ordersPerMutant = 60

// TestSoundShopIsValid: the audit finds nothing in a shop without faults, in one transaction and as a saga.
func TestSoundShopIsValid(t *testing.T) {
	for name, prepare := range map[string]func(b *bench){"acid": func(*bench) {},
		"orchestrated": func(b *bench) { b.drive(nil) }} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			prepare(b)
			random := rand.New(rand.NewPCG(1, 1))
			for n := range 4 * ordersPerMutant {
				b.play(random, n)
			}
			got := b.judge(t)
			if got.Verdict != lab.AuditValid {
				t.Fatalf("%s: %v", got.Verdict, got.Problems)
			}
			for _, kind := range []string{string(shop.StateConfirmed), string(shop.StateRejected),
				string(shop.StateCancelled), "compensations"} {
				if got.Counts[kind] == 0 {
					t.Errorf("no %s: the trial proves too little", kind)
				}
			}
		})
	}
}

// TestMutantsAreCaught plants one fault each into a running shop, and logs after how many orders the audit
// finds it. Long because it is a table.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name  string
		rule  string // that must be found broken, and the beginning of the problem
		plant func(t *testing.T, b *bench)
	}{
		{"refund is skipped", "I7", func(_ *testing.T, b *bench) {
			b.components.Payments = noRefund{b.components.Payments}
		}},
		{"refund twice", "I5", func(_ *testing.T, b *bench) {
			b.components.Payments = refundTwice{b.components.Payments, b.db}
		}},
		{"charge is not idempotent", "I5", func(_ *testing.T, b *bench) {
			b.components.Payments = chargeTwice{b.components.Payments, b.db}
		}},
		{"stock is not taken", "I6", func(_ *testing.T, b *bench) {
			b.components.Inventory = stockUntouched{b.components.Inventory, b.db}
		}},
		{"restock is skipped", "I7", func(_ *testing.T, b *bench) {
			b.components.Inventory = noRestock{b.components.Inventory}
		}},
		{"nothing is shipped", "I7", func(_ *testing.T, b *bench) {
			b.components.Shipping = noShipment{b.components.Shipping}
		}},
		{"two databases, one transaction", "I7", splitTransaction},
		{"undone in forward order", "I7 compensations not in the reverse order of their steps",
			func(_ *testing.T, b *bench) {
				b.drive(func(c orders.Coordinator) orders.Coordinator { return undoesForward{c, b.book, b.components} })
			}},
		{"a late step after its compensation", "I7 a step after its compensation", func(_ *testing.T, b *bench) {
			b.drive(nil)
			b.components.Shipping = latecomer{b.components.Shipping, ledgerOf(b.db, "shipments", "shipment")}
		}},
		{"an empty rollback", "I7 a compensation without its step (an empty rollback)",
			func(_ *testing.T, b *bench) {
				b.drive(nil)
				b.components.Shipping = &hesitant{Shipping: b.components.Shipping}
			}},
		{"compensated twice", "I7 compensated twice", func(_ *testing.T, b *bench) {
			b.drive(nil)
			b.components.Payments = forgetsRefund{b.components.Payments, ledgerOf(b.db, "payments", "payment")}
		}},
		{"paid before it is reserved", "I7 a step before the one that it depends on", func(_ *testing.T, b *bench) {
			b.drive(nil)
			b.components.Inventory = &reservesLate{Inventory: b.components.Inventory,
				asked: map[string]*shoppb.ReserveRequest{}}
		}},
		{"answer before commit", "I1", func(_ *testing.T, b *bench) {
			b.coordinator = func(c orders.Coordinator) orders.Coordinator { return answersEarly{c, b.db} }
		}},
		{"a cancellation is acknowledged and lost", "I8 was seen cancelled and is confirmed",
			func(_ *testing.T, b *bench) {
				b.coordinator = func(c orders.Coordinator) orders.Coordinator { return losesCancels{c, b.book} }
			}},
		{"a read is stale", "I8 was seen cancelled (version 2) and later confirmed (version 1)",
			func(_ *testing.T, b *bench) { b.read = withState(b.book, shop.StateCancelled, shop.StateConfirmed, 1) }},
		{"a read makes a state up", "I8 was seen rejected and is cancelled", func(_ *testing.T, b *bench) {
			b.read = withState(b.book, shop.StateCancelled, shop.StateRejected, 2)
		}},
		{"retry with a new key", "I3", func(_ *testing.T, b *bench) {
			b.coordinator = func(c orders.Coordinator) orders.Coordinator { return newKeys{c} }
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			b := newBench(t)
			m.plant(t, b)
			random := rand.New(rand.NewPCG(1, 1))
			for n := range ordersPerMutant {
				b.play(random, n)
				got := b.judge(t)
				rule, words, _ := strings.Cut(m.rule, " ")
				for _, problem := range got.Problems {
					if got.Verdict == lab.AuditInvalid && strings.HasPrefix(problem, rule+":") &&
						strings.Contains(problem, words) {
						t.Logf("caught after %d orders: %s", n+1, problem)
						return
					}
				}
			}
			t.Errorf("not caught after %d orders", ordersPerMutant)
		})
	}
}
