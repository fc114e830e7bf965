package broker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publish implements Client.
func (c *natsClient) Publish(ctx context.Context, messages ...Message) error {
	c.counters.addPublished(messages)
	topology := c.topology.Load()
	var failed *PublishError
	var routed []int // indexes
	for n, m := range messages {
		if slices.ContainsFunc(topology.Queues, func(q Queue) bool { return slices.Contains(q.Types, m.Type) }) {
			routed = append(routed, n)
		} else {
			failed = failed.add(n, fmt.Errorf("%w: %q", ErrUnrouted, m.Type))
		}
	}
	var batchErr error
	for chunk := range slices.Chunk(routed, window) {
		batch := make([]*nats.Msg, len(chunk))
		for n, index := range chunk {
			batch[n] = toNATS(subject(topology.Exchange, messages[index].Type), messages[index])
		}
		if batchErr == nil {
			batchErr = c.publishBatch(ctx, batch)
		}
		if batchErr != nil { // later messages are not sent either: they would overtake these
			for _, index := range chunk {
				failed = failed.add(index, batchErr)
			}
		}
	}
	return failed.result()
}

// publishBatch publishes messages, all or none, and waits until the server has them on
// its disk. After an error all or none may be there.
func (c *natsClient) publishBatch(ctx context.Context, batch []*nats.Msg) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	server, err := c.jetStream(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, confirmWithin)
	defer cancel()
	ctx, release := c.withSession(ctx)
	defer release()
	if len(batch) == 1 {
		_, err = server.PublishMsg(ctx, batch[0])
	} else {
		err = commitBatch(ctx, server.Conn(), batch)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// commitBatch publishes messages as one atomic batch of the server (NATS ADR-50). Each
// message carries the batch's name and its own number, and the last one commits. The
// server syncs once per batch, but once per message without batches.
func commitBatch(ctx context.Context, connection *nats.Conn, batch []*nats.Msg) error {
	name := rand.Text()
	last := len(batch) - 1
	for n, m := range batch {
		m.Header["Nats-Batch-Id"] = []string{name}
		m.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(n + 1)}
		if n == last {
			break
		}
		if err := connection.PublishMsg(m); err != nil {
			return err
		}
	}
	batch[last].Header["Nats-Batch-Commit"] = []string{"1"}
	answer, err := connection.RequestMsgWithContext(ctx, batch[last])
	if err != nil {
		return err
	}
	var outcome struct {
		Error *jetstream.APIError `json:"error"`
		Count int                 `json:"count"`
	}
	if err := json.Unmarshal(answer.Data, &outcome); err != nil {
		return fmt.Errorf("the server answered %q, which is not JSON: %w", answer.Data, err)
	}
	if outcome.Error != nil {
		return outcome.Error
	}
	if outcome.Count != len(batch) {
		return fmt.Errorf("the server confirmed %d messages of %d", outcome.Count, len(batch))
	}
	return nil
}

// deadLetter moves a message to the dead-letter queue.
func (c *natsClient) deadLetter(ctx context.Context, d Delivery) error {
	to := subject(DeadLetters(c.topology.Load().Exchange), d.Queue)
	return c.publishBatch(ctx, []*nats.Msg{toNATS(to, d.Message)})
}

// toNATS converts a message to NATS. It does not use the server's own detection of
// repeated messages: a system must handle these itself, with any broker.
func toNATS(subject string, m Message) *nats.Msg {
	header := nats.Header{}
	for name, value := range m.Headers {
		header[name] = []string{value}
	}
	header[natsID] = []string{m.ID}
	header[natsType] = []string{m.Type}
	header[natsKey] = []string{m.Key}
	return &nats.Msg{Subject: subject, Header: header, Data: m.Body}
}

// fromNATS is the inverse of toNATS. It leaves out the headers that are for the server.
func fromNATS(m jetstream.Msg) Message {
	header := m.Headers()
	message := Message{ID: header.Get(natsID), Type: header.Get(natsType), Key: header.Get(natsKey),
		Body: m.Data()}
	for name, values := range header {
		isOurs := slices.Contains([]string{natsID, natsType, natsKey}, name)
		if isOurs || strings.HasPrefix(name, "Nats-") || len(values) == 0 {
			continue
		}
		if message.Headers == nil {
			message.Headers = map[string]string{}
		}
		message.Headers[name] = values[0]
	}
	return message
}

// fetchWithin limits how long one fetch waits for messages.
const fetchWithin = 2 * time.Second

// Consume implements Client.
func (c *natsClient) Consume(ctx context.Context, subscription Subscription, handler Handler) error {
	subscription = subscription.withDefaults()
	limit, err := c.topology.Load().deliveryLimit(subscription.Queue)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	// A slot is the right to hold one message.
	slots := make(chan struct{}, subscription.Prefetch)
	for range subscription.Prefetch {
		slots <- struct{}{}
	}
	w := &worker{
		subscription: subscription, handler: handler, limit: limit, deadLetter: c.deadLetter, counters: &c.counters,
		freed: func() { slots <- struct{}{} }, extendEvery: c.config.AckWait / 3,
	}
	w.start(ctx)
	defer w.finish()
	for ctx.Err() == nil {
		err := c.fetchConnected(ctx, w, slots)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, ErrClosed), errors.Is(err, jetstream.ErrConsumerNotFound),
			errors.Is(err, jetstream.ErrStreamNotFound),
			errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("consume queue %s from nats: %w", subscription.Queue, err)
		default:
			pause(ctx, firstPause) // the server is unavailable; the library reconnects
		}
	}
	return nil
}

// fetchConnected fetches messages until the connection is lost or the context ends.
func (c *natsClient) fetchConnected(ctx context.Context, w *worker, slots chan struct{}) error {
	ctx, release := c.withSession(ctx)
	defer release()
	consumer, err := c.consumer(ctx, w.subscription.Queue)
	if err != nil {
		return err
	}
	return w.fetch(ctx, consumer, slots)
}

// fetch fetches messages until an error. It waits until half of the slots are free, so
// that each request is for many messages.
func (w *worker) fetch(ctx context.Context, consumer jetstream.Consumer, slots chan struct{}) error {
	for {
		free := takeSlots(ctx, slots, (cap(slots)+1)/2)
		if ctx.Err() != nil {
			giveSlots(slots, free)
			return ctx.Err()
		}
		got, err := w.fetchOnce(ctx, consumer, free)
		giveSlots(slots, free-got)
		if err != nil {
			return err
		}
	}
}

// takeSlots waits for at least this many slots, takes all that are free, and returns how
// many it took. If the context ends, it may have fewer.
func takeSlots(ctx context.Context, slots chan struct{}, least int) int {
	for n := 0; ; n++ {
		if n >= least {
			select {
			case <-slots:
				continue
			default:
				return n
			}
		}
		select {
		case <-slots:
		case <-ctx.Done():
			return n
		}
	}
}

func giveSlots(slots chan struct{}, n int) {
	for range n {
		slots <- struct{}{}
	}
}

// fetchOnce passes up to n messages to the worker as they come, and returns their number.
func (w *worker) fetchOnce(ctx context.Context, consumer jetstream.Consumer, n int) (got int, err error) {
	limited, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	messages, err := consumer.Fetch(n, jetstream.FetchContext(limited))
	if err != nil {
		return 0, err
	}
	for m := range messages.Messages() {
		metadata, err := m.Metadata()
		if err != nil {
			return got, err
		}
		got++
		w.put(&received{
			Delivery: Delivery{Message: fromNATS(m), Queue: w.subscription.Queue, Attempt: int(metadata.NumDelivered)},
			sequence: metadata.Sequence.Stream,
			ack:      m.Ack,
			release:  func() { _ = m.Nak() }, // after an error it is delivered again after AckWait
			extend:   func() { _ = m.InProgress() },
		})
	}
	err = messages.Error()
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		err = nil // there were no more messages
	}
	return got, err
}
