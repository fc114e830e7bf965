package broker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

// bodies of the size of an order's event.
const eventSize = 200

func events(n int) []Message {
	all := make([]Message, n)
	for i := range all {
		all[i] = Message{ID: fmt.Sprintf("%08d", i), Type: "order.confirmed", Key: fmt.Sprint("k", i%97),
			Body: make([]byte, eventSize)}
	}
	return all
}

// eachBroker runs a benchmark over every broker; one operation is one message.
func eachBroker(b *testing.B, bench func(b *testing.B, c Client)) {
	for _, v := range variants() {
		f := v.start(b)
		b.Run(v.name, func(b *testing.B) {
			c := f.client(b, shop())
			b.ResetTimer()
			bench(b, c)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
		must(b, f.instance.Stop())
	}
}

func BenchmarkPublishOneByOne(b *testing.B) {
	eachBroker(b, func(b *testing.B, c Client) {
		for _, m := range events(b.N) {
			must(b, c.Publish(b.Context(), m))
		}
	})
}

func BenchmarkPublishBatch(b *testing.B) {
	eachBroker(b, func(b *testing.B, c Client) { must(b, c.Publish(b.Context(), events(b.N)...)) })
}

func BenchmarkConsume(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprint("batch ", batch), func(b *testing.B) {
			eachBroker(b, func(b *testing.B, c Client) {
				must(b, c.Publish(b.Context(), events(b.N)...))
				ctx, cancel := context.WithCancel(b.Context())
				var got atomic.Int64
				b.ResetTimer()
				must(b, c.Consume(ctx, Subscription{Queue: "views", Prefetch: 256, Batch: batch},
					func(_ context.Context, d []Delivery) error {
						if got.Add(int64(len(d))) >= int64(b.N) {
							cancel()
						}
						return nil
					}))
			})
		})
	}
}
