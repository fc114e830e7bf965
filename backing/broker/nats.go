package broker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsClient is the client of NATS JetStream. A topology becomes a stream that keeps
// messages until all queues for their type have acknowledged them, with a durable
// consumer for each queue, and a second stream of the same kind for dead letters.
type natsClient struct {
	counters
	config   Config
	topology atomic.Pointer[Topology]

	mu         sync.Mutex // guards connection and closed
	connection *nats.Conn
	closed     bool
	server     atomic.Pointer[jetstream.JetStream] // of the connection; nil: not connected yet, or closed
	slots      chan struct{}                       // a semaphore: one entry per running publishBatch
	session    atomic.Pointer[session]
}

// session is a period without loss of the connection; ctx ends with it.
type session struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// renew ends the current session, if any, and begins the next.
func (c *natsClient) renew() {
	ctx, end := context.WithCancelCause(context.Background())
	if old := c.session.Swap(&session{ctx: ctx, end: end}); old != nil {
		old.end(errLost)
	}
}

const (
	// confirmWithin is the time for the server to confirm a message.
	confirmWithin = 30 * time.Second
	// maxUnacked is the number of unacknowledged messages that all consumers of a queue may
	// hold together.
	maxUnacked = 1 << 16
	// The headers that this client adds to those of the sender.
	natsID, natsType, natsKey = "Cleave-Id", "Cleave-Type", "Cleave-Key"
)

func openNATS(config Config) *natsClient {
	c := &natsClient{config: config, slots: make(chan struct{}, publishers)}
	c.topology.Store(&Topology{})
	c.renew()
	return c
}

// withSession returns a context that ends with ctx or with the current session: requests that were
// sent over a lost connection get no answer.
func (c *natsClient) withSession(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, abandon := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.session.Load().ctx, func() { abandon(errLost) })
	return ctx, func() {
		stop()
		abandon(nil)
	}
}

// jetStream returns the connection's JetStream. The first call connects; after that the
// library itself reconnects.
func (c *natsClient) jetStream(ctx context.Context) (jetstream.JetStream, error) {
	if server := c.server.Load(); server != nil {
		return *server, nil
	}
	return connectTo(ctx, "nats", c.connect, ErrClosed, nats.ErrAuthorization)
}

// connect returns the connection's JetStream, and connects if there is no connection.
func (c *natsClient) connect() (jetstream.JetStream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if server := c.server.Load(); server != nil {
		return *server, nil
	}
	connection, err := nats.Connect(c.config.URL, nats.Name("cleave"), nats.Timeout(dialWithin),
		nats.MaxReconnects(-1), nats.ReconnectWait(firstPause), nats.PingInterval(heartbeat),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { c.renew() }))
	if err != nil {
		return nil, err
	}
	server, err := jetstream.New(connection)
	if err != nil {
		connection.Close()
		return nil, err
	}
	c.connection = connection
	c.server.Store(&server)
	return server, nil
}

// Declare implements Client.
func (c *natsClient) Declare(ctx context.Context, topology Topology) error {
	if err := topology.check(); err != nil {
		return fmt.Errorf("declare topology: %w", err)
	}
	topology = topology.withDefaults()
	server, err := c.jetStream(ctx)
	if err != nil {
		return fmt.Errorf("declare topology: %w", err)
	}
	for _, exchange := range []string{topology.Exchange, DeadLetters(topology.Exchange)} {
		if err := declareStream(ctx, server, exchange); err != nil {
			return fmt.Errorf("declare stream %s in nats: %w", exchange, err)
		}
	}
	for _, queue := range topology.Queues {
		if err := c.declareQueue(ctx, server, topology.Exchange, queue); err != nil {
			return fmt.Errorf("declare queue %s in nats: %w", queue.Name, err)
		}
	}
	c.topology.Store(&topology)
	return nil
}

// declareStream creates the stream if it does not exist. It does not update it: all
// units declare at the same time, and in nats-server 2.15 an update of a stream races
// with the creation of its consumers.
func declareStream(ctx context.Context, server jetstream.JetStream, exchange string) error {
	_, err := server.CreateStream(ctx, jetstream.StreamConfig{
		Name: exchange, Subjects: []string{exchange + ".>"},
		Retention: jetstream.InterestPolicy, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
		AllowAtomicPublish: true, // see commitBatch
	})
	return err
}

// declareQueue creates the consumers of a queue and of its dead-letter queue, if they do not exist.
func (c *natsClient) declareQueue(
	ctx context.Context, server jetstream.JetStream, exchange string, queue Queue,
) error {
	consumer := jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.config.AckWait, MaxAckPending: maxUnacked,
		// No limit: the client itself moves dead letters, by the server's count of
		// deliveries. A server with a limit reports an exhausted message only to clients
		// that listen at that moment.
		MaxDeliver: -1,
	}
	dead := consumer
	dead.Durable = DeadLetters(queue.Name)
	dead.FilterSubject = subject(DeadLetters(exchange), queue.Name)
	if _, err := server.CreateOrUpdateConsumer(ctx, DeadLetters(exchange), dead); err != nil {
		return err
	}
	consumer.Durable = queue.Name
	for _, kind := range queue.Types {
		consumer.FilterSubjects = append(consumer.FilterSubjects, subject(exchange, kind))
	}
	_, err := server.CreateOrUpdateConsumer(ctx, exchange, consumer)
	return err
}

func subject(exchange, kind string) string { return exchange + "." + kind }

// streamOf returns the name of the stream with a queue's messages.
func (t Topology) streamOf(queue string) string {
	if slices.ContainsFunc(t.Queues, func(q Queue) bool { return DeadLetters(q.Name) == queue }) {
		return DeadLetters(t.Exchange)
	}
	return t.Exchange
}

// consumer returns the server's consumer of a queue.
func (c *natsClient) consumer(ctx context.Context, queue string) (jetstream.Consumer, error) {
	topology := c.topology.Load()
	if _, err := topology.deliveryLimit(queue); err != nil {
		return nil, err
	}
	server, err := c.jetStream(ctx)
	if err != nil {
		return nil, err
	}
	return server.Consumer(ctx, topology.streamOf(queue), queue)
}

// Depth implements Client.
func (c *natsClient) Depth(ctx context.Context, queue string) (Depth, error) {
	var info *jetstream.ConsumerInfo
	consumer, err := c.consumer(ctx, queue)
	if err == nil {
		info, err = consumer.Info(ctx)
	}
	if err != nil {
		return Depth{}, fmt.Errorf("depth of %s in nats: %w", queue, err)
	}
	return Depth{Ready: int(info.NumPending), Unacked: info.NumAckPending}, nil
}

// Close implements Client.
func (c *natsClient) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.server.Store(nil)
	if c.connection != nil {
		c.connection.Close()
	}
	return nil
}
