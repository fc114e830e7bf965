// Package server starts private instances of the servers that backing services
// need: MariaDB, PostgreSQL, RabbitMQ, NATS JetStream and a MongoDB-protocol
// server.
//
// An instance belongs to whoever started it: it keeps everything in the folder
// it was given, listens on free loopback ports only, has random credentials that
// stand in files of mode 0600 and never in arguments, runs with full durability
// and small caches, can be put back to a snapshot, and is gone after Stop or when
// its starter dies, however it dies.
//
// The package knows nothing of what is stored: schemas, queues and collections
// are made by the clients (backing/database, backing/broker, backing/document).
//
// Entry points: Start, Instance, and Available for what this host has.
package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Kind names a server program.
type Kind string

// The servers that this package can start.
const (
	MariaDB  Kind = "mariadb"
	Postgres Kind = "postgres"
	RabbitMQ Kind = "rabbitmq"
	NATS     Kind = "nats"
	Mongo    Kind = "mongo"
)

// Kinds lists all of them in the order in which they are shown.
func Kinds() []Kind { return []Kind{MariaDB, Postgres, RabbitMQ, NATS, Mongo} }

// Settings are the knobs of an instance. The zero value is fit for a trial on a
// small machine; NATS needs NATSCommand.
type Settings struct {
	// Memory is what the server may use to cache data, in bytes; 0 means 64 MiB.
	// RabbitMQ and NATS take it as the limit from which they hold publishers back
	// or keep no more in memory, and get four times as much.
	Memory int64
	// Connections is how many clients may be connected; 0 means 200.
	Connections int
	// Label is the value of CLEAVE_RUN in the environment of every process; empty
	// means that they have none.
	Label string
	// NATSCommand runs jetstream.Run on the configuration file appended to it.
	NATSCommand []string
}

func (s Settings) withDefaults() Settings {
	if s.Memory == 0 {
		s.Memory = 64 << 20
	}
	if s.Connections == 0 {
		s.Connections = 200
	}
	return s
}

// program is what is needed to know about one kind of server. All of its
// functions get the instance with its folder, ports and credentials filled in.
type program struct {
	ports     int // how many loopback ports; clients call the first
	installed func(Settings) (Installed, error)
	prepare   func(context.Context, *Instance) error // makes files; leaves what is there
	processes func(*Instance) []process              // in starting order, the server last
	ready     func(context.Context, *Instance) error // nil when a client can work
	stop      stopSignal
}

func programOf(kind Kind) (program, error) {
	switch kind {
	case MariaDB:
		return mariadb(), nil
	case Postgres:
		return postgres(), nil
	case RabbitMQ:
		return rabbitmq(), nil
	case NATS:
		return natsProgram(), nil
	case Mongo:
		return mongoProgram(), nil
	}
	return program{}, fmt.Errorf("there is no server %q (there are %v)", kind, Kinds())
}

// readyWithin bounds a start whose context has no deadline. RabbitMQ, ready in
// four seconds on a quiet machine, took over two minutes on one that had ten times
// its processors' work.
const readyWithin = 5 * time.Minute

// startAttempts: a free port can be taken between our look and the server's.
const startAttempts = 3

// Start starts an instance in dir, which is made where it is missing, and
// returns when a client can work with it. A dir that an earlier instance used
// continues with its data and credentials. A program that is not installed is a
// *MissingError.
func Start(ctx context.Context, kind Kind, dir string, settings Settings) (*Instance, error) {
	program, err := programOf(kind)
	if err != nil {
		return nil, err
	}
	settings = settings.withDefaults()
	installed, err := program.installed(settings)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("start %s: %w", kind, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", kind, err)
	}
	instance := &Instance{
		Kind: kind, Version: installed.Version, StandIn: installed.StandIn,
		dir: dir, settings: settings, program: program, path: installed.Path, died: make(chan error, 1),
	}
	for attempt := 1; ; attempt++ {
		err = instance.begin(ctx)
		if err == nil {
			return instance, nil
		}
		if !errors.Is(err, errPortTaken) || attempt == startAttempts {
			return nil, fmt.Errorf("start %s in %s: %w", kind, dir, err)
		}
	}
}
