package broker

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// confirming is a channel in confirm mode. One Publish uses it at a time.
type confirming struct {
	channel *amqp.Channel
	wire    *wire
	// returned gets the messages that no queue accepted. The broker returns a message
	// before it confirms it, and the library delivers it here before the confirmation;
	// the buffer has room for a whole window, so that the library never blocks.
	returned chan amqp.Return
}

// Publish implements Client.
func (r *rabbit) Publish(ctx context.Context, messages ...Message) error {
	r.counters.addPublished(messages)
	exchange := r.prefix + r.topology.Load().Exchange
	return r.publishAll(ctx, len(messages), func(n int) (string, string, amqp.Publishing) {
		return exchange, messages[n].Type, toAMQP(messages[n])
	}).result()
}

// outgoing returns the n-th message of a Publish with its exchange and routing key.
type outgoing func(n int) (exchange, key string, m amqp.Publishing)

// publishAll publishes n messages over one channel and waits for their
// confirmations, with up to window messages in flight.
func (r *rabbit) publishAll(ctx context.Context, n int, message outgoing) *PublishError {
	if n == 0 {
		return nil
	}
	channel, err := r.take(ctx)
	if err != nil {
		var failed *PublishError
		for i := range n {
			failed = failed.add(i, err)
		}
		return failed
	}
	p := &batch{confirming: channel, ctx: ctx, waiting: make([]*amqp.DeferredConfirmation, n),
		unrouted: map[string]string{}, ids: make([]string, n)}
	p.publish(n, message)
	r.give(channel, p.failed)
	return p.failed
}

// batch is one running Publish.
type batch struct {
	*confirming
	ctx      context.Context
	ids      []string
	waiting  []*amqp.DeferredConfirmation // nil: not sent, or settled
	unrouted map[string]string            // routing keys by ID
	failed   *PublishError
}

// publish sends all messages and waits for the confirmations. It fills the window, then
// waits until half of it is confirmed, so that messages are sent in batches while the
// broker still has work.
func (b *batch) publish(n int, message outgoing) {
	awaited := 0
	for next := 0; next < n; {
		b.wire.gather()
		for ; next < n && next-awaited < window; next++ {
			b.send(next, message)
		}
		b.wire.send()
		for enough := max(0, next-window/2); next < n && awaited < enough; awaited++ {
			b.await(awaited)
		}
	}
	for ; awaited < n; awaited++ {
		b.await(awaited)
	}
}

// send sends the n-th message. It is mandatory: the broker returns it if no queue accepts it.
func (b *batch) send(n int, message outgoing) {
	exchange, key, m := message(n)
	b.ids[n] = m.MessageId
	var err error
	b.waiting[n], err = b.channel.PublishWithDeferredConfirmWithContext(b.ctx, exchange, key, true, false, m)
	if err != nil {
		b.failed = b.failed.add(n, err)
	}
}

// await waits for the confirmation of the n-th message.
func (b *batch) await(n int) {
	if b.waiting[n] == nil {
		return
	}
	acked, err := b.waiting[n].WaitContext(b.ctx)
	b.collectReturned()
	key, unrouted := b.unrouted[b.ids[n]]
	switch {
	case err != nil:
		err = context.Cause(b.ctx)
	case unrouted:
		err = fmt.Errorf("%w: %q", ErrUnrouted, key)
	case !acked && b.channel.IsClosed():
		err = errLost
	case !acked:
		err = errors.New("rabbitmq refused it")
	}
	if err != nil {
		b.failed = b.failed.add(n, err)
	}
	b.waiting[n] = nil
}

// collectReturned records the messages that the broker has returned so far as unrouted.
func (b *batch) collectReturned() {
	for {
		select {
		case m, ok := <-b.returned:
			if !ok {
				return // the channel was closed
			}
			b.unrouted[m.MessageId] = m.RoutingKey
		default:
			return
		}
	}
}

// take returns a channel in confirm mode, which give returns to the pool.
func (r *rabbit) take(ctx context.Context) (*confirming, error) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		select {
		case c := <-r.idle:
			if !c.channel.IsClosed() {
				return c, nil
			}
			continue
		default:
		}
		c, err := r.openConfirming(ctx)
		if err != nil {
			<-r.slots
		}
		return c, err
	}
}

func (r *rabbit) openConfirming(ctx context.Context) (*confirming, error) {
	channel, err := r.publishing.channel(ctx)
	if err != nil {
		return nil, err
	}
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask rabbitmq for confirmations: %w", err)
	}
	returned := channel.NotifyReturn(make(chan amqp.Return, window+1))
	// If the connection was lost meanwhile, currentWire is that of the next connection. This is harmless: the
	// channel is closed then, and take discards it.
	return &confirming{channel: channel, wire: r.publishing.currentWire(), returned: returned}, nil
}

// give returns a channel to the pool, or closes it after a failure: it could still get
// confirmations of earlier messages.
func (r *rabbit) give(c *confirming, failed *PublishError) {
	if failed == nil && !c.channel.IsClosed() {
		r.idle <- c
	} else {
		_ = c.channel.Close() // it may be closed already
	}
	<-r.slots
}

// keyHeader carries Message.Key; the other fields have properties in AMQP.
const keyHeader = "cleave-key"

// toAMQP converts a message to a persistent AMQP message.
func toAMQP(m Message) amqp.Publishing {
	headers := amqp.Table{keyHeader: m.Key}
	for name, value := range m.Headers {
		headers[name] = value
	}
	return amqp.Publishing{MessageId: m.ID, Type: m.Type, Headers: headers, Body: m.Body,
		DeliveryMode: amqp.Persistent}
}

// deadLetter moves a message to the dead-letter queue.
func (r *rabbit) deadLetter(ctx context.Context, d Delivery) error {
	return r.publishAll(ctx, 1, func(int) (string, string, amqp.Publishing) {
		return "", r.prefix + DeadLetters(d.Queue), toAMQP(d.Message)
	}).result()
}
