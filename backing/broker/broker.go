// Package broker is the client of a message broker: RabbitMQ (quorum or classic
// durable queues) or NATS JetStream, behind one interface with the same semantics
// for both.
//
// Guarantees for both, tested against the real servers:
//
//   - At least once. A message whose Publish returned nil is in every queue for its
//     type, on the disk, and stays there until a handler has returned nil for it. It
//     may be delivered more than once: a handler recognises repetitions by ID.
//   - Nothing unrouted. A type without a queue is an error.
//   - Order. One Publish puts its messages into a queue in their order. A Consume
//     that is the only one of its queue passes messages to the handler one after
//     the other, in the order of the queue, even if the handler fails and is called
//     again. After the death of a consumer or the broker, unacknowledged messages
//     are delivered again, possibly after newer ones.
//   - Bounded work. A Consume holds at most Prefetch messages.
//   - No poison. A message whose handler failed DeliveryLimit times is moved to
//     the dead-letter queue of its queue, and only then acknowledged. Attempts
//     that ended with the death of the consumer count as well, except over
//     classic queues, which do not count them.
//   - Restarts. Calls wait for a broker that restarts.
//
// It starts no server (backing/server does).
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
	"strings"
	"time"
)

// Message is one message, as it is published.
type Message struct {
	ID      string // unique; repetitions of the message have the same
	Type    string // determines its queues: words of letters, digits, - and _, joined by dots
	Key     string // identifies what the message is about, for its handlers; brokers ignore it
	Headers map[string]string
	Body    []byte
}

// Delivery is a message that a queue delivers.
type Delivery struct {
	Message
	Queue string
	// Attempt is the number of deliveries of the message, including this one, as far as
	// the broker and this client know.
	Attempt int
	// Received is the time at which this client got the message. Traces use it to separate the wait for the
	// handler from the wait in the broker. It is zero if the message has no headers, because such a message
	// belongs to no trace.
	Received time.Time
}

// Handler handles deliveries in their order: one, or as many as Subscription.Batch
// allows. All are acknowledged when it returns nil, so their effects must be committed
// by then. After an error with several deliveries, each is delivered alone; a single
// one is delivered again until the queue's DeliveryLimit.
type Handler func(ctx context.Context, deliveries []Delivery) error

// Queue is a durable queue. Each has a dead-letter queue, see DeadLetters.
type Queue struct {
	Name  string   // up to 60 lower-case letters, digits and hyphens, a letter first
	Types []string // the message types that it receives
	// DeliveryLimit is the number of times that a message is delivered to a failing
	// handler; 0 means 10.
	DeliveryLimit int
}

// DeadLetters returns the name of a queue's dead-letter queue. It is consumed like any
// other queue, but has no dead letters of its own: a message that keeps failing is
// delivered again without end.
func DeadLetters(queue string) string { return queue + "-dead" }

// Topology describes the exchange and the queues of a system.
type Topology struct {
	Exchange string // up to 60 lower-case letters, digits and hyphens, a letter first
	Queues   []Queue
}

// Subscription configures the consumption of a queue. The defaults of zero values are in
// parentheses.
type Subscription struct {
	Queue    string
	Prefetch int // unacknowledged messages at most (64)
	Batch    int // messages at most per call of the handler (1)
}

// Depth holds the numbers of messages in a queue.
type Depth struct {
	Ready int // not delivered
	// Unacked counts messages that are delivered and not settled; -1 means that the client
	// cannot know (RabbitMQ without Config.Unacked).
	Unacked int
}

// Client is a client of one broker. It is safe for concurrent use.
type Client interface {
	// Declare creates the parts of the topology that do not exist, and remembers it for
	// Publish and Consume. Every unit may call it, any number of times.
	Declare(ctx context.Context, topology Topology) error
	// Publish returns nil when the broker has confirmed every message, which means that
	// all are on its disk. Otherwise it returns a *PublishError with the unconfirmed ones;
	// those may or may not be in the queues, and may be published again.
	Publish(ctx context.Context, messages ...Message) error
	// Consume passes the messages of a queue to the handler until ctx ends, then returns
	// nil. It survives the loss of the connection. It returns an error if a retry cannot
	// help: the topology or the broker does not have the queue, the broker refuses access
	// to it, or the client is closed. The handler's context is ctx: a handler that is
	// running when ctx ends may finish, and its messages are acknowledged if it returns nil.
	Consume(ctx context.Context, subscription Subscription, handler Handler) error
	// Depth returns the depth of a queue or a dead-letter queue.
	Depth(ctx context.Context, queue string) (Depth, error)
	// Held returns the number of messages that this client's consumers have received and
	// not settled: other clients cannot see them in a queue.
	Held() int
	// Counts returns the counts of messages since the client was opened.
	Counts() Counts
	// Close closes the connections. All calls of Consume must have returned.
	Close() error
}

// PublishError lists the messages of a Publish that the broker did not confirm.
type PublishError struct {
	Unconfirmed []int // indexes into the arguments, ascending
	Err         error // the error of one of them
}

// Error implements error.
func (e *PublishError) Error() string {
	return fmt.Sprintf("publish: %d messages are not confirmed: %v", len(e.Unconfirmed), e.Err)
}

// Unwrap returns Err.
func (e *PublishError) Unwrap() error { return e.Err }

// add adds an unconfirmed message. A nil receiver becomes a new error.
func (e *PublishError) add(index int, err error) *PublishError {
	if e == nil {
		e = &PublishError{Err: err}
	}
	e.Unconfirmed = append(e.Unconfirmed, index)
	return e
}

// result returns e as an error: a nil e becomes a nil error.
func (e *PublishError) result() error {
	if e == nil {
		return nil
	}
	slices.Sort(e.Unconfirmed)
	return e
}

// The errors of a Client, for errors.Is.
var (
	// ErrUnrouted means that no queue receives the type of a message.
	ErrUnrouted = errors.New("no queue receives this type of message")
	// ErrClosed means that the client was closed.
	ErrClosed = errors.New("the broker's client is closed")
	// ErrUnknownQueue means that a queue is not in the declared topology.
	ErrUnknownQueue = errors.New("the declared topology has no such queue")
)

// Config configures a client. The defaults of zero values are in parentheses.
type Config struct {
	// URL is nats://... or amqp://..., with credentials. On a RabbitMQ that others use,
	// too, ?prefix=cleave_... is the prefix of the names of all exchanges and queues. See
	// Sweep.
	URL string
	// Classic selects RabbitMQ's classic durable queues instead of quorum queues.
	Classic bool
	// AckWait is the time after which NATS delivers the messages of a dead consumer to
	// another (5 s). RabbitMQ does so when it sees the connection end.
	AckWait time.Duration
	// Unacked returns the numbers of RabbitMQ's unacknowledged messages by queue, which AMQP
	// does not report. Depth uses it if it is set.
	Unacked func(ctx context.Context) (map[string]int, error)
}

const (
	defaultDeliveryLimit = 10
	defaultPrefetch      = 64
	defaultAckWait       = 5 * time.Second
	// window is the number of messages that one Publish sends before it waits for confirmations. NATS commits
	// up to 1000 at once.
	window = 256
)

// Open returns a client. It connects with the first call, which waits for the broker as
// long as its context allows.
func Open(config Config) (Client, error) {
	config.AckWait = cmp.Or(config.AckWait, defaultAckWait)
	if strings.HasPrefix(config.URL, "nats://") {
		return openNATS(config), nil
	}
	return openRabbit(config)
}

// check returns all mistakes in a topology as one error.
func (t Topology) check() error {
	name := regexp.MustCompile(`^[a-z][a-z0-9-]{0,59}$`)
	kind := regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	var mistakes []error
	expect := func(holds bool, format string, args ...any) {
		if !holds {
			mistakes = append(mistakes, fmt.Errorf(format, args...))
		}
	}
	const badName = "%s %q: a name has up to 60 lower-case letters, digits and hyphens, a letter first"
	expect(name.MatchString(t.Exchange), badName, "exchange", t.Exchange)
	seen := map[string]bool{}
	for _, queue := range t.Queues {
		expect(name.MatchString(queue.Name), badName, "queue", queue.Name)
		expect(!seen[queue.Name] && !seen[DeadLetters(queue.Name)], "queue %q is declared twice", queue.Name)
		seen[queue.Name] = true
		seen[DeadLetters(queue.Name)] = true
		expect(queue.DeliveryLimit >= 0, "queue %q: delivery limit %d is negative", queue.Name, queue.DeliveryLimit)
		expect(len(queue.Types) > 0, "queue %q receives nothing: give it message types", queue.Name)
		for _, one := range queue.Types {
			expect(kind.MatchString(one), "queue %q: message type %q: it has words of letters, digits, - and _, "+
				"joined by dots", queue.Name, one)
		}
	}
	return errors.Join(mistakes...)
}

// withDefaults returns the topology with the defaults of zero values.
func (t Topology) withDefaults() Topology {
	t.Queues = slices.Clone(t.Queues)
	for n := range t.Queues {
		t.Queues[n].DeliveryLimit = cmp.Or(t.Queues[n].DeliveryLimit, defaultDeliveryLimit)
	}
	return t
}

// deliveryLimit returns the delivery limit of a queue: 0, which means none, for dead-letter queues.
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

// withDefaults returns the subscription with the defaults of zero values.
func (s Subscription) withDefaults() Subscription {
	if s.Prefetch <= 0 {
		s.Prefetch = defaultPrefetch
	}
	s.Batch = max(1, s.Batch)
	return s
}
