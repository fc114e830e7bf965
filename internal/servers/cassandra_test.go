package servers

import (
	"context"
	"net/url"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// cassandraClient is the wordClient of Cassandra.
type cassandraClient struct{}

// open connects to the node at the given address, even if the node reports another one.
func (cassandraClient) open(at target) (*gocql.Session, error) {
	address, err := url.Parse(at.URL())
	if err != nil {
		return nil, err
	}
	password, _ := address.User.Password()
	cluster := gocql.NewCluster(address.Host)
	cluster.DisableInitialHostLookup = true
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: address.User.Username(), Password: password}
	return cluster.CreateSession()
}

func (c cassandraClient) write(ctx context.Context, at target, word string) error {
	session, err := c.open(at)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, statement := range []string{
		"CREATE KEYSPACE IF NOT EXISTS words WITH replication = {'class': 'SimpleStrategy', " +
			"'replication_factor': 1}",
		"CREATE TABLE IF NOT EXISTS words.words (word TEXT PRIMARY KEY)",
		"INSERT INTO words.words (word) VALUES ('" + word + "')",
	} {
		if err := session.Query(statement).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c cassandraClient) read(ctx context.Context, at target) ([]string, error) {
	session, err := c.open(at)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	var words []string
	rows := session.Query("SELECT word FROM words.words").IterContext(ctx)
	for word := ""; rows.Scan(&word); {
		words = append(words, word)
	}
	return words, rows.Close()
}
