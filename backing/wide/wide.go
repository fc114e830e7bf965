// Package wide is the client of a wide-column store: records of blobs by key, in Apache
// Cassandra (CQL through Apache's driver) or in SQLite, with the same semantics in both.
//
// A record is on the disk when Insert returns, in both. Open refuses a server that
// acknowledges earlier, such as Cassandra with a periodic commitlog_sync, unless the
// address allows it.
//
// It starts no server (backing/server does) and has no secondary indexes.
//
// Entry points: Open, Store.
package wide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// Table describes a set of records. The key is a column in addition to Columns.
type Table struct {
	Name    string   // has lower-case letters, digits and underscores, as the names of columns do
	Columns []string // names of columns of blobs, in the order of a record's values
}

// Options configures a client.
type Options struct {
	// Keyspace is the database of the tables; it is created if it does not exist.
	Keyspace string
	// Connections is the number of connections to each host; 0 means 8.
	Connections int
	// InFlight is the maximum number of concurrent requests; 0 means 1024. Further calls
	// wait for their turn or the end of their context.
	InFlight int
}

// MaxRecord is the largest sum of the lengths of a record's values, in bytes.
const MaxRecord = 1 << 20

// The errors of a Store, for errors.Is, in addition to those of contexts.
var (
	// ErrNotFound means that there is no record with that key.
	ErrNotFound = errors.New("there is no such record")
	// ErrTooLarge means that a record has more than MaxRecord bytes.
	ErrTooLarge = fmt.Errorf("the record has more than %d bytes", MaxRecord)
	// ErrUnavailable means that the store did not answer, or refuses all work for now. The
	// request may have been carried out.
	ErrUnavailable = errors.New("the store does not answer")
)

// Store is a client. It is safe for concurrent use. CreateTables, Insert and Get are
// idempotent: a call may be repeated after an error.
type Store struct {
	driver driver
	slots  chan struct{} // a semaphore with an entry per running request
	mu     sync.RWMutex
	tables map[string]*statements
}

// driver is one kind of store. Its caller has checked all arguments.
type driver interface {
	createTable(ctx context.Context, table Table) error
	insert(ctx context.Context, table *statements, key [16]byte, values [][]byte) error
	// get returns nil if there is no such record.
	get(ctx context.Context, table *statements, key [16]byte) ([][]byte, error)
	// page returns the page of records at a position, and the position of the next page. The
	// position is nil for the first page; next is nil after the last.
	page(ctx context.Context, table Table, from []byte) (records []record, next []byte, err error)
	close() error
}

// record is a key with the values of its columns.
type record struct {
	key    [16]byte
	values [][]byte
}

// pageSize is the number of records that are fetched at a time.
const pageSize = 500

// Open connects, and checks that the store answers and keeps what it acknowledges. The
// address holds a password: keep it out of arguments and messages.
//
//	sqlite:///folder                                             a file for each keyspace
//	cassandra://user:password@host:port
//	cassandra://user:password@host:port?commitlog_sync=periodic  may lose the last seconds
func Open(ctx context.Context, address string, options Options) (*Store, error) {
	options.Connections = cmp.Or(options.Connections, 8)
	options.InFlight = cmp.Or(options.InFlight, 1024)
	if options.Connections < 0 || options.InFlight < 0 {
		return nil,
			fmt.Errorf("open wide-column store: %d connections and %d requests in flight: give at least one of each",
				options.Connections, options.InFlight)
	}
	if err := checkNames("keyspace", options.Keyspace); err != nil {
		return nil, fmt.Errorf("open wide-column store: %w", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("open wide-column store: its address is not a URL") // err contains the password
	}
	store := &Store{slots: make(chan struct{}, options.InFlight), tables: map[string]*statements{}}
	switch {
	case u.Scheme == "sqlite" && u.Host == "" && filepath.IsAbs(u.Path):
		store.driver, err = openSQLite(ctx, u.Path, options)
	case u.Scheme == "cassandra" && u.Host != "":
		store.driver, err = openCassandra(ctx, u, options)
	default:
		return nil, fmt.Errorf("open wide-column store: its address is %s: use sqlite:///folder or "+
			"cassandra://user:password@host:port", u.Redacted())
	}
	if err != nil {
		return nil, fmt.Errorf("open keyspace %s of %s: %w", options.Keyspace, u.Redacted(), err)
	}
	return store, nil
}

// checkNames returns an error for names that could have a special meaning in a statement or need escapes
// between quotes. Keywords are allowed, because statements quote all names. kind says what the names stand
// for, for the message.
func checkNames(kind string, names ...string) error {
	good := regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	for _, name := range names {
		if !good.MatchString(name) {
			return fmt.Errorf("%s %q: a name has up to 40 lower-case letters, digits and underscores, a letter first",
				kind, name)
		}
	}
	return nil
}

// Close closes the connections. No method may be running.
func (s *Store) Close() error { return s.driver.close() }

// CreateTables creates the tables that do not exist. Insert, Get and Each return an error for a table that
// was not passed to CreateTables of the same Store.
func (s *Store) CreateTables(ctx context.Context, tables ...Table) error {
	for _, table := range tables {
		if len(table.Columns) == 0 {
			return fmt.Errorf("table %q has no columns: give at least one", table.Name)
		}
		if err := errors.Join(checkNames("table", table.Name), checkNames("column", table.Columns...)); err != nil {
			return err
		}
		if err := s.request(ctx, func() error { return s.driver.createTable(ctx, table) }); err != nil {
			return fmt.Errorf("create table %s: %w", table.Name, err)
		}
		s.mu.Lock()
		s.tables[table.Name] = newStatements(table)
		s.mu.Unlock()
	}
	return nil
}

// Insert writes a record, with a value for each column. It replaces a record with the
// same key. A nil value is stored as an empty one.
func (s *Store) Insert(ctx context.Context, table string, key [16]byte, values ...[]byte) error {
	t, err := s.table(table)
	if err != nil {
		return err
	}
	if len(values) != len(t.Columns) {
		return fmt.Errorf("insert into %s: %d values for %d columns", table, len(values), len(t.Columns))
	}
	size := 0
	for _, value := range values {
		size += len(value)
	}
	if size > MaxRecord {
		return fmt.Errorf("insert into %s: %d bytes: %w", table, size, ErrTooLarge)
	}
	values = notNil(slices.Clone(values))
	if err := s.request(ctx, func() error { return s.driver.insert(ctx, t, key, values) }); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

// Get returns the values of a record, or ErrNotFound.
func (s *Store) Get(ctx context.Context, table string, key [16]byte) (values [][]byte, err error) {
	t, err := s.table(table)
	if err != nil {
		return nil, err
	}
	err = s.request(ctx, func() (err error) {
		values, err = s.driver.get(ctx, t, key)
		return err
	})
	if err == nil && values == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("get from %s: %w", table, err)
	}
	return notNil(values), nil
}

// notNil replaces nil values by empty ones, in place, because not every driver distinguishes the two.
func notNil(values [][]byte) [][]byte {
	for n, value := range values {
		if value == nil {
			values[n] = []byte{}
		}
	}
	return values
}

// Each calls visit for all records, in no particular order. If visit returns an error, Each
// stops and returns that error. Records that are written meanwhile may be visited, too.
// visit may use the Store.
func (s *Store) Each(
	ctx context.Context, table string, visit func(key [16]byte, values [][]byte) error,
) error {
	t, err := s.table(table)
	if err != nil {
		return err
	}
	for from, first := []byte(nil), true; first || from != nil; first = false {
		var records []record
		err := s.request(ctx, func() (err error) {
			records, from, err = s.driver.page(ctx, t.Table, from)
			return err
		})
		if err != nil {
			return fmt.Errorf("read all of %s: %w", table, err)
		}
		for _, r := range records {
			if err := visit(r.key, notNil(r.values)); err != nil {
				return err
			}
		}
	}
	return nil
}

// table returns the statements of a table that was passed to CreateTables.
func (s *Store) table(name string) (*statements, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	table, ok := s.tables[name]
	if !ok {
		return table, fmt.Errorf("table %q was not given to CreateTables", name)
	}
	return table, nil
}

// request calls work once fewer than InFlight requests are running. It fails if ctx ends first.
func (s *Store) request(ctx context.Context, work func() error) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting behind %d open requests: %w", cap(s.slots), ctx.Err())
	}
	defer func() { <-s.slots }()
	if err := ctx.Err(); err != nil {
		return err
	}
	return work()
}
