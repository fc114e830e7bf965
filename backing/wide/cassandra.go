package wide

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/cleave-lab/cleave/backing/database"
)

// cassandra is the driver for one node of Cassandra. gocql caches prepared statements.
type cassandra struct {
	session     *gocql.Session
	connections int
}

const (
	// answerWithin bounds a request whose context has no earlier deadline.
	answerWithin = 10 * time.Second
	// connectWithin bounds each connection attempt. The driver takes no context for it.
	connectWithin = 5 * time.Second
	// reconnectEvery is the interval of attempts to reach a node that is down, while there are no requests.
	reconnectEvery = 250 * time.Millisecond
)

func openCassandra(ctx context.Context, address *url.URL, options Options) (driver, error) {
	setup, err := connectCassandra(ctx, address, "", 1)
	if err != nil {
		return nil, err
	}
	defer closeSession(setup)
	if err := checkDurable(ctx, setup, address); err != nil {
		return nil, err
	}
	err = setup.Query(fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %q WITH replication = "+
		"{'class': 'SimpleStrategy', 'replication_factor': 1}", options.Keyspace)).ExecContext(ctx)
	if err != nil {
		return nil, cassandraFailure(err)
	}
	session, err := connectCassandra(ctx, address, options.Keyspace, options.Connections)
	if err != nil {
		return nil, err
	}
	return cassandra{session, options.Connections}, nil
}

// connectCassandra opens a session that dials only the node of the address: the addresses
// that a node reports for itself and its peers need not be reachable from here.
func connectCassandra(
	ctx context.Context, address *url.URL, keyspace string, connections int,
) (*gocql.Session, error) {
	node, err := (&net.Resolver{}).LookupIPAddr(ctx, address.Hostname())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		return nil, errors.New("the address has no port: Cassandra's default is 9042")
	}
	password, _ := address.User.Password()
	cluster := gocql.NewCluster(net.JoinHostPort(node[0].String(), address.Port()))
	cluster.Dialer = nameDialer(address.Host)
	cluster.Keyspace = keyspace
	cluster.NumConns = connections
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: address.User.Username(), Password: password}
	cluster.AddressTranslator = gocql.AddressTranslatorFunc(func(net.IP, int) (net.IP, int) {
		return node[0].IP, port
	})
	cluster.Metadata.CacheMode = gocql.Disabled // the schema metadata is not used
	cluster.Events.DisableNodeStatusEvents = true
	cluster.Events.DisableTopologyEvents = true
	cluster.Timeout = answerWithin
	cluster.ConnectTimeout = connectWithin
	only := &onlyNode{}
	cluster.ConvictionPolicy = only
	cluster.ReconnectInterval = 0 // onlyNode makes the driver reconnect
	// The node's own timestamps are monotonic; those of several clients are not.
	cluster.DefaultTimestamp = false
	// Otherwise a single request waits for others to share a system call with.
	cluster.WriteCoalesceWaitTime = 0
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, fmt.Errorf("is Cassandra running, and are address, name and password right? %w",
			cassandraFailure(err))
	}
	only.session.Store(session)
	return session, nil
}

// nameDialer dials host:port by name. The driver knows only one address of the host;
// net.Dialer tries all of them (RFC 8305).
type nameDialer string

// DialContext implements gocql.Dialer.
func (d nameDialer) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{Timeout: connectWithin}).DialContext(ctx, network, string(d))
}

// onlyNode is a conviction policy that never marks the node as down: there is no other. Once it is marked,
// the driver can lose the node for good: the goroutine that marks it also removes connections that another
// goroutine has just made, and the driver does not reconnect to a node that is up and has no connections.
type onlyNode struct{ session atomic.Pointer[gocql.Session] }

// AddFailure implements gocql.ConvictionPolicy. A request without a connection makes the driver
// connect; this sends one in case the caller sends none.
func (n *onlyNode) AddFailure(error, *gocql.HostInfo) (down bool) {
	if session := n.session.Load(); session != nil {
		// If it fails, AddFailure is called again.
		time.AfterFunc(reconnectEvery, func() { _ = session.Query("SELECT key FROM system.local").Exec() })
	}
	return false
}

// Reset implements gocql.ConvictionPolicy.
func (n *onlyNode) Reset(*gocql.HostInfo) {}

// checkDurable returns an error if the server may lose acknowledged writes, unless the
// address allows that. It acknowledges before it syncs only if its syncs are periodic.
func checkDurable(ctx context.Context, session *gocql.Session, address *url.URL) error {
	var sync string
	err := session.Query("SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'").
		ScanContext(ctx, &sync)
	if err != nil {
		return fmt.Errorf("ask when it writes to disk: %w", cassandraFailure(err))
	}
	if sync == "periodic" && address.Query().Get("commitlog_sync") != sync {
		return errors.New("it acknowledges what is not on the disk yet: set commitlog_sync: batch in " +
			"cassandra.yaml, or end the address with ?commitlog_sync=periodic where a crash may cost the last seconds")
	}
	return nil
}

func (c cassandra) createTable(ctx context.Context, table Table) error {
	columns := ""
	for _, column := range table.Columns {
		columns += fmt.Sprintf(", %q blob", column)
	}
	text := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %q (%q uuid PRIMARY KEY%s)", table.Name, keyColumn, columns)
	return cassandraFailure(c.session.Query(text).ExecContext(ctx))
}

func (c cassandra) insert(ctx context.Context, table *statements, key [16]byte, values [][]byte) error {
	arguments := make([]any, 0, 1+len(values))
	arguments = append(arguments, gocql.UUID(key))
	for _, value := range values {
		arguments = append(arguments, value)
	}
	ctx, span := database.BeginSpan(ctx, "INSERT", table.Name)
	defer span.End()
	return cassandraFailure(c.retryCanceled(ctx, func() error {
		return c.session.Query("INSERT"+table.insert, arguments...).ExecContext(ctx)
	}))
}

func (c cassandra) get(ctx context.Context, table *statements, key [16]byte) ([][]byte, error) {
	ctx, span := database.BeginSpan(ctx, "SELECT", table.Name)
	defer span.End()
	values := make([][]byte, len(table.Columns))
	err := c.retryCanceled(ctx, func() error {
		return c.session.Query(table.get, gocql.UUID(key)).ScanContext(ctx, destinations(values)...)
	})
	if errors.Is(err, gocql.ErrNotFound) {
		return nil, nil
	}
	return values, cassandraFailure(err)
}

// retryCanceled runs an idempotent statement, and again if the driver's connection ended meanwhile: the
// driver then returns context.Canceled although the caller's context has not ended. All its connections may
// have ended, so it tries once more than there are.
func (c cassandra) retryCanceled(ctx context.Context, run func() error) error {
	for range 1 + c.connections {
		err := run()
		if !errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return err
		}
	}
	return errors.New("the driver has canceled the statement on every connection")
}

// page implements driver; a position is the server's paging state.
func (c cassandra) page(
	ctx context.Context, table Table, from []byte,
) (records []record, next []byte, err error) {
	err = c.retryCanceled(ctx, func() error {
		records, next = nil, nil
		rows := c.session.Query(table.selectAll()).PageSize(pageSize).PageState(from).IterContext(ctx)
		if state := rows.PageState(); len(state) > 0 {
			next = state
		}
		for {
			r := record{values: make([][]byte, len(table.Columns))}
			row := append([]any{(*gocql.UUID)(&r.key)}, destinations(r.values)...)
			if !rows.Scan(row...) {
				return rows.Close()
			}
			records = append(records, r)
		}
	})
	return records, next, cassandraFailure(err)
}

// closeTimeout is the time for the driver to close a session.
const closeTimeout = 10 * time.Second

func (c cassandra) close() error {
	closeSession(c.session)
	return nil
}

// closeSession closes a session, or gives up after closeTimeout and leaves it open. Close of gocql 2.1.2 can
// hang while the control connection reconnects: the reconnection waits for a goroutine that Close has
// stopped.
func closeSession(session *gocql.Session) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		session.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeTimeout):
	}
}

// cassandraFailure returns errors of contexts and of wrong statements, whose codes begin with
// ErrCodeSyntax, as they are. It wraps all others in ErrUnavailable: the server does not answer or
// cannot work now.
func cassandraFailure(err error) error {
	var answer gocql.RequestError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &answer) && answer.Code() >= gocql.ErrCodeSyntax:
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
