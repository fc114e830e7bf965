package assembly_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// rarely is true once in a number of calls.
type rarely struct {
	every int64
	count atomic.Int64
}

func (r *rarely) now() bool { return r.count.Add(1)%r.every == 0 }

// losing drops some messages and reports them as published.
type losing struct {
	broker.Client
	lose func(broker.Message) bool
}

func (l losing) Publish(ctx context.Context, messages ...broker.Message) error {
	sent := slices.DeleteFunc(slices.Clone(messages), l.lose)
	if len(sent) == 0 {
		return nil
	}
	return l.Client.Publish(ctx, sent...)
}

// losesSome returns a client that loses every tenth message.
func losesSome(c broker.Client) broker.Client {
	tenth := &rarely{every: 10}
	return losing{c, func(broker.Message) bool { return tenth.now() }}
}

// hasty acknowledges some deliveries without handling them, like a consumer that acknowledges first and then
// crashes.
type hasty struct {
	broker.Client
	die *rarely
}

func (h hasty) Consume(ctx context.Context, subscription broker.Subscription, handler broker.Handler) error {
	return h.Client.Consume(ctx, subscription, func(ctx context.Context, deliveries []broker.Delivery) error {
		if h.die.now() {
			return nil
		}
		return handler(ctx, deliveries)
	})
}

// ghostly publishes untrue events of some orders, as a relay does whose transaction is
// rolled back after it has published.
type ghostly struct {
	broker.Client
	tell   *rarely
	untrue func(order *shoppb.Order) events.Event
}

func cancelledOrder(order *shoppb.Order) events.Event { return &shoppb.OrderCancelled{Order: order} }

func recallOrder(order *shoppb.Order) events.Event { return &shoppb.RecallOrder{Order: order} }

func (g ghostly) Publish(ctx context.Context, messages ...broker.Message) error {
	for _, m := range messages {
		if m.Type != events.OrderShipped || !g.tell.now() {
			continue
		}
		e, err := events.Decode(m)
		if err != nil {
			return err
		}
		ghost, err := events.Encode(g.untrue(e.(events.OfOrder).GetOrder()), time.Now())
		if err != nil {
			return err
		}
		messages = append(messages, ghost)
	}
	return g.Client.Publish(ctx, messages...)
}

// forgetful loses an update of the read models.
type forgetful struct {
	document.Store
	lose *rarely
}

func (f forgetful) Upsert(
	ctx context.Context, collection string, documents ...document.Document,
) (int, error) {
	if f.lose.now() {
		return len(documents), nil
	}
	return f.Store.Upsert(ctx, collection, documents...)
}

// newestLast gives every update the highest version, so that the last to arrive wins.
type newestLast struct {
	document.Store
	version *atomic.Int64
}

func (n newestLast) Upsert(
	ctx context.Context, collection string, documents ...document.Document,
) (int, error) {
	for i := range documents {
		documents[i].Version = n.version.Add(1)
	}
	return n.Store.Upsert(ctx, collection, documents...)
}

// TestEventMutantsAreCaught plants one fault each into a shop with events, and logs after how many orders the
// audit finds it.
func TestEventMutantsAreCaught(t *testing.T) {
	testset.Need(t, "it plays the suite for many shops that are broken")
	for name, m := range map[string]struct {
		rules  string // the audit must find one of these broken
		around eventParts
	}{
		"a publication is not confirmed": {"I4 I10", eventParts{wrap: losesSome}},
		"acknowledged before it is handled": {"I4 I9 I10", eventParts{wrap: func(c broker.Client) broker.Client {
			return hasty{c, &rarely{every: 10}}
		}}},
		"published and not committed": {"I10", eventParts{wrap: func(c broker.Client) broker.Client {
			return ghostly{c, &rarely{every: 5}, cancelledOrder}
		}}},
		"a command is not confirmed": {"I4 I10", eventParts{commands: true, wrap: losesSome}},
		"commanded and not committed": {"I10", eventParts{commands: true,
			wrap: func(c broker.Client) broker.Client { return ghostly{c, &rarely{every: 5}, recallOrder} }}},
		"an update of a read model is lost": {"I9",
			eventParts{wrapDocs: func(s document.Store) document.Store { return forgetful{s, &rarely{every: 10}} }}},
		"a read model believes what comes last": {"I9",
			eventParts{wrapDocs: func(s document.Store) document.Store { return newestLast{s, new(atomic.Int64)} }}},
	} {
		for _, of := range []string{architecture.Async, architecture.AsyncTuned} {
			turned := knobs()
			if m.around.commands {
				turned = knobs("coordination", "orchestrated-broker")
			}
			t.Run(name+" in "+of, func(t *testing.T) {
				t.Parallel()
				around := m.around
				around.logError = func(error) {}
				running, public := start(t, designOf(t, of, turned), around)
				running.expectCaught(t, newCustomers(public), m.rules)
			})
		}
	}
}

const (
	ordersPerAudit  = 8
	ordersPerMutant = 25 * ordersPerAudit
)

// expectCaught places orders until the audit finds one of the rules broken.
func (s shopOf) expectCaught(t *testing.T, clients *customers, rules string) {
	t.Helper()
	open := s.database(t, s.design.DatabaseOf)
	around := s.onlooker(t)
	for ordered := ordersPerAudit; ordered <= ordersPerMutant; ordered += ordersPerAudit {
		clients.order(t, ordersPerAudit)
		s.settle(t, open, around.Broker)
		got := s.judge(t, open, around.Documents, clients)
		for _, problem := range got.Problems {
			rule, _, _ := strings.Cut(problem, ":")
			if got.Verdict == lab.AuditInvalid && strings.Contains(rules+" ", rule+" ") {
				t.Logf("caught after %d orders: %s", ordered, problem)
				return
			}
		}
	}
	t.Errorf("not caught after %d orders", ordersPerMutant)
}
