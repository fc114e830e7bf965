package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
	"github.com/cleave-lab/cleave/systems/shop/system"
)

// restartable is a broker that a test can kill and start again.
type restartable struct {
	config  broker.Config
	restart func()
}

// restartableNATS returns a NATS that loses its memory at a restart, but not its files.
func restartableNATS(t *testing.T) restartable {
	t.Helper()
	instance := servers.Started(t, server.NATS, server.Settings{})
	return restartable{broker.Config{URL: instance.URL(), AckWait: time.Second}, func() {
		if err := instance.Restart(context.Background()); err != nil {
			t.Error(err)
		}
	}}
}

// restartableRabbit returns a RabbitMQ whose restart begins with SIGKILL.
func restartableRabbit(t *testing.T) restartable {
	t.Helper()
	instance := servers.Started(t, server.RabbitMQ, server.Settings{})
	unacked := func(ctx context.Context) (map[string]int, error) {
		held := map[string]int{}
		depths, err := instance.QueueDepths(ctx)
		for queue, depth := range depths {
			held[queue] = depth.Unacked
		}
		return held, err
	}
	return restartable{broker.Config{URL: instance.URL(), Unacked: unacked}, func() {
		if err := errors.Join(instance.Kill(), instance.Restart(context.Background())); err != nil {
			t.Error(err)
		}
	}}
}

// chaos is a client of a broker with the faults of a network: messages come twice and late, confirmations and
// acknowledgements get lost.
type chaos struct{ broker.Client }

func (c chaos) Publish(ctx context.Context, messages ...broker.Message) error {
	order := rand.Perm(len(messages))
	shuffled := make([]broker.Message, 0, 2*len(messages))
	for _, i := range order {
		shuffled = append(shuffled, messages[i])
		if rand.IntN(3) == 0 {
			shuffled = append(shuffled, messages[i])
		}
	}
	if rand.IntN(3) == 0 {
		time.Sleep(rand.N(20 * time.Millisecond))
	}
	// The other half is published later: messages of another relay may come between.
	half := rand.IntN(len(shuffled) + 1)
	if err := errors.Join(c.publish(ctx, shuffled[half:]), c.publish(ctx, shuffled[:half])); err != nil {
		return errors.New("not all were confirmed") // the client does not know which
	}
	if rand.IntN(10) == 0 {
		return errors.New("the confirmation was lost")
	}
	return nil
}

func (c chaos) publish(ctx context.Context, messages []broker.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return c.Client.Publish(ctx, messages...)
}

func (c chaos) Consume(ctx context.Context, subscription broker.Subscription, handler broker.Handler) error {
	return c.Client.Consume(ctx, subscription, func(ctx context.Context, deliveries []broker.Delivery) error {
		err := handler(ctx, deliveries)
		// Only in batches: a message whose acknowledgement is lost each time would become a dead letter, although
		// it was handled.
		if err == nil && len(deliveries) > 1 && rand.IntN(4) == 0 {
			return errors.New("the acknowledgement was lost")
		}
		return err
	})
}

func TestNothingIsLostUnderFaults(t *testing.T) {
	for name, c := range map[string]struct {
		broker func(t *testing.T) restartable
		turned map[string]string
	}{
		"sqlite+nats":          {restartableNATS, nil},
		"sqlite+nats, batches": {restartableNATS, knobs("batching", "on")},
		"mariadb+rabbitmq": {restartableRabbit,
			knobs("database", "mariadb", "broker", "rabbitmq", "batching", "on")},
		"mariadb+nats, an ORM": {restartableNATS, knobs("database", "mariadb", "data-access", "orm")},
		"schemas+nats":         {restartableNATS, inSchemas()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			design := designOf(t, architecture.Async, c.turned)
			target := c.broker(t)
			running, public := start(t, design, eventParts{broker: target.config, logError: func(error) {},
				wrap: func(c broker.Client) broker.Client { return chaos{c} }})
			poison(t, target.config, design)
			clients := newCustomers(public)
			var beside sync.WaitGroup
			beside.Go(func() {
				for end := time.Now().Add(3 * time.Minute); clients.answers() < 100; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Errorf("%d orders are answered after three minutes, want 100 before the broker is killed",
							clients.answers())
						return
					}
				}
				target.restart()
			})
			clients.order(t, 300)
			beside.Wait()
			clients.cancel(t, 30)
			running.expectSettled(t, clients)
		})
	}
}

// poison sends each component a message that it cannot take.
func poison(t *testing.T, config broker.Config, design architecture.Design) {
	t.Helper()
	client, err := broker.Open(config)
	testset.Must(t, err)
	testset.Must(t, assembly.Declare(t.Context(), design,
		assembly.Surroundings{Broker: client, Documents: shoptest.Documents(t)}))
	for _, kind := range []string{events.OrderPlaced, events.StockReserved, events.PaymentCaptured,
		events.OrderShipped, events.StockChanged} {
		testset.Must(t, client.Publish(t.Context(), broker.Message{ID: "poison/" + kind, Key: "poison", Type: kind,
			Body: []byte("{}")}))
	}
	testset.Must(t, client.Close())
}

// customers order, cancel, and record the answers.
type customers struct {
	*client
	mu      sync.Mutex
	history []audit.Attempt
}

func newCustomers(base string) *customers { return &customers{client: newClient(base)} }

// remember records an attempt that was sent at a time and is answered now. The time of the answer comes from
// the monotonic clock, so that it is later even if the wall clock is set back.
func (c *customers) remember(status int, attempt audit.Attempt, sent time.Time, order api.Order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	attempt.Outcome = audit.OutcomeFail
	attempt.ActualNS = sent.UnixNano()
	attempt.CompleteNS = sent.Add(time.Since(sent)).UnixNano()
	if status < 300 {
		attempt.Outcome = audit.OutcomeOK
		attempt.Order = order.OrderID
		attempt.State = order.State
		attempt.Version = order.Version
	}
	c.history = append(c.history, attempt)
}

// answers returns the number of answers.
func (c *customers) answers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.history)
}

// order places n orders, as four concurrent customers.
func (c *customers) order(t *testing.T, n int) {
	t.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range n / 4 {
				key := fmt.Sprintf("key-%d", rand.Int64())
				body := fmt.Sprintf(`{"customerId":%d,"lines":[{"productId":%d,"quantity":%d},{"productId":%d,"quantity":1}]}`,
					1+rand.IntN(20), 1+rand.IntN(10), 1+rand.IntN(5), 11+rand.IntN(10))
				c.send(t, audit.OperationCreate, key, "/orders", body)
			}
		})
	}
	all.Wait()
}

// cancel undoes some of the orders, when they are confirmed.
func (c *customers) cancel(t *testing.T, n int) {
	t.Helper()
	for _, attempt := range c.history[:n] {
		deadline := time.Now().Add(4 * time.Minute)
		for ; time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			var order api.Order
			testset.Must(t, json.Unmarshal(c.do(t, http.MethodGet, "/orders/"+attempt.Order, nil, "").body, &order))
			if order.State == shop.StateConfirmed {
				c.send(t, audit.OperationCancel, "", "/orders/"+attempt.Order+"/cancel", "")
			}
			if order.State.Final() {
				break
			}
		}
	}
}

func (c *customers) send(t *testing.T, operation, key, path, body string) (order api.Order) {
	attempt := audit.Attempt{Operation: operation, Key: key}
	var err error
	if key != "" {
		err = json.Unmarshal([]byte(body), &attempt.Asked)
	}
	sent := time.Now()
	got, failed := c.client.send(http.MethodPost, path, jsonHeader(key), body)
	if failed != nil {
		t.Error(failed)
		return order
	}
	err = errors.Join(err, json.Unmarshal(got.body, &order))
	c.remember(got.status, attempt, sent, order)
	if err != nil {
		t.Error(err)
	}
	return order
}

// expectSettled waits until the shop has nothing to do and audits it.
func (s shopOf) expectSettled(t *testing.T, clients *customers) {
	t.Helper()
	open := s.database(t, s.design.DatabaseOf)
	around := s.onlooker(t)
	s.settle(t, open, around.Broker)
	got := s.judge(t, open, around.Documents, clients)
	t.Logf("%s: %v", got.Verdict, got.Counts)
	if got.Verdict != lab.AuditValid {
		t.Errorf("%s: %v", got.Verdict, got.Problems)
	}
	for _, queue := range s.design.Topology().Queues {
		expectPoisonOnly(t, around.Broker, broker.DeadLetters(queue.Name))
	}
}

// onlooker returns clients of broker and documents for the test itself.
func (s shopOf) onlooker(t *testing.T) assembly.Surroundings {
	t.Helper()
	client, err := broker.Open(s.around.broker)
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, client.Close()) })
	around := assembly.Surroundings{Broker: client}
	if s.design.Documents != "" {
		store, err := assembly.OpenDocuments(t.Context(), s.around.documents)
		testset.Must(t, err)
		t.Cleanup(func() { testset.Must(t, store.Close()) })
		around.Documents = store
	}
	testset.Must(t, assembly.Declare(t.Context(), s.design, around))
	return around
}

// settle waits until no event is on its way.
func (s shopOf) settle(t *testing.T, open func(string) *database.DB, client broker.Client) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		left := s.left(t, open, client)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not settled: %v", left)
		}
	}
}

// judge audits the databases, the inboxes and the read models.
func (s shopOf) judge(
	t *testing.T, open func(string) *database.DB, store document.Store, clients *customers,
) lab.Audit {
	t.Helper()
	in := s.recorded(t, open, clients)
	if store != nil {
		var err error
		in.Views, err = audit.ReadViews(t.Context(), store, orderviews.Collection(), stockviews.Collection())
		testset.Must(t, err)
	}
	return audit.Judge(in)
}

// recorded returns the input of the audit without the read models.
func (s shopOf) recorded(t *testing.T, open func(string) *database.DB, clients *customers) audit.Input {
	t.Helper()
	from := map[string]*database.DB{}
	for _, component := range shop.Components() {
		from[component] = open(component)
	}
	in, err := system.Recorded(t.Context(), s.design, from)
	testset.Must(t, err)
	in.Seed = suiteSeed()
	in.Fresh = suiteSeed()
	in.History = clients.history
	in.UnixClock = true
	in.Drained = true
	if s.design.Reference == architecture.Replicated {
		in.Replica = &audit.Replica{}
	}
	return in
}

// expectPoisonOnly reads dead letters: the poison, perhaps twice, and nothing else.
func expectPoisonOnly(t *testing.T, client broker.Client, queue string) {
	t.Helper()
	depth, err := client.Depth(t.Context(), queue)
	testset.Must(t, err)
	if depth.Ready == 0 {
		t.Errorf("%s has no poison in it", queue)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	read := 0
	testset.Must(t, client.Consume(ctx, broker.Subscription{Queue: queue},
		func(_ context.Context, deliveries []broker.Delivery) error {
			for _, d := range deliveries {
				if !strings.HasPrefix(d.ID, "poison/") {
					t.Errorf("%s is in %s", d.ID, queue)
				}
			}
			if read += len(deliveries); read >= depth.Ready {
				cancel()
			}
			return nil
		}))
	if read < depth.Ready {
		t.Errorf("%s: read %d dead letters of %d", queue, read, depth.Ready)
	}
}

// left returns the numbers of messages in outboxes and queues.
func (s shopOf) left(t *testing.T, open func(string) *database.DB, client broker.Client) map[string]int64 {
	t.Helper()
	left := map[string]int64{}
	for _, queue := range s.design.Topology().Queues {
		depth, err := client.Depth(t.Context(), queue.Name)
		testset.Must(t, err)
		left[queue.Name] = int64(depth.Ready + max(0, depth.Unacked))
	}
	for _, component := range shop.Components() {
		pending, err := event.Pending(t.Context(), open(component))
		testset.Must(t, err)
		left["outbox of "+component] = pending
	}
	for name, n := range left {
		if n == 0 {
			delete(left, name)
		}
	}
	return left
}
