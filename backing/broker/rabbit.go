package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbit is the client of RabbitMQ. It publishes and consumes over separate
// connections: the broker throttles a connection that publishes too fast, and
// acknowledgements must not wait for that.
type rabbit struct {
	counters
	config     Config
	prefix     string // of all names in the broker; see Config.URL
	topology   atomic.Pointer[Topology]
	publishing *link
	consuming  *link
	// idle holds the unused channels in confirm mode; slots limits the number of channels
	// in use.
	idle  chan *confirming
	slots chan struct{}
}

func openRabbit(config Config) (*rabbit, error) {
	uri, err := amqp.ParseURI(config.URL)
	if err != nil {
		return nil, fmt.Errorf("open rabbitmq: %w", err)
	}
	prefix, err := prefixOf(config.URL)
	if err != nil {
		return nil, fmt.Errorf("open rabbitmq at %s: %w", uri.Host, err)
	}
	r := &rabbit{
		config: config, prefix: prefix, publishing: &link{url: config.URL}, consuming: &link{url: config.URL},
		idle: make(chan *confirming, publishers), slots: make(chan struct{}, publishers),
	}
	r.topology.Store(&Topology{})
	return r, nil
}

// link is a connection that is established on demand, and again after it was lost.
type link struct {
	url        string
	mu         sync.Mutex
	connection *amqp.Connection
	wire       *wire // the socket of the connection; it can gather writes
	closed     bool
}

// channel opens a channel. It waits for the broker until ctx ends, but fails at once with
// wrong credentials.
func (l *link) channel(ctx context.Context) (*amqp.Channel, error) {
	return connectTo(ctx, "rabbitmq", l.tryChannel, ErrClosed, amqp.ErrCredentials, amqp.ErrVhost)
}

func (l *link) tryChannel() (*amqp.Channel, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.connection == nil || l.connection.IsClosed() {
		connection, err := amqp.DialConfig(l.url, amqp.Config{Heartbeat: heartbeat, Dial: l.dial,
			Properties: amqp.Table{"product": "cleave"}})
		if err != nil {
			return nil, err
		}
		l.connection = connection
	}
	return l.connection.Channel()
}

// dial dials for amqp.DialConfig and stores the new connection in l.wire. The caller holds mu.
func (l *link) dial(network, address string) (net.Conn, error) {
	connection, err := amqp.DefaultDial(dialWithin)(network, address)
	if err != nil {
		return nil, err
	}
	l.wire = &wire{Conn: connection}
	return l.wire, nil
}

// currentWire returns the wire of the current connection.
func (l *link) currentWire() *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wire
}

func (l *link) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.connection == nil || l.connection.IsClosed() {
		return nil
	}
	err := l.connection.Close()
	if errors.Is(err, amqp.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return nil // it was lost meanwhile
	}
	return err
}

// Declare implements Client. If the names have a prefix, it first notes them in the broker: there Sweep finds
// them if this client dies.
func (r *rabbit) Declare(ctx context.Context, topology Topology) error {
	if err := topology.check(); err != nil {
		return fmt.Errorf("declare topology: %w", err)
	}
	topology = topology.withDefaults()
	isNew, err := r.lacksQueue(ctx, topology)
	if err == nil && isNew {
		err = r.writeNote(ctx, topology)
	}
	if err == nil {
		err = r.withChannel(ctx, func(channel *amqp.Channel) error { return r.declare(channel, topology) })
	}
	if err != nil {
		return fmt.Errorf("declare topology in rabbitmq: %w", err)
	}
	r.topology.Store(&topology)
	if isNew && !r.config.Classic {
		pause(ctx, savedAfter)
	}
	return nil
}

// declare declares the exchange and the queues.
func (r *rabbit) declare(channel *amqp.Channel, topology Topology) error {
	if err := channel.ExchangeDeclare(r.prefix+topology.Exchange, amqp.ExchangeDirect, true, false, false,
		false, nil); err != nil {
		return fmt.Errorf("exchange %s: %w", topology.Exchange, err)
	}
	for _, queue := range topology.Queues {
		if err := r.declareQueue(channel, topology.Exchange, queue); err != nil {
			return fmt.Errorf("queue %s: %w", queue.Name, err)
		}
	}
	return nil
}

// savedAfter is the time that Declare waits for RabbitMQ to save the existence of a new
// quorum queue. RabbitMQ does so half a second after the declaration (ra 2.2,
// ra_directory: the auto_save of its table). If it is killed before, it recreates the
// queue without the messages that it has confirmed.
const savedAfter = time.Second

// lacksQueue reports whether a queue of the topology is missing in the broker.
func (r *rabbit) lacksQueue(ctx context.Context, topology Topology) (bool, error) {
	for _, queue := range topology.allQueues() {
		err := r.withChannel(ctx, func(channel *amqp.Channel) error {
			_, err := channel.QueueDeclarePassive(r.prefix+queue, true, false, false, false, nil)
			return err
		})
		if isRefused(err, amqp.NotFound) && !comingUp(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func (r *rabbit) declareQueue(channel *amqp.Channel, exchange string, queue Queue) error {
	name := r.prefix + queue.Name
	dead := r.prefix + DeadLetters(queue.Name)
	if _, err := channel.QueueDeclare(dead, true, false, false, false, r.arguments()); err != nil {
		return err
	}
	arguments := r.arguments()
	arguments["x-dead-letter-exchange"] = "" // the default exchange, which routes by the queue's name
	arguments["x-dead-letter-routing-key"] = dead
	if !r.config.Classic {
		// The client itself moves a message that its handler rejects, one attempt before
		// this limit. The broker moves a message that kills its consumers; at-least-once
		// keeps it until the dead-letter queue has it.
		arguments["x-delivery-limit"] = queue.DeliveryLimit
		arguments["x-dead-letter-strategy"] = "at-least-once"
		arguments["x-overflow"] = "reject-publish"
	}
	if _, err := channel.QueueDeclare(name, true, false, false, false, arguments); err != nil {
		return err
	}
	for _, kind := range queue.Types {
		if err := channel.QueueBind(name, kind, r.prefix+exchange, false, nil); err != nil {
			return fmt.Errorf("bind %s: %w", kind, err)
		}
	}
	return nil
}

func (r *rabbit) arguments() amqp.Table {
	if r.config.Classic {
		return amqp.Table{"x-queue-type": "classic"}
	}
	return amqp.Table{"x-queue-type": "quorum"}
}

// withChannel calls work with a new channel for administration. The channel is not reused, because the
// broker closes a channel at the first error.
func (r *rabbit) withChannel(ctx context.Context, work func(*amqp.Channel) error) error {
	return whenUp(ctx, func() error {
		channel, err := r.consuming.channel(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = channel.Close() }() // an error may have closed it already
		return work(channel)
	})
}

// whenUp retries work while it fails because a queue is coming up.
func whenUp(ctx context.Context, work func() error) error {
	for deadline := time.Now().Add(upWithin); ; pause(ctx, upEvery) {
		if err := work(); !comingUp(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
	}
}

// The time for a queue to become usable, and the interval of checks.
const upWithin, upEvery = time.Minute, 50 * time.Millisecond

// comingUp reports whether an error means that a queue exists but cannot be used yet:
// another client is declaring it, or RabbitMQ is recovering it after a start. The code of
// the error is that of a missing queue.
func comingUp(err error) bool {
	refused, is := errors.AsType[*amqp.Error](err)
	return is && refused.Code == amqp.NotFound && strings.HasSuffix(refused.Reason, "is down or inaccessible")
}

// isRefused reports whether the broker has refused a request with one of these codes.
func isRefused(err error, codes ...int) bool {
	refused, is := errors.AsType[*amqp.Error](err)
	return is && slices.Contains(codes, refused.Code)
}

// Depth implements Client.
func (r *rabbit) Depth(ctx context.Context, queue string) (Depth, error) {
	depth := Depth{Unacked: -1}
	_, err := r.topology.Load().deliveryLimit(queue)
	if err == nil {
		err = r.withChannel(ctx, func(channel *amqp.Channel) error {
			state, err := channel.QueueDeclarePassive(r.prefix+queue, true, false, false, false, nil)
			depth.Ready = state.Messages
			return err
		})
	}
	if err == nil && r.config.Unacked != nil {
		var all map[string]int
		if all, err = r.config.Unacked(ctx); err == nil {
			depth.Unacked = all[r.prefix+queue]
		}
	}
	if err != nil {
		return depth, fmt.Errorf("depth of %s in rabbitmq: %w", queue, err)
	}
	return depth, nil
}

// Close implements Client.
func (r *rabbit) Close() error {
	return errors.Join(r.publishing.close(), r.consuming.close())
}
