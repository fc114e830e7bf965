package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/testset"
)

// consumption is a call of Consume that runs in the background.
type consumption struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// consume starts a call of Consume, which ends with the test at the latest.
func consume(t *testing.T, c Client, s Subscription, handler Handler) *consumption {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	running := &consumption{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(running.ended)
		running.err = c.Consume(ctx, s, handler)
	}()
	t.Cleanup(func() { running.stop(t) })
	return running
}

// stop ends the consumption and checks that it returns no error.
func (c *consumption) stop(t *testing.T) {
	t.Helper()
	c.cancel()
	select {
	case <-c.ended:
	case <-time.After(3 * time.Minute):
		t.Fatal("consume does not end")
	}
	if c.err != nil {
		t.Errorf("consume: %v", c.err)
	}
}

// sink is a handler that keeps its deliveries and fails if the test asks for it.
type sink struct {
	mu   sync.Mutex
	all  []Delivery    // handled without an error
	next chan Delivery // the same, for await
	fail func(Delivery) error
}

func newSink() *sink { return &sink{next: make(chan Delivery, 100000)} }

func (s *sink) handle(_ context.Context, deliveries []Delivery) error {
	for _, d := range deliveries {
		if s.fail == nil {
			continue
		}
		if err := s.fail(d); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.all = append(s.all, deliveries...)
	s.mu.Unlock()
	for _, d := range deliveries {
		s.next <- d
	}
	return nil
}

// await returns the next n handled messages.
func (s *sink) await(t *testing.T, n int) []Delivery {
	t.Helper()
	var got []Delivery
	for len(got) < n {
		select {
		case d := <-s.next:
			got = append(got, d)
		case <-time.After(3 * time.Minute):
			t.Fatalf("got %d messages of %d", len(got), n)
		}
	}
	return got
}

func ids(deliveries []Delivery) []string {
	var all []string
	for _, d := range deliveries {
		all = append(all, d.ID)
	}
	return all
}

// numbered returns n messages of a type whose IDs ascend from 00000.
func numbered(n int, kind string) []Message {
	var all []Message
	for i := range n {
		all = append(all, Message{ID: fmt.Sprintf("%05d", i), Type: kind, Key: fmt.Sprint("k", i%7),
			Body: []byte("{}")})
	}
	return all
}

// awaitDepth waits until a queue has a depth, because brokers update their counts
// asynchronously.
func awaitDepth(t *testing.T, c Client, queue string, want Depth) {
	t.Helper()
	var got Depth
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		got, err = c.Depth(within(t), queue)
		testset.Must(t, err)
		if got == want {
			return
		}
	}
	t.Fatalf("depth of %s = %+v, want %+v", queue, got, want)
}

// awaitDelivered waits until a client has received this many messages. The broker counts them earlier.
func awaitDelivered(t *testing.T, c Client, want int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); c.Counts().Delivered != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("delivered %d, want %d", c.Counts().Delivered, want)
		}
	}
}

func arrivesWhole(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	sent := Message{ID: "m1", Type: "order.created", Key: "o7",
		Headers: map[string]string{"Trace": "a;b", "x-request-id": "7"}, Body: []byte("\x00\xffbody")}
	testset.Must(t, c.Publish(within(t), sent, Message{ID: "m2", Type: "order.confirmed"}))
	for queue, want := range map[string]int{"views": 2, "stock": 1} {
		s := newSink()
		running := consume(t, c, Subscription{Queue: queue}, s.handle)
		got := s.await(t, want)
		running.stop(t)
		first := got[0]
		if first.ID != sent.ID || first.Type != sent.Type || first.Key != sent.Key ||
			string(first.Body) != string(sent.Body) ||
			!maps.Equal(first.Headers, sent.Headers) || first.Queue != queue || first.Attempt != 1 {
			t.Errorf("queue %s: got %+v, want %+v", queue, first, sent)
		}
		awaitDepth(t, c, queue, Depth{})
	}
	want := Counts{Published: 2, Delivered: 3, PublishedBytes: 6, DeliveredBytes: 12}
	if got := c.Counts(); got != want {
		t.Errorf("counts = %+v, want %+v", got, want)
	}
}

func unroutedIsRefused(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	messages := []Message{{ID: "a", Type: "order.created"}, {ID: "b", Type: "nobody.listens"},
		{ID: "c", Type: "order.confirmed"}}
	err := c.Publish(within(t), messages...)
	var failed *PublishError
	if !errors.As(err, &failed) || !errors.Is(err, ErrUnrouted) || !slices.Equal(failed.Unconfirmed, []int{1}) ||
		!strings.Contains(err.Error(), `"nobody.listens"`) {
		t.Fatalf("error = %v, want one that names message 1, its type and %v", err, ErrUnrouted)
	}
	awaitDepth(t, c, "views", Depth{Ready: 2})
	testset.Must(t, c.Publish(within(t), messages[0]))
}

func batchKeepsOrder(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	sent := numbered(1000, "order.confirmed") // larger than the window
	if f.instance.Kind == server.NATS {
		body := sent[0].Body
		sent[0].Body = make([]byte, 2<<20) // larger than NATS accepts
		var failed *PublishError
		if err := c.Publish(within(t), sent...); !errors.As(err, &failed) || len(failed.Unconfirmed) != len(sent) {
			t.Errorf("error = %v, want all messages unconfirmed, because the first one is refused", err)
		}
		sent[0].Body = body
	}
	testset.Must(t, c.Publish(within(t), sent...))
	s := newSink()
	consume(t, c, Subscription{Queue: "views", Prefetch: 100}, s.handle)
	got := ids(s.await(t, len(sent)))
	if !slices.IsSorted(got) {
		t.Errorf("order changed: %v", got)
	}
}

func failuresKeepOrder(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	sent := numbered(300, "order.confirmed")
	testset.Must(t, c.Publish(within(t), sent...))
	s := newSink()
	var failures atomic.Int64
	s.fail = func(d Delivery) error {
		if d.Attempt == 1 && d.ID[4] == '3' {
			failures.Add(1)
			return errors.New("not now")
		}
		return nil
	}
	consume(t, c, Subscription{Queue: "views", Prefetch: 50, Batch: 5}, s.handle)
	if got := ids(s.await(t, len(sent))); !slices.IsSorted(got) {
		t.Errorf("order changed: %v", got)
	}
	if failures.Load() < 30 {
		t.Errorf("%d failures, want one of every tenth message", failures.Load())
	}
}

func prefetchBounds(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	testset.Must(t, c.Publish(within(t), numbered(20, "order.confirmed")...))
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	consume(t, c, Subscription{Queue: "views", Prefetch: 5}, func(context.Context, []Delivery) error {
		<-release
		return nil
	})
	awaitDepth(t, c, "views", Depth{Ready: 15, Unacked: 5})
	awaitDelivered(t, c, 5)
	free()
	awaitDepth(t, c, "views", Depth{})
}

func failingIsBuried(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	headers := map[string]string{"Trace": "x", "x-request-id": "7"}
	testset.Must(t, c.Publish(within(t), Message{ID: "bad", Type: "order.confirmed", Key: "k", Headers: headers},
		Message{ID: "good", Type: "order.confirmed", Key: "k"}))
	s := newSink()
	var attempts []int
	s.fail = func(d Delivery) error {
		if d.ID != "bad" {
			return nil
		}
		attempts = append(attempts, d.Attempt)
		return errors.New("cannot be done")
	}
	running := consume(t, c, Subscription{Queue: "views"}, s.handle)
	if got := ids(s.await(t, 1)); got[0] != "good" {
		t.Errorf("handled %v", got)
	}
	running.stop(t)
	if !slices.Equal(attempts, []int{1, 2, 3}) {
		t.Errorf("attempts %v, want 1 to 3", attempts)
	}
	awaitDepth(t, c, "views", Depth{})
	awaitDepth(t, c, DeadLetters("views"), Depth{Ready: 1})
	dead := newSink()
	consume(t, c, Subscription{Queue: DeadLetters("views")}, dead.handle)
	if got := dead.await(t, 1)[0]; got.ID != "bad" || got.Key != "k" || !maps.Equal(got.Headers, headers) {
		t.Errorf("dead letter = %+v", got)
	}
}

func failingBatchIsTakenApart(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	testset.Must(t, c.Publish(within(t), numbered(40, "order.confirmed")...))
	s := newSink()
	s.fail = func(d Delivery) error {
		if d.ID == "00005" {
			return errors.New("cannot be done")
		}
		return nil
	}
	var largest atomic.Int64
	running := consume(t, c, Subscription{Queue: "views", Batch: 10},
		func(ctx context.Context, deliveries []Delivery) error {
			largest.Store(max(largest.Load(), int64(len(deliveries))))
			return s.handle(ctx, deliveries)
		})
	got := ids(s.await(t, 39))
	running.stop(t)
	slices.Sort(got)
	if slices.Contains(got, "00005") || len(slices.Compact(got)) != 39 {
		t.Errorf("handled %v", got)
	}
	if n := largest.Load(); n < 2 || n > 10 {
		t.Errorf("largest batch %d, want 2 to 10", n)
	}
	awaitDepth(t, c, DeadLetters("views"), Depth{Ready: 1})
}

func lateHandlerIsAcknowledged(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	testset.Must(t, c.Publish(within(t), numbered(1, "order.confirmed")...))
	begun := make(chan struct{})
	running := consume(t, c, Subscription{Queue: "views"}, func(ctx context.Context, _ []Delivery) error {
		close(begun)
		<-ctx.Done()
		return nil // as if it had committed before
	})
	<-begun
	running.stop(t)
	awaitDepth(t, c, "views", Depth{})
}

func stoppedConsumer(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	testset.Must(t, c.Publish(within(t), numbered(5, "order.confirmed")...))
	begun := make(chan struct{}, 5)
	running := consume(t, c, Subscription{Queue: "views"}, func(ctx context.Context, _ []Delivery) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	<-begun
	awaitDelivered(t, c, 5) // a message that is still in flight is redelivered only after AckWait
	running.stop(t)
	s := newSink()
	consume(t, c, Subscription{Queue: "views"}, s.handle)
	got := ids(s.await(t, 5))
	if slices.Sort(got); len(slices.Compact(got)) != 5 {
		t.Errorf("handled %v", got)
	}
}

func missingQueue(t *testing.T, f *fixture) {
	c := f.open(t)
	if _, err := c.Depth(within(t), "views"); !errors.Is(err, ErrUnknownQueue) ||
		!strings.Contains(err.Error(), "views in "+string(f.instance.Kind)) {
		t.Errorf("depth: error = %v, want %v and the broker", err, ErrUnknownQueue)
	}
	testset.Must(t, c.Declare(within(t), shop()))
	deleteQueues(t, c)
	if _, err := c.Depth(within(t), "views"); err == nil {
		t.Error("a deleted queue has a depth")
	}
	if err := c.Consume(within(t), Subscription{Queue: "views"}, newSink().handle); err == nil {
		t.Error("a deleted queue is consumed")
	}
}

func declareAgain(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	testset.Must(t, c.Publish(within(t), numbered(2, "order.created")...))
	testset.Must(t, f.open(t).Declare(within(t), shop()))
	awaitDepth(t, c, "views", Depth{Ready: 2})
	if err := c.Consume(within(t), Subscription{Queue: "none"}, newSink().handle); !errors.Is(err,
		ErrUnknownQueue) {
		t.Errorf("consume: error = %v, want %v", err, ErrUnknownQueue)
	}
}

// declareTogether declares the topology several times at once, as the units of a system do when they start.
func declareTogether(t *testing.T, f *fixture) {
	var clients []Client
	for range 8 {
		clients = append(clients, f.open(t))
	}
	for range 3 {
		var declaring sync.WaitGroup
		for i, c := range clients {
			declaring.Go(func() {
				if err := c.Declare(within(t), shop()); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		declaring.Wait()
		deleteQueues(t, clients[0])
	}
}

func manyPublishers(t *testing.T, f *fixture) {
	c := f.client(t, shop())
	var all sync.WaitGroup
	for p := range 2 * publishers {
		all.Go(func() {
			for n := range 20 {
				if err := c.Publish(within(t), Message{ID: fmt.Sprint(p, "-", n), Type: "order.confirmed"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	awaitDepth(t, c, "views", Depth{Ready: 2 * publishers * 20})
}
