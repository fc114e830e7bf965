// Package straight sends the statements of backing/wide straight at Cassandra's driver,
// with the settings that decide there how fast it is. Benchmarks compare with it: what
// else they measure is ours.
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

// Open connects to a table with one column, which a wide.Store has made. The address is
// also that store's.
func Open(address, keyspace, table, column string, connections int) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address is not a URL") // err has the password in it
	}
	password, _ := u.User.Password()
	cluster := gocql.NewCluster(u.Host)
	cluster.Keyspace, cluster.NumConns = keyspace, connections
	cluster.DisableInitialHostLookup = true // the address is the only one that is right from here
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	cluster.DefaultTimestamp, cluster.WriteCoalesceWaitTime = false, 0
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
