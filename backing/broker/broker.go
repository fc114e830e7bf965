// Package broker is the client of a message broker: RabbitMQ (quorum or classic
// durable queues) or NATS JetStream, behind one interface that means the same
// over both.
//
// What holds over both, and is tested against the real servers:
//
//   - At least once. A message whose Publish returned nil is in every queue that
//     takes its type, on the disk, and stays there until a handler has returned
//     nil for it. It may come more than once: a handler tells repetitions by ID.
//   - Nothing unrouted. A type that no queue takes in is an error.
//   - Order. One Publish puts its messages into a queue in their order. A Consume
//     that is the only one of its queue hands messages to the handler one after
//     the other, in the order of the queue, also when the handler fails and is
//     called again. After a consumer or the broker died, messages that were not
//     acknowledged come again, and may come after newer ones.
//   - Bounded work. A Consume holds at most Prefetch messages.
//   - No poison. A message whose handler failed DeliveryLimit times is moved to
//     the dead-letter queue of its queue, and only then acknowledged. Attempts
//     that ended with the death of the consumer count as well, except over
//     classic queues, which do not count them.
//   - A broker that restarts is waited for.
//
// It starts no server (backing/server does) and knows no events.
//
// Entry points: Open, Client.
package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Message is one message, as it is published.
type Message struct {
	ID      string // names the event for ever: a repetition has the same
	Type    string // decides which queues take it: words, digits, dots
	Key     string // names what the message is about
	Headers map[string]string
	Body    []byte
}

// Delivery is a message that a queue hands out.
type Delivery struct {
	Message
	Queue string
	// Attempt counts how often the message was handed to a handler, this time
	// included, as far as the broker and this client know.
	Attempt int
	// Received is when this client got the message, of one that has headers: what
	// waits for its handler can be told from what waits in the broker.
	Received time.Time
}

// Handler does a consumer's work on deliveries in their order: one,
// or as many as Subscription.Batch allows. All are acknowledged when it returns
// nil, so what it does must be committed by then. After an error with several
// deliveries each is handed over alone; one alone comes again until the queue's
// DeliveryLimit.
type Handler func(ctx context.Context, deliveries []Delivery) error

// Queue is a durable queue. There is a dead-letter queue beside each, named by
// DeadLetters.
type Queue struct {
	Name  string   // lower-case letters, digits, hyphens
	Types []string // the message types that it takes in
	// DeliveryLimit is how often a message is handed to a failing handler; 0
	// means 10.
	DeliveryLimit int
}

// DeadLetters returns the name of a queue's dead-letter queue. It is consumed as any
// other queue, but has no dead letters of its own: its messages come again
// without end.
func DeadLetters(queue string) string { return queue + "-dead" }

// Topology describes the queues that a system needs of its broker.
type Topology struct {
	Exchange string // lower-case letters, digits, hyphens
	Queues   []Queue
}

// Subscription says how a queue is consumed. The zero values of the numbers mean
// what stands behind them.
type Subscription struct {
	Queue    string
	Prefetch int // how many messages may be unacknowledged (64)
	Batch    int // how many messages a handler may get at once (1)
}

// Depth holds the numbers of messages in a queue.
type Depth struct {
	Ready int // to be handed out
	// Unacked are handed out and neither acknowledged nor given back; -1 means
	// that the client cannot know (RabbitMQ without Config.Unacked).
	Unacked int
}

// Client works with one broker. Its methods may be called from many goroutines.
type Client interface {
	// Declare makes the topology where it is missing and remembers it: Publish
	// and Consume know the queues from it. It may be repeated, by every unit.
	Declare(ctx context.Context, topology Topology) error
	// Publish returns nil when the broker has confirmed every message, which
	// means that all are on its disk. Otherwise it returns a *PublishError that
	// says which are not confirmed; those may be in the queues or not, and may be
	// published again.
	Publish(ctx context.Context, messages ...Message) error
	// Consume hands the messages of a queue to the handler until ctx is done,
	// then returns nil. It outlives the loss of the connection. The handler's
	// context is ctx: a handler that is under way when it is done may still
	// finish, and its messages are acknowledged if it returns nil.
	Consume(ctx context.Context, subscription Subscription, handler Handler) error
	// Depth looks into a queue or a dead-letter queue.
	Depth(ctx context.Context, queue string) (Depth, error)
	// Delete removes what Declare made, with all messages.
	Delete(ctx context.Context) error
	// Held is the number of messages that this client's consumers have received and not settled:
	// they are in no queue that others see.
	Held() int
	// Counts returns what this client has done since it was opened.
	Counts() Counts
	// Close ends the connections. Consumers must have ended.
	Close() error
}

// PublishError says which messages of a Publish the broker did not confirm.
type PublishError struct {
	Unconfirmed []int // indexes into the arguments, rising
	Err         error // what happened to one of them
}

// Error implements error.
func (e *PublishError) Error() string {
	return fmt.Sprintf("publish: %d messages are not confirmed: %v", len(e.Unconfirmed), e.Err)
}

// Unwrap gives the cause.
func (e *PublishError) Unwrap() error { return e.Err }

// add notes that a message was not confirmed.
func (e *PublishError) add(index int, err error) *PublishError {
	if e == nil {
		e = &PublishError{Err: err}
	}
	e.Unconfirmed = append(e.Unconfirmed, index)
	return e
}

// result is the error, or a true nil.
func (e *PublishError) result() error {
	if e == nil {
		return nil
	}
	slices.Sort(e.Unconfirmed)
	return e
}

// Errors that callers tell apart.
var (
	// ErrUnrouted is a message that no queue takes in.
	ErrUnrouted = errors.New("no queue takes in this type of message")
	// ErrClosed is a client that was closed.
	ErrClosed = errors.New("the broker's client is closed")
	// ErrUnknownQueue is a queue that is not in the declared topology.
	ErrUnknownQueue = errors.New("the declared topology has no such queue")
)

// Driver names a broker.
type Driver string

// The brokers that Open knows.
const (
	RabbitMQ Driver = "rabbitmq"
	NATS     Driver = "nats"
)

// Config says which broker and how. The zero values of the numbers mean what
// stands behind them.
type Config struct {
	Driver Driver
	// URL has the credentials: nats://..., or amqp://...; behind that,
	// ?prefix=cleave_... is what the names of all exchanges and queues begin with, on a
	// RabbitMQ that others use, too. See Sweep.
	URL string
	// Classic asks RabbitMQ for classic durable queues instead of quorum queues.
	Classic bool
	// AckWait is after what time NATS gives the messages of a consumer that
	// died to another (5 s). RabbitMQ does so when it sees the connection end.
	AckWait time.Duration
	// Unacked counts what RabbitMQ's consumers have not acknowledged, by queue:
	// AMQP itself does not tell. Depth uses it where it is set.
	Unacked func(ctx context.Context) (map[string]int, error)
}

const (
	defaultDeliveryLimit = 10
	defaultPrefetch      = 64
	defaultAckWait       = 5 * time.Second
	// window limits the messages that one Publish may have on their way. NATS commits up to 1000 at once.
	window = 256
)

// Open makes a client. It connects when there is something to do, and waits for
// the broker as long as the context of that call allows.
func Open(config Config) (Client, error) {
	config.AckWait = cmp.Or(config.AckWait, defaultAckWait)
	switch config.Driver {
	case RabbitMQ:
		return openRabbit(config)
	case NATS:
		return openNATS(config)
	}
	return nil, fmt.Errorf("there is no broker %q (there are %s and %s)", config.Driver, RabbitMQ, NATS)
}

// check names every mistake in a topology.
func (t Topology) check() error {
	name := regexp.MustCompile(`^[a-z][a-z0-9-]{0,59}$`)
	kind := regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	var mistakes []error
	if !name.MatchString(t.Exchange) {
		mistakes = append(mistakes, fmt.Errorf("exchange %q: a name has lower-case letters, digits and hyphens",
			t.Exchange))
	}
	seen := map[string]bool{}
	for _, queue := range t.Queues {
		if !name.MatchString(queue.Name) {
			mistakes = append(mistakes, fmt.Errorf("queue %q: a name has lower-case letters, digits and hyphens",
				queue.Name))
		}
		if seen[queue.Name] || seen[DeadLetters(queue.Name)] {
			mistakes = append(mistakes, fmt.Errorf("queue %q is declared twice", queue.Name))
		}
		seen[queue.Name], seen[DeadLetters(queue.Name)] = true, true
		if queue.DeliveryLimit < 0 {
			mistakes = append(mistakes, fmt.Errorf("queue %q: delivery limit %d is negative", queue.Name,
				queue.DeliveryLimit))
		}
		if len(queue.Types) == 0 {
			mistakes = append(mistakes, fmt.Errorf("queue %q takes in nothing: give it message types", queue.Name))
		}
		for _, t := range queue.Types {
			if !kind.MatchString(t) {
				mistakes = append(mistakes, fmt.Errorf("queue %q: message type %q: it has words of letters, digits, - "+
					"and _, joined by dots", queue.Name, t))
			}
		}
	}
	return errors.Join(mistakes...)
}

// withDefaults fills in what was left open.
func (t Topology) withDefaults() Topology {
	t.Queues = slices.Clone(t.Queues)
	for n := range t.Queues {
		t.Queues[n].DeliveryLimit = cmp.Or(t.Queues[n].DeliveryLimit, defaultDeliveryLimit)
	}
	return t
}

// deliveryLimit returns the delivery limit of a queue; dead-letter queues have none, which is 0.
func (t Topology) deliveryLimit(queue string) (int, error) {
	for _, q := range t.Queues {
		switch queue {
		case q.Name:
			return q.DeliveryLimit, nil
		case DeadLetters(q.Name):
			return 0, nil
		}
	}
	return 0, fmt.Errorf("queue %q: %w", queue, ErrUnknownQueue)
}

// allQueues lists queues and dead-letter queues.
func (t Topology) allQueues() []string {
	var names []string
	for _, q := range t.Queues {
		names = append(names, q.Name, DeadLetters(q.Name))
	}
	return names
}

// withDefaults fills in what was left open.
func (s Subscription) withDefaults() Subscription {
	if s.Prefetch <= 0 {
		s.Prefetch = defaultPrefetch
	}
	s.Batch = max(1, s.Batch)
	return s
}
