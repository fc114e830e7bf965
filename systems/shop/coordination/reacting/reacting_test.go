package reacting_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/brokered"
	"github.com/cleave-lab/cleave/systems/shop/coordination/choreographed"
	"github.com/cleave-lab/cleave/systems/shop/coordination/reacting"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/reference"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

func seed() shop.Seed {
	return shop.Seed{Customers: 6, Products: 4, Stock: 100, Balance: 400_000, Random: 3}
}

// bus carries events between the components of one shop, in any order and as often
// as a test likes. There is no inbox: the components must bear repetitions alone.
type bus struct {
	db       *database.DB
	topology broker.Topology
	handlers map[string]func(context.Context, []broker.Message) error
	waiting  []delivery
	seen     map[[3]string]bool // consumer, earlier type, later type: of one order
	last     map[[2]string][]string
}

// delivery is a message on its way to one consumer.
type delivery struct {
	to      string
	message broker.Message
}

// Add implements reacting.Sender.
func (b *bus) Add(ctx context.Context, messages ...broker.Message) error {
	b.db.AfterCommit(ctx, func() {
		for _, m := range messages {
			for _, queue := range b.topology.Queues {
				if slices.Contains(queue.Types, m.Type) {
					b.waiting = append(b.waiting, delivery{queue.Name, m})
				}
			}
		}
	})
	return nil
}

// deliver hands over up to some messages that wait for one consumer, chosen at
// random; each is kept for a repetition now and then.
func (b *bus) deliver(t *testing.T, random *rand.Rand, repeat bool) {
	t.Helper()
	random.Shuffle(len(b.waiting), func(i, j int) { b.waiting[i], b.waiting[j] = b.waiting[j], b.waiting[i] })
	to := b.waiting[0].to
	var batch []broker.Message
	var rest []delivery
	for _, d := range b.waiting {
		if d.to != to || len(batch) == 3 {
			rest = append(rest, d)
			continue
		}
		batch = append(batch, d.message)
		b.note(d)
		if repeat && random.IntN(4) == 0 {
			rest = append(rest, d)
		}
	}
	b.waiting = rest
	b.hand(t, to, batch)
}

// hand does what binding/event does: one transaction for all, and once more where
// the handler wants that.
func (b *bus) hand(t *testing.T, to string, batch []broker.Message) {
	t.Helper()
	work := func(ctx context.Context) error { return b.handlers[to](ctx, batch) }
	err := b.db.Do(t.Context(), work)
	if errors.Is(err, event.ErrAgain) {
		err = b.db.Do(t.Context(), work)
	}
	if err != nil {
		t.Fatalf("%s cannot take %s and %d more: %v", to, batch[0].ID, len(batch)-1, err)
	}
}

// note remembers which pairs of events a consumer had in which order.
func (b *bus) note(d delivery) {
	of := [2]string{d.to, d.message.Key}
	for _, earlier := range b.last[of] {
		b.seen[[3]string{d.to, earlier, d.message.Type}] = true
	}
	b.last[of] = append(b.last[of], d.message.Type)
}

// bench is a shop of all components on one database.
type bench struct {
	*bus
	as      way
	orders  *orders.Orders
	catalog *catalog.Catalog
	history shoptest.History
}

// way is a coordination over a broker.
type way struct {
	coordination audit.Coordination
	purposes     events.Purposes
	begin        func(*database.DB, *orders.Book, reacting.Sender, coordination.Reference,
		bool) *reacting.Coordinator
	inventory func(*database.DB, reacting.Stock, reacting.Sender, bool) reacting.Handler
	payments  func(*database.DB, coordination.Payments, reacting.Sender) reacting.Handler
	shipping  func(*database.DB, coordination.Shipping, reacting.Sender) reacting.Handler
	orders    func(*database.DB, *orders.Book, reacting.Sender, keep) reacting.Handler
}

type keep = func(context.Context, []*shoppb.ProductRepriced) error

func withEvents() way {
	return way{audit.Choreographed, events.Purposes{Saga: true, Reference: true}, choreographed.New,
		choreographed.Inventory, choreographed.Payments, choreographed.Shipping, choreographed.Orders}
}

func withCommands() way {
	return way{audit.Brokered, events.Purposes{Commands: true, Reference: true}, brokered.New,
		brokered.Inventory, brokered.Payments, brokered.Shipping, brokered.Orders}
}

// parts are the components; a mutant changes some.
type parts struct {
	stock    reacting.Stock
	payments coordination.Payments
	shipping coordination.Shipping
	keep     keep
	ignores  string // a type of messages that the orders ignore
	hurries  bool   // the orders command the shipment before the payment
	db       *database.DB
}

func newBench(t *testing.T, as way, change func(*parts)) *bench {
	t.Helper()
	db := shoptest.Open(t, databasetest.Fresh(t, database.SQLite), seed(),
		append(shop.Components(), schema.Replica, schema.Sagas)...)
	all := shoptest.On(db)
	replica := reference.NewReplica(db, reference.BySQL(db), nil)
	p := parts{stock: all.Inventory, payments: all.Payments, shipping: all.Shipping, keep: replica.Keep, db: db}
	change(&p)
	b := &bus{db: db, topology: events.Topology(as.purposes),
		seen: map[[3]string]bool{}, last: map[[2]string][]string{}}
	b.handlers = map[string]func(context.Context, []broker.Message) error{
		shop.ComponentInventory: as.inventory(db, p.stock, b, false),
		shop.ComponentPayments:  as.payments(db, p.payments, b),
		shop.ComponentShipping:  as.shipping(db, p.shipping, b),
		shop.ComponentOrders:    p.withFaults(b, as.orders(db, all.Book, b, p.keep)),
	}
	coordinator := as.begin(db, all.Book, b, replica, true)
	all.Catalog.OnReprice(func(ctx context.Context, e *shoppb.ProductRepriced) error {
		return b.Add(ctx, encoded(t, e))
	})
	return &bench{bus: b, as: as, orders: orders.New(all.Book, coordinator), catalog: all.Catalog}
}

// place places an order as a customer, and records the answer.
func (b *bench) place(t *testing.T, random *rand.Rand, number int) string {
	t.Helper()
	request := &shoppb.CreateOrderRequest{
		IdempotencyKey: fmt.Sprintf("key-%d", number), CustomerId: 1 + random.Int64N(seed().Customers+1),
		Lines: []*shoppb.Line{{ProductId: 1 + random.Int64N(seed().Products), Quantity: 1 + random.Int64N(12)}},
	}
	created, err := b.orders.CreateOrder(t.Context(), request)
	testset.Must(t, err)
	b.history.Add(audit.OperationCreate, request, created.GetOrder(), nil)
	return created.GetOrder().GetOrderId()
}

// cancel tries to cancel an order as a customer: only a confirmed one can be cancelled.
func (b *bench) cancel(t *testing.T, id string) {
	t.Helper()
	cancelled, err := b.orders.CancelOrder(t.Context(), &shoppb.CancelOrderRequest{OrderId: id})
	if err != nil && !shop.IsKind(err, shop.Conflict) {
		t.Fatal(err)
	}
	b.history.Add(audit.OperationCancel, nil, cancelled, err)
}

// play places many orders, whose events are delivered in any order.
func (b *bench) play(t *testing.T, random *rand.Rand, number int) {
	t.Helper()
	var ids []string
	for placed := 0; placed < number || len(b.waiting) > 0; {
		switch {
		case placed < number && random.IntN(4) == 0:
			if placed%5 == 0 {
				b.reprice(t, random)
			}
			ids = append(ids, b.place(t, random, placed))
			placed++
		case len(ids) > 0 && random.IntN(12) == 0:
			b.cancel(t, ids[random.IntN(len(ids))])
		case len(b.waiting) > 0:
			b.deliver(t, random, true)
		}
	}
}

func (b *bench) judge(t *testing.T) lab.Audit {
	t.Helper()
	state, err := audit.Read(t.Context(), audit.InOne(b.db), true)
	testset.Must(t, err)
	sagas, err := audit.ReadSagas(t.Context(), b.db)
	testset.Must(t, err)
	return audit.Judge(audit.Input{Seed: seed(), Fresh: seed(), History: b.history, State: state,
		Sagas:        sagas,
		Coordination: b.as.coordination, Drained: true, Replica: &audit.Replica{}})
}

// TestAnyOrderOfEventsEndsWell delivers the events of many orders at random, some
// of them again and again, and without an inbox.
func TestAnyOrderOfEventsEndsWell(t *testing.T) {
	pairs := map[[3]string]bool{}
	for round := range uint64(12) {
		b := playedWell(t, withEvents(), round)
		for pair := range b.seen {
			pairs[pair] = true
		}
	}
	expectPairs(t, pairs)
}

// TestAnyRepetitionOfCommandsEndsWell: a command or reply that comes again, late, has no effect.
func TestAnyRepetitionOfCommandsEndsWell(t *testing.T) {
	for round := range uint64(2) {
		playedWell(t, withCommands(), round)
	}
}

// playedWell plays a round of orders and returns the shop. The audit must be valid, and the round must have
// orders of every final state and changes of prices.
func playedWell(t *testing.T, as way, round uint64) *bench {
	t.Helper()
	b := newBench(t, as, func(*parts) {})
	b.play(t, rand.New(rand.NewPCG(round, 2)), 60)
	got := b.judge(t)
	if got.Verdict != lab.AuditValid {
		t.Fatalf("round %d: %s: %v", round, got.Verdict, got.Problems)
	}
	if got.Counts["price_changes"] == 0 {
		t.Errorf("round %d: no price changes: the round proves too little", round)
	}
	for _, state := range []shop.State{shop.StateConfirmed, shop.StateRejected, shop.StateCancelled} {
		if got.Counts[string(state)] == 0 {
			t.Errorf("round %d: no order is %s: the round proves too little", round, state)
		}
	}
	return b
}

// expectPairs checks that every consumer had every two events of an order in both
// orders, as far as an order has both.
func expectPairs(t *testing.T, seen map[[3]string]bool) {
	t.Helper()
	apart := map[string][]string{ // these never happen to the same order
		events.PaymentDeclined: {events.OrderConfirmed, events.OrderCancelled, events.OrderShipped},
		events.StockRefused:    {events.PaymentDeclined, events.OrderShipped},
	}
	for _, queue := range events.Topology(events.Purposes{Saga: true}).Queues {
		for _, one := range queue.Types {
			for _, other := range queue.Types {
				if slices.Contains(apart[one], other) || slices.Contains(apart[other], one) {
					continue
				}
				if !seen[[3]string{queue.Name, one, other}] {
					t.Errorf("%s never had %s and later %s", queue.Name, one, other)
				}
			}
		}
	}
}

// TestCompensationBeforeItsStep sends components the cancellation before the step: the
// step is left out then.
func TestCompensationBeforeItsStep(t *testing.T) {
	b := newBench(t, withEvents(), func(*parts) {})
	id := b.place(t, rand.New(rand.NewPCG(5, 5)), 1)
	placed := b.waiting[0].message
	e, err := events.Decode(placed)
	testset.Must(t, err)
	order := e.(events.OfOrder).GetOrder()
	for _, step := range []struct {
		to   string
		sent []events.Event
	}{
		{shop.ComponentInventory, []events.Event{&shoppb.OrderCancelled{Order: order},
			&shoppb.OrderPlaced{Order: order}, &shoppb.OrderConfirmed{Order: order}}},
		{shop.ComponentPayments, []events.Event{&shoppb.OrderCancelled{Order: order},
			&shoppb.StockReserved{Order: order}}},
		{shop.ComponentShipping, []events.Event{&shoppb.OrderCancelled{Order: order},
			&shoppb.PaymentCaptured{Order: order}}},
	} {
		b.waiting = nil
		for _, e := range step.sent {
			b.hand(t, step.to, []broker.Message{encoded(t, e)})
		}
		if len(b.waiting) > 0 {
			t.Errorf("%s went on with %s after its compensation: %v", step.to, id, b.waiting)
		}
	}
	state, err := audit.Read(t.Context(), audit.InOne(b.db), true)
	testset.Must(t, err)
	for _, s := range state.Stock {
		if s.OnHand != seed().Stock {
			t.Errorf("stock %+v", s)
		}
	}
	for _, a := range state.Accounts {
		if a.BalanceCents != seed().Balance {
			t.Errorf("account %+v", a)
		}
	}
}

// TestInvalidMessagesAreRefused sends messages that a component cannot take.
func TestInvalidMessagesAreRefused(t *testing.T) {
	b := newBench(t, withEvents(), func(*parts) {})
	b.place(t, rand.New(rand.NewPCG(5, 5)), 1)
	good := b.waiting[0].message
	empty := encoded(t, &shoppb.OrderPlaced{Order: &shoppb.Order{OrderId: "o"}})
	other := encoded(t, &shoppb.OrderShipped{Order: &shoppb.Order{OrderId: "o", Lines: []*shoppb.OrderLine{{}}}})
	for name, m := range map[string]broker.Message{
		"no protobuf":      {ID: good.ID, Type: good.Type, Body: []byte("{not protobuf")},
		"unknown type":     {ID: good.ID, Type: "order.dropped", Body: good.Body},
		"another id":       {ID: "other", Type: good.Type, Body: good.Body},
		"no lines":         empty,
		"another consumer": other,
	} {
		err := b.db.Do(t.Context(), func(ctx context.Context) error {
			return b.handlers[shop.ComponentInventory](ctx, []broker.Message{m})
		})
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func encoded(t *testing.T, e events.Event) broker.Message {
	t.Helper()
	m, err := events.Encode(e, time.Now())
	testset.Must(t, err)
	return m
}
