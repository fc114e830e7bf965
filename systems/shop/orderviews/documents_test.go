package orderviews_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

func fresh(t *testing.T) document.Store {
	t.Helper()
	store := shoptest.Documents(t)
	testset.Must(t, store.Declare(t.Context(), orderviews.Collection()))
	return store
}

// lifeOf returns the events of an order that is confirmed and cancelled, and its last state.
func lifeOf(t *testing.T, id string) (messages []broker.Message, last *shoppb.Order) {
	t.Helper()
	at := func(state shop.State, version int64) *shoppb.Order {
		last = &shoppb.Order{OrderId: id, IdempotencyKey: "key of " + id, CustomerId: 7, TotalCents: 1234,
			State: string(state), Version: version,
			CreatedUnixUs: 1_700_000_000_000_001, Lines: []*shoppb.OrderLine{{ProductId: 3, Name: "Ölkanne",
				Quantity: 2, UnitPriceCents: 617}}}
		return last
	}
	for _, e := range []events.Event{
		&shoppb.OrderPlaced{Order: at(shop.StatePending, 1)},
		&shoppb.OrderConfirmed{Order: at(shop.StateConfirmed, 2)},
		&shoppb.OrderCancelled{Order: at(shop.StateCancelled, 3)},
	} {
		m, err := events.Encode(e, time.Now())
		testset.Must(t, err)
		messages = append(messages, m)
	}
	return messages, last
}

// TestViewGoesForwardOnly applies the events of orders in random order, in batches and alone, some of them
// twice: a reader of an order sees rising versions.
func TestViewGoesForwardOnly(t *testing.T) {
	views := orderviews.FromDocuments(fresh(t), nil)
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int64{}
	last := map[string]*shoppb.Order{}
	var messages []broker.Message
	for group := range 20 {
		from := len(messages)
		for n := range 4 {
			life, end := lifeOf(t, fmt.Sprintf("order-%d-%d", group, n))
			messages = append(append(messages, life...), life[n%3]) // one of them twice
			last[end.GetOrderId()] = end
		}
		mixed := messages[from:]
		random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	}
	for len(messages) > 0 {
		n := 1 + random.IntN(min(len(messages), 9))
		testset.Must(t, views.Apply(t.Context(), messages[:n]))
		messages = messages[n:]
		for id := range last {
			order, err := views.GetOrder(t.Context(), &shoppb.GetOrderRequest{OrderId: id})
			if err != nil && !shop.IsKind(err, shop.NotFound) {
				t.Fatal(err)
			}
			if order.GetVersion() < seen[id] {
				t.Errorf("%s was at version %d and is at %d", id, seen[id], order.GetVersion())
			}
			seen[id] = order.GetVersion()
		}
	}
	for id, want := range last {
		got, err := views.GetOrder(t.Context(), &shoppb.GetOrderRequest{OrderId: id})
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%v (%v), want %v", got, err, want)
		}
	}
}

// TestRejectionIsKept reads back why an order was rejected.
func TestRejectionIsKept(t *testing.T) {
	views := orderviews.FromDocuments(fresh(t), nil)
	want := &shoppb.Order{OrderId: "o", CustomerId: 1, State: string(shop.StateRejected), Version: 1,
		Lines:     []*shoppb.OrderLine{{ProductId: 1, Quantity: 1}},
		Rejection: &shoppb.Rejection{Kind: string(shop.UnknownProduct), Detail: "there is no product 1"}}
	m, err := events.Encode(&shoppb.OrderRejected{Order: want}, time.Now())
	testset.Must(t, err)
	testset.Must(t, views.Apply(t.Context(), []broker.Message{m}))
	got, err := views.GetOrder(t.Context(), &shoppb.GetOrderRequest{OrderId: "o"})
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
}

// TestStalenessCanBeRead finds in each document when its event happened and when it
// was applied.
func TestStalenessCanBeRead(t *testing.T) {
	store := fresh(t)
	order := &shoppb.Order{OrderId: "o", CustomerId: 1, State: string(shop.StatePending), Version: 1,
		Lines: []*shoppb.OrderLine{{ProductId: 1, Quantity: 1}}}
	happened := time.Now().Add(-time.Hour)
	m, err := events.Encode(&shoppb.OrderPlaced{Order: order}, happened)
	testset.Must(t, err)
	testset.Must(t, orderviews.FromDocuments(store, nil).Apply(t.Context(), []broker.Message{m}))
	found, err := store.Get(t.Context(), orderviews.Collection().Name, "o")
	testset.Must(t, err)
	var body orderviews.Body
	testset.Must(t, json.Unmarshal(found.Body, &body))
	if body.OccurredUnixUs != happened.UnixMicro() ||
		body.AppliedUnixUs-body.OccurredUnixUs < time.Hour.Microseconds() {
		t.Errorf("happened at %d, applied at %d", body.OccurredUnixUs, body.AppliedUnixUs)
	}
}

func TestOtherEventsAreRefused(t *testing.T) {
	views := orderviews.FromDocuments(fresh(t), nil)
	stock, err := events.Encode(&shoppb.StockChanged{Stock: &shoppb.Stock{ProductId: 1}, Version: 1}, time.Now())
	testset.Must(t, err)
	for _, m := range []broker.Message{stock, {ID: "x", Type: events.OrderPlaced, Body: []byte("{}")}} {
		if err := views.Apply(t.Context(), []broker.Message{m}); err == nil {
			t.Errorf("%s was applied", m.ID)
		}
	}
}
