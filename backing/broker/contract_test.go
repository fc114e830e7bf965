package broker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestMain also runs the test program as the consumer that a test kills.
func TestMain(m *testing.M) {
	servers.Main(m.Run, map[string]func([]string) error{
		"consumer": func(args []string) error { return holdOneMessage(args[0]) },
	})
}

// fixture is a real server with a client's configuration for it.
type fixture struct {
	instance *servers.Instance
	config   Config
}

// variant is one way to run a broker.
type variant struct {
	name    string
	kind    server.Kind
	classic bool   // see Config.Classic
	prefix  string // the query of the URL: empty, or ?prefix=...; see Config.URL
}

func variants() []variant {
	return []variant{
		{name: "nats", kind: server.NATS},
		{name: "rabbitmq quorum", kind: server.RabbitMQ},
		{name: "rabbitmq classic", kind: server.RabbitMQ, classic: true},
	}
}

// start starts the variant's server for a test, or skips the test.
func (v variant) start(t testing.TB) *fixture {
	t.Helper()
	instance := servers.Started(t, v.kind, server.Settings{})
	f := &fixture{instance: instance, config: Config{URL: instance.URL() + v.prefix,
		Classic: v.classic, AckWait: time.Minute}}
	if v.kind == server.RabbitMQ {
		f.config.Unacked = func(ctx context.Context) (map[string]int, error) {
			depths, err := instance.QueueDepths(ctx)
			unacked := map[string]int{}
			for name, depth := range depths {
				unacked[name] = depth.Unacked
			}
			return unacked, err
		}
	}
	return f
}

// within returns a context for one test.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// impatient returns a fixture whose NATS delivers the messages of a lost consumer again
// after three seconds instead of a minute. It is only for tests that allow repeated messages: a live consumer
// that gets no CPU time for three seconds counts as lost, too.
func (f *fixture) impatient() *fixture {
	config := f.config
	config.AckWait = 3 * time.Second
	return &fixture{instance: f.instance, config: config}
}

// client opens a client and declares a topology, whose queues are deleted after the test.
func (f *fixture) client(t testing.TB, topology Topology) Client {
	t.Helper()
	c := f.open(t)
	testset.Must(t, c.Declare(within(t), topology))
	t.Cleanup(func() { deleteQueues(t, c) })
	return c
}

// deleteQueues deletes the queues that a client has declared, with their messages.
func deleteQueues(t testing.TB, c Client) {
	t.Helper()
	ctx := context.Background()
	if r, ok := c.(*rabbit); ok {
		testset.Must(t, r.withChannel(ctx, r.noteOf(*r.topology.Load()).remove))
		return
	}
	n := c.(*natsClient)
	server, err := n.jetStream(ctx)
	testset.Must(t, err)
	topology := n.topology.Load()
	for _, queue := range topology.allQueues() {
		err := server.DeleteConsumer(ctx, topology.streamOf(queue), queue)
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			testset.Must(t, err)
		}
	}
	for _, name := range []string{topology.Exchange, DeadLetters(topology.Exchange)} {
		stream, err := server.Stream(ctx, name)
		testset.Must(t, err)
		testset.Must(t, stream.Purge(ctx))
	}
}

func (f *fixture) open(t testing.TB) Client {
	t.Helper()
	c, err := Open(f.config)
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, c.Close()) })
	return c
}

// shop returns a topology with two queues.
func shop() Topology {
	return Topology{Exchange: "shop", Queues: []Queue{
		{Name: "views", Types: []string{"order.created", "order.confirmed"}, DeliveryLimit: 3},
		{Name: "stock", Types: []string{"order.created"}, DeliveryLimit: 3},
	}}
}

// TestContract tests the guarantees of the package comment with every broker.
func TestContract(t *testing.T) {
	promises := []struct {
		name string
		test func(t *testing.T, f *fixture)
	}{
		{"a message arrives whole in every queue of its type", arrivesWhole},
		{"a type without a queue is refused", unroutedIsRefused},
		{"a batch keeps its order", batchKeepsOrder},
		{"the order is kept over failing handlers", failuresKeepOrder},
		{"no more than prefetch is unacknowledged", prefetchBounds},
		{"a failing message goes to the dead letters", failingIsBuried},
		{"a batch that fails is taken apart", failingBatchIsTakenApart},
		{"messages of a killed consumer are delivered again", killedConsumer},
		{"a message that kills its consumers goes to the dead letters", poisonIsBuried},
		{"a handler that ends late is acknowledged", lateHandlerIsAcknowledged},
		{"messages of a stopped consumer are delivered again", stoppedConsumer},
		{"a missing queue is an error", missingQueue},
		{"declaring again changes nothing", declareAgain},
		{"many may declare the same at once", declareTogether},
		{"many publishers at a time", manyPublishers},
		{"a confirmed message outlives kill -9 of the broker", confirmedOutlivesKill},
		{"publishing to a broker that is down fails in time", publishFailsWithoutBroker},
		{"a wrong password is an error at once", wrongPassword},
	}
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel() // each has its own server, and mostly waits
			f := v.start(t)
			for _, promise := range promises {
				t.Run(promise.name, func(t *testing.T) { promise.test(t, f) })
			}
		})
	}
}
