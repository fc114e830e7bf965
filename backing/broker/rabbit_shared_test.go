package broker

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/testset"
)

// sharedTopology returns a topology with one queue, so that tests can list all leftovers.
func sharedTopology() Topology {
	return Topology{Exchange: "events", Queues: []Queue{{Name: "orders", Types: []string{"order.placed"}}}}
}

// declareUnder declares the topology under a prefix, and leaves a message in its queue.
func (f *fixture) declareUnder(t *testing.T, prefix string) {
	t.Helper()
	config := f.config
	config.URL += prefix
	client, err := Open(config)
	testset.Must(t, err)
	testset.Must(t, client.Declare(within(t), sharedTopology()))
	testset.Must(t, client.Publish(within(t), Message{ID: "1", Type: "order.placed", Key: "a"}))
	testset.Must(t, client.Close())
}

// expectQueues checks that the broker has exactly these queues.
func (f *fixture) expectQueues(t *testing.T, want ...string) {
	t.Helper()
	depths, err := f.instance.QueueDepths(within(t))
	testset.Must(t, err)
	if got := slices.Sorted(maps.Keys(depths)); !slices.Equal(got, want) {
		t.Errorf("queues %v, want %v", got, want)
	}
}

// exactly returns a function that reports whether a prefix is the given one.
func exactly(prefix string) func(string) bool {
	return func(p string) bool { return p == prefix }
}

// TestPromisesHoldUnderAPrefix tests the promises that depend on the names of queues and exchanges.
func TestPromisesHoldUnderAPrefix(t *testing.T) {
	f := variant{kind: server.RabbitMQ, prefix: "?prefix=cleave_1_0_1_"}.start(t)
	for name, test := range map[string]func(t *testing.T, f *fixture){
		"arrives whole": arrivesWhole, "unrouted": unroutedIsRefused, "buried by the client": failingIsBuried,
		"buried by the broker": poisonIsBuried, "missing queue": missingQueue,
		"declare again": declareAgain,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

// TestSweepRemovesOnlyItsPrefix checks that Sweep removes the queues and the exchange with the prefix and
// nothing else. It also removes the registry once that is empty.
func TestSweepRemovesOnlyItsPrefix(t *testing.T) {
	f := variant{kind: server.RabbitMQ, classic: true}.start(t)
	const one, two = "cleave_1_0_1_", "cleave_2_0_1_"
	f.declareUnder(t, "")
	f.declareUnder(t, "?prefix="+one)
	f.declareUnder(t, "?prefix="+two)
	// The names in these notes lack the prefix of the note: Sweep must not follow them.
	f.forge(t, note{Prefix: one, Exchange: one + "events", Queues: []string{"orders"}})
	f.forge(t, note{Prefix: "", Exchange: "events", Queues: []string{"orders"}})
	all := []string{one + "orders", one + "orders-dead", two + "orders", two + "orders-dead", registry, "orders",
		"orders-dead"}
	f.expectQueues(t, all...)

	testset.Must(t, Sweep(within(t), f.config.URL, exactly("cleave_3_0_1_")))
	f.expectQueues(t, all...)
	f.sweepTogether(t, one)
	f.expectQueues(t, all[2:]...)
	for name, stays := range map[string]bool{one + "events": false, two + "events": true, "events": true} {
		if f.hasExchange(t, name) != stays {
			t.Errorf("exchange %s: want it to stay: %v", name, stays)
		}
	}
	testset.Must(t, Sweep(within(t), f.config.URL, exactly(two)))
	f.expectQueues(t, registry, "orders", "orders-dead") // Sweep keeps the forged notes
	f.purgeRegistry(t)
	testset.Must(t, Sweep(within(t), f.config.URL, exactly(one)))
	f.expectQueues(t, "orders", "orders-dead")
}

// sweepTogether calls Sweep several times in parallel, as several processes could.
func (f *fixture) sweepTogether(t *testing.T, prefix string) {
	t.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := Sweep(within(t), f.config.URL, exactly(prefix)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// forge writes a note into the registry, as another program could.
func (f *fixture) forge(t *testing.T, n note) {
	t.Helper()
	text, err := json.Marshal(n)
	testset.Must(t, err)
	testset.Must(t, connected(within(t), f.config.URL, func(connection *amqp.Connection) error {
		channel, err := connection.Channel()
		if err != nil {
			return err
		}
		return channel.PublishWithContext(within(t), "", registry, true, false, amqp.Publishing{Body: text})
	}))
}

// purgeRegistry removes all notes from the registry.
func (f *fixture) purgeRegistry(t *testing.T) {
	t.Helper()
	testset.Must(t, connected(within(t), f.config.URL, func(connection *amqp.Connection) error {
		channel, err := connection.Channel()
		if err != nil {
			return err
		}
		_, err = channel.QueuePurge(registry, false)
		return err
	}))
}

func (f *fixture) hasExchange(t *testing.T, name string) bool {
	t.Helper()
	err := connected(within(t), f.config.URL, func(connection *amqp.Connection) error {
		channel, err := connection.Channel()
		if err != nil {
			return err
		}
		return channel.ExchangeDeclarePassive(name, amqp.ExchangeDirect, true, false, false, false, nil)
	})
	testset.Must(t, ignore(err, amqp.NotFound))
	return err == nil
}

func TestOpenRefusesPrefixes(t *testing.T) {
	for _, prefix := range []string{"orders_", "cleave_", "cleave_1", "cleave_#_"} {
		_, err := Open(Config{URL: "amqp://user:secret@127.0.0.1:9/?prefix=" +
			strings.ReplaceAll(prefix, "#", "%23")})
		if err == nil || !strings.Contains(err.Error(), prefix) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error = %v, want one with the prefix %s and no password", err, prefix)
		}
	}
}

// TestSweepDoesNotWaitForABroker checks that Sweep of a broker that is down fails at once, because its caller
// does not start the broker.
func TestSweepDoesNotWaitForABroker(t *testing.T) {
	var refused interface{ Timeout() bool }
	err := Sweep(t.Context(), "amqp://user:secret@127.0.0.1:9/", exactly(""))
	if !errors.As(err, &refused) || refused.Timeout() || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want the connection refused", err)
	}
}
