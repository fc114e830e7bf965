package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// acknowledgements records acknowledgements, as "one N" of message N, or as "all to N" of all up to N.
type acknowledgements struct {
	mu  sync.Mutex
	all []string
}

// message returns message number n, whose acknowledgements are recorded.
func (a *acknowledgements) message(n int) *received {
	record := func(text string) func() error {
		return func() error {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.all = append(a.all, fmt.Sprint(text, n))
			return nil
		}
	}
	return &received{Delivery: Delivery{Message: Message{ID: fmt.Sprint(n), Key: "k"}, Attempt: 1},
		ack: record("one "), ackAll: record("all to ")}
}

// TestABatchIsAcknowledgedAtOnce checks that acknowledging its last message acknowledges a whole batch.
func TestABatchIsAcknowledgedAtOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails int // the message that fails in a batch
		want  []string
	}{
		{"all are handled together", 0, []string{"one 1", "all to 4"}},
		{"one of a batch fails", 3, []string{"one 1", "one 2", "one 3", "one 4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var acks acknowledgements
			first := make(chan struct{})
			filled := make(chan struct{})
			handled := sync.WaitGroup{}
			handled.Add(4)
			w := &worker{
				subscription: Subscription{Queue: "q", Prefetch: 8, Batch: 8}, counters: &counters{},
				freed: handled.Done,
				handler: func(_ context.Context, deliveries []Delivery) error {
					if deliveries[0].ID == "1" {
						close(first)
						<-filled
					}
					if len(deliveries) > 1 && slices.ContainsFunc(deliveries,
						func(d Delivery) bool { return d.ID == fmt.Sprint(c.fails) }) {
						return errors.New("not together")
					}
					return nil
				},
			}
			w.start(t.Context())
			w.put(acks.message(1))
			<-first // so that the others become one batch
			for n := 2; n <= 4; n++ {
				w.put(acks.message(n))
			}
			if held := w.counters.Held(); held != 4 {
				t.Errorf("%d messages are held, want 4", held)
			}
			close(filled)
			handled.Wait()
			w.finish()
			if held := w.counters.Held(); held != 0 {
				t.Errorf("%d messages are held in the end", held)
			}
			if !slices.Equal(acks.all, c.want) {
				t.Errorf("acknowledged %v, want %v", acks.all, c.want)
			}
		})
	}
}

// TestRedeliveryOfAWaitingMessageIsNoAttempt plays a broker that after its timeout redelivers a
// message that still waits for the handler, and counts that. The message must be handled
// once and must not become a dead letter; a delivery after its settlement is handled again.
func TestRedeliveryOfAWaitingMessageIsNoAttempt(t *testing.T) {
	var acks acknowledgements
	begun := make(chan struct{}, 1)
	proceed := make(chan struct{})
	freed := make(chan struct{}, 10)
	attempts := make(chan int, 10)
	w := &worker{
		subscription: Subscription{Queue: "q", Prefetch: 8, Batch: 1}, limit: 2, counters: &counters{},
		freed: func() { freed <- struct{}{} },
		deadLetter: func(_ context.Context, d Delivery) error {
			t.Errorf("message %s is dead after %d deliveries", d.ID, d.Attempt)
			return nil
		},
		handler: func(_ context.Context, deliveries []Delivery) error {
			begun <- struct{}{}
			<-proceed
			attempts <- deliveries[0].Attempt
			return nil
		},
	}
	delivered := func(attempt int) *received {
		m := acks.message(1)
		m.Attempt = attempt
		m.sequence = 17
		m.extend = func() {}
		return m
	}
	w.start(t.Context())
	w.put(delivered(1))
	<-begun
	for attempt := 2; attempt <= 5; attempt++ {
		w.put(delivered(attempt))
		<-freed
	}
	if held := w.counters.Held(); held != 1 {
		t.Errorf("%d messages are held, want the one", held)
	}
	close(proceed)
	<-freed
	w.put(delivered(2))
	<-freed
	w.finish()
	if first, second := <-attempts, <-attempts; first != 1 || second != 2 || len(attempts) > 0 ||
		len(acks.all) != 2 {
		t.Errorf("attempts %d, %d and %d more, acknowledged %q", first, second, len(attempts), acks.all)
	}
}
