package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// RabbitMQClassic is the name of RabbitMQ in studies that use classic durable queues instead
// of quorum queues. The server is the same.
const RabbitMQClassic = "rabbitmq-classic"

// CommitLogSync is Cassandra's option in a lab.ServiceSpec: "periodic" or "batch", the
// default.
const CommitLogSync, periodic = "commitlog_sync", "periodic"

// Backing provides a new server for every trial. So a trial sees nothing of earlier ones;
// all servers start within seconds.
type Backing struct {
	name    string // in studies
	kind    Kind
	scratch string
}

// Backings returns the backings that studies can name. scratch is the directory with the
// directories of trials.
func Backings(scratch string) []Backing {
	all := []Backing{{RabbitMQClassic, RabbitMQ, scratch}}
	for _, kind := range Kinds() {
		all = append(all, Backing{string(kind), kind, scratch})
	}
	return all
}

// Kind implements lab.Backing.
func (b Backing) Kind() string { return b.name }

// Preflight implements lab.Backing.
func (b Backing) Preflight() error {
	if i := strings.IndexFunc(b.scratch, func(r rune) bool { return !isPlain(r) }); i >= 0 {
		return fmt.Errorf("the private files of %s would be in %q, and not every character of that path is safe "+
			"in scripts and configuration files of servers: set TMPDIR to a folder whose path has only ASCII "+
			"letters, digits and _-.,+@/", b.kind, b.scratch)
	}
	_, err := New(b.kind, Settings{})
	return err
}

// isPlain reports whether a character has no special meaning to shells, to Erlang and in all
// kinds of configuration files.
func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("_-.,+@/", r)
}

// Fresh implements lab.Backing.
func (b Backing) Fresh(_ context.Context, spec lab.ServiceSpec, _ string) (lab.Service, error) {
	sync := spec.Options[CommitLogSync]
	if b.kind != Cassandra && sync != "" {
		return nil, fmt.Errorf("option %s of %s is %q: %s has no such option", CommitLogSync, spec.Name, sync,
			b.kind)
	}
	if sync != "" && sync != "batch" && sync != periodic {
		return nil, fmt.Errorf("option %s of %s is %q: use batch or periodic", CommitLogSync, spec.Name, sync)
	}
	server, err := New(b.kind, Settings{Periodic: sync == periodic})
	if err != nil {
		return nil, err
	}
	return service{server, spec.Name}, nil
}

// service is a server during one trial.
type service struct {
	server *Server
	name   string
}

// Server implements lab.Service.
func (s service) Server() (lab.UnitSpec, bool) { return s.server.Unit(s.name), true }

// Address implements lab.Service. The address has no name of a database: clients add it.
func (s service) Address(at string) string { return s.server.URL(at) }

// About implements lab.Service.
func (s service) About() string { return s.server.About() }

// Release implements lab.Service: the server ends with its deployment.
func (s service) Release() error { return nil }
