package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Consume implements Client.
func (r *rabbit) Consume(ctx context.Context, subscription Subscription, handler Handler) error {
	subscription = subscription.withDefaults()
	limit, err := r.topology.Load().deliveryLimit(subscription.Queue)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	for ctx.Err() == nil {
		channel, messages, err := r.subscribe(ctx, subscription)
		if err != nil {
			if isPermanent(err) && ctx.Err() == nil {
				return fmt.Errorf("consume queue %s from rabbitmq: %w", subscription.Queue, err)
			}
			pause(ctx, firstPause) // the broker is unavailable
			continue
		}
		w := &worker{subscription: subscription, handler: handler, limit: limit, deadLetter: r.deadLetter,
			counters: &r.counters}
		w.start(ctx)
		w.receive(ctx, messages)
		w.finish()
		_ = channel.Close() // requeues unacknowledged messages; fails if the connection is lost already
	}
	return nil
}

// isPermanent reports whether a retry cannot help, because the error is a mistake and not an unavailable
// broker.
func isPermanent(err error) bool {
	if errors.Is(err, ErrClosed) {
		return true
	}
	return isRefused(err, amqp.NotFound, amqp.AccessRefused, amqp.PreconditionFailed) && !comingUp(err)
}

// subscribe begins a session with the broker.
func (r *rabbit) subscribe(ctx context.Context, s Subscription) (*amqp.Channel, <-chan amqp.Delivery, error) {
	channel, err := r.consuming.channel(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := channel.Qos(s.Prefetch, 0, false); err != nil {
		return nil, nil, err
	}
	messages, err := channel.Consume(r.prefix+s.Queue, "", false, false, false, false, nil)
	return channel, messages, err
}

// receive adds messages to the worker until ctx ends or the connection is lost.
func (w *worker) receive(ctx context.Context, messages <-chan amqp.Delivery) {
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			w.put(&received{
				Delivery: Delivery{Message: fromAMQP(m), Queue: w.subscription.Queue, Attempt: attempt(m)},
				ack:      func() error { return m.Ack(false) },
				ackAll:   func() error { return m.Ack(true) },
			})
		}
	}
}

// attempt returns the number of deliveries of a message, including this one. For classic
// queues, which do not count deliveries, it returns at most 2.
func attempt(m amqp.Delivery) int {
	count, counted := m.Headers["x-delivery-count"].(int64)
	switch {
	case counted:
		return int(count) + 1
	case m.Redelivered:
		return 2
	}
	return 1
}

// fromAMQP converts an AMQP message, as toAMQP has sent it. It leaves out the broker's headers: those that
// are not texts, and the texts that the broker adds to dead letters.
func fromAMQP(m amqp.Delivery) Message {
	key, _ := m.Headers[keyHeader].(string)
	message := Message{ID: m.MessageId, Type: m.Type, Key: key, Body: m.Body}
	for name, value := range m.Headers {
		text, isText := value.(string)
		isOfDeath := strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
		if !isText || name == keyHeader || isOfDeath {
			continue
		}
		if message.Headers == nil {
			message.Headers = map[string]string{}
		}
		message.Headers[name] = text
	}
	return message
}
