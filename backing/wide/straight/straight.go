// Package straight executes the statements of backing/wide directly with Cassandra's
// driver, with the same settings as far as they affect speed. Benchmarks compare the two:
// the difference is the cost of backing/wide.
//
// Entry point: Open.
package straight

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Client writes and reads records of one table. Its methods may be called from several
// goroutines.
type Client struct {
	session     *gocql.Session
	insert, get string
}

// Open connects to a table with one column that a wide.Store has created. The address is
// that of the store.
func Open(address, keyspace, table, column string, connections int) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address is not a URL") // err contains the password
	}
	password, _ := u.User.Password()
	cluster := gocql.NewCluster(u.Host)
	cluster.Keyspace = keyspace
	cluster.NumConns = connections
	cluster.DisableInitialHostLookup = true // addresses that the node reports may be unreachable from here
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	cluster.DefaultTimestamp = false
	cluster.WriteCoalesceWaitTime = 0
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, err
	}
	return &Client{
		session: session,
		insert:  fmt.Sprintf(`INSERT INTO %q ("_key", %q) VALUES (?, ?)`, table, column),
		get:     fmt.Sprintf(`SELECT %q FROM %q WHERE "_key" = ?`, column, table),
	}, nil
}

// Insert writes a record.
func (c *Client) Insert(ctx context.Context, key [16]byte, value []byte) error {
	return c.session.Query(c.insert, gocql.UUID(key), value).ExecContext(ctx)
}

// Get reads a record.
func (c *Client) Get(ctx context.Context, key [16]byte) (value []byte, err error) {
	err = c.session.Query(c.get, gocql.UUID(key)).ScanContext(ctx, &value)
	return value, err
}

// Close ends the connections.
func (c *Client) Close() { c.session.Close() }
