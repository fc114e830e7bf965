// Package server describes the servers of backing services as units: MariaDB,
// PostgreSQL, RabbitMQ, NATS JetStream, a MongoDB-protocol server, Cassandra, and the
// caches Redis and memcached. A deployer runs them like any other unit.
//
// A server is private to one trial: it keeps all files in the volume of its unit, listens
// only at its own addresses, has random credentials in files of mode 0600 and never in
// arguments, and runs with full durability and small caches. A cache writes nothing to
// the disk.
//
// Clients create schemas, queues and collections (backing/database, backing/broker,
// backing/document, backing/wide, backing/cache).
//
// Entry points: Backings for studies; New for one server.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Kind names a server program.
type Kind string

// The servers of this package.
const (
	MariaDB   Kind = "mariadb"
	Postgres  Kind = "postgres"
	RabbitMQ  Kind = "rabbitmq"
	NATS      Kind = "nats"
	Mongo     Kind = "mongo"
	Cassandra Kind = "cassandra"
	Redis     Kind = "redis"
	Memcached Kind = "memcached"
)

// Kinds lists all kinds in the order in which they are shown.
func Kinds() []Kind {
	return []Kind{MariaDB, Postgres, RabbitMQ, NATS, Mongo, Cassandra, Redis, Memcached}
}

// Settings are the settings of a server. The zero value is suitable for a trial on a
// small machine.
type Settings struct {
	// Memory limits the memory in which the server caches data, in bytes; 0 means 64 MiB.
	// RabbitMQ uses four times as much before it blocks publishers, and NATS four times as much for
	// streams in memory. Cassandra collects this much before it writes it to disk, in a heap
	// of five times the size. Redis and memcached store no more than this, but memcached has at least 8 MiB.
	Memory int64
	// Connections is the maximum number of connections; 0 means 200. Redis and memcached
	// accept five times as many.
	Connections int
	// Periodic lets Cassandra acknowledge writes before they are on the disk, which is its own
	// default: a crash may lose the writes of the last ten seconds.
	Periodic bool
}

// Server is one server that can be deployed.
type Server struct {
	Kind      Kind
	Installed // the version of NATS is "built in" until it runs and reports its own

	program  program
	settings Settings
	user     string
	password string
}

// program describes one kind of server.
type program struct {
	installed func() (Installed, error)
	describe  func(*Server, *lab.UnitSpec) // fills in what is specific to the kind
	// ready returns nil if a client can use the server at the address.
	ready func(ctx context.Context, s *Server, address string) error
}

// programOf returns the program of a kind of server.
func programOf(kind Kind) (program, error) {
	found, known := map[Kind]program{
		MariaDB:   {installedMariaDB, describeMariaDB, sqlReady},
		Postgres:  {installedPostgres, describePostgres, sqlReady},
		RabbitMQ:  {installedRabbit, describeRabbit, rabbitReady},
		NATS:      {installedNATS, describeNATS, natsReady},
		Mongo:     {installedMongo, describeMongo, mongoReady},
		Cassandra: {installedCassandra, describeCassandra, cassandraReady},
		Redis:     {installedRedis, describeRedis, cacheReady},
		Memcached: {installedMemcached, describeMemcached, cacheReady},
	}[kind]
	if !known {
		return found, fmt.Errorf("there is no server %q (there are %v)", kind, Kinds())
	}
	return found, nil
}

// New returns a server with new credentials. It returns a *lab.MissingError if the program is
// not installed.
func New(kind Kind, settings Settings) (*Server, error) {
	program, err := programOf(kind)
	if err != nil {
		return nil, err
	}
	installed, err := program.installed()
	if err != nil {
		return nil, err
	}
	settings.Memory = cmp.Or(settings.Memory, 64<<20)
	settings.Connections = cmp.Or(settings.Connections, 200)
	return &Server{Kind: kind, Installed: installed, program: program, settings: settings, user: "cleave",
		password: rand.Text()}, nil
}

// About returns the name and version of the server, including that of a stand-in.
func (s *Server) About() string {
	if s.StandIn != "" {
		return fmt.Sprintf("%s %s, a stand-in for %s", s.StandIn, s.Version, s.Kind)
	}
	return fmt.Sprintf("%s %s", s.Kind, s.Version)
}

// Unit returns the server as a unit with this name.
func (s *Server) Unit(name string) lab.UnitSpec {
	unit := lab.UnitSpec{
		Name: name, Role: name,
		Runnable: lab.Runnable{
			Foreign: true, Program: s.Path, Env: environment(), Files: map[string][]byte{},
			Server: &lab.Server{Kind: string(s.Kind), Ready: func(ctx context.Context, address string) error {
				return s.program.ready(ctx, s, address)
			}},
		},
		Networking: lab.Networking{Listens: true},
	}
	s.program.describe(s, &unit)
	return unit
}

// dataFolder is the folder in which a server keeps its data.
const dataFolder = "data"

// environment returns the environment of a server. Of our own environment it has only
// PATH. The deployer replaces {dir} by the volume of the unit (see lab.Server).
func environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C", "LANG=C", "TZ=UTC", "HOME={dir}", "TMPDIR={dir}",
	}
}

// lines returns the content of a file with these lines.
func lines(text ...string) []byte { return []byte(strings.Join(text, "\n") + "\n") }
