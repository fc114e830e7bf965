package event_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/event"
)

// BenchmarkPath measures messages from an outbox over a broker into an inbox. The
// outbox is full when the clock starts; the handler does nothing of its own.
func BenchmarkPath(b *testing.B) {
	for _, c := range []struct {
		name   string
		driver database.Driver
		broker func(testing.TB) broker.Config
	}{
		{"sqlite+nats", database.SQLite, natsServer},
		{"mariadb+rabbitmq", database.MariaDB, rabbitServer},
		{"postgres+nats", database.PostgreSQL, natsServer},
	} {
		b.Run(c.name, func(b *testing.B) {
			from, to := tabled(b, databasetest.Fresh(b, c.driver)), tabled(b, databasetest.Fresh(b, c.driver))
			config := c.broker(b)
			publishing, consuming := client(b, config), client(b, config)
			for _, prefetch := range []int{64, 512} {
				b.Run(fmt.Sprint("prefetch", prefetch), func(b *testing.B) {
					outbox := event.NewOutbox(from, "bench", topology())
					fill(b, outbox, b.Name(), b.N)
					var handled atomic.Int64
					done := make(chan struct{})
					subscriber := event.Subscriber{Database: to, Source: consuming, Queue: queue, Prefetch: prefetch,
						Handle: func(_ context.Context, messages []broker.Message) error {
							if handled.Add(int64(len(messages))) == int64(b.N) {
								close(done)
							}
							return nil
						}}
					b.ResetTimer()
					stopRelay := beside(b, event.NewRelay(outbox, publishing).Run, failing(b))
					stopSubscriber := beside(b, subscriber.Run, failing(b))
					<-done
					b.StopTimer()
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
					stopSubscriber()
					stopRelay()
				})
			}
			b.Run("one after the other", func(b *testing.B) { oneByOne(b, from, to, publishing, consuming) })
		})
	}
}

// fill leaves n messages of a run that is new, 64 in a transaction.
func fill(b *testing.B, outbox *event.Outbox, name string, n int) {
	run := time.Now().UnixNano()
	for first := 0; first < n; first += 64 {
		var messages []broker.Message
		for i := first; i < min(first+64, n); i++ {
			m := message(fmt.Sprintf("%d-%09d", run, i), fmt.Sprint("key", i%100))
			m.Body = make([]byte, 300) // as an order
			messages = append(messages, m)
		}
		must(b, outbox.Add(context.Background(), messages...))
	}
}

// oneByOne measures how long a message is under way that travels alone, from before
// its commit to after the handler.
func oneByOne(b *testing.B, from, to *database.DB, publishing, consuming broker.Client) {
	outbox := event.NewOutbox(from, "bench", topology())
	came := make(chan struct{}, 1)
	subscriber := event.Subscriber{Database: to, Source: consuming, Queue: queue,
		Handle: func(context.Context, []broker.Message) error {
			came <- struct{}{}
			return nil
		}}
	beside(b, event.NewRelay(outbox, publishing).Run, failing(b))
	beside(b, subscriber.Run, failing(b))
	run := time.Now().UnixNano()
	for i := 0; b.Loop(); i++ {
		must(b, outbox.Add(context.Background(), message(fmt.Sprintf("%d-%09d", run, i), "key")))
		<-came
	}
}
