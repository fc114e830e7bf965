package server

import (
	"context"
	"net/url"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
)

// URL returns the address of the server, which is reached at host:port, with the credentials: it belongs in
// environments and files, not in arguments. The user of the address chooses the database. Those of MariaDB
// and PostgreSQL are created by database.Place; the other servers create theirs on first use. at is not
// escaped: it may be a placeholder that a deployer replaces (lab.AddressOf).
func (s *Server) URL(at string) string {
	scheme, rest := string(s.Kind), ""
	switch s.Kind {
	case RabbitMQ:
		scheme, rest = "amqp", "/"
	case Mongo:
		scheme, rest = "mongodb", "/?directConnection=true&authSource=admin"
	case Cassandra:
		if s.settings.Periodic {
			rest = "?commitlog_sync=periodic" // else the client refuses the server
		}
	}
	return scheme + "://" + url.UserPassword(s.user, s.password).String() + "@" + at + rest
}

// sqlReady returns nil if a client can log in and execute a query.
func sqlReady(ctx context.Context, s *Server, address string) error {
	place, err := database.ParsePlace(s.URL(address))
	if err != nil {
		return err
	}
	_, err = place.Version(ctx)
	return err
}

// attemptWithin bounds parts of a check whether a server is ready: the connection to NATS, each
// connection and request to Cassandra, and, if the context has no deadline, the whole check of
// RabbitMQ.
const attemptWithin = 5 * time.Second
