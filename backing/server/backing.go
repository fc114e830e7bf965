package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// RabbitMQClassic is the name of RabbitMQ in studies that use classic durable queues instead
// of quorum queues. The server is the same.
const RabbitMQClassic = "rabbitmq-classic"

// CommitLogSync is Cassandra's option in a lab.ServiceSpec: "periodic" or "batch", the
// default.
const CommitLogSync, periodic = "commitlog_sync", "periodic"

// Backings returns the backings that studies can name. They provide a new server for every trial, which sees
// nothing of earlier ones; all servers start within seconds. scratch is the directory with the directories of
// trials.
func Backings(scratch string) []lab.Backing {
	all := []lab.Backing{backing(RabbitMQClassic, RabbitMQ, scratch)}
	for _, kind := range Kinds() {
		all = append(all, backing(string(kind), kind, scratch))
	}
	return all
}

// backing returns the backing with a name in studies.
func backing(name string, kind Kind, scratch string) lab.Backing {
	return lab.Backing{Kind: name, Preflight: func() error { return preflight(kind, scratch) },
		Fresh: func(_ context.Context, spec lab.ServiceSpec, _ string) (lab.Service, error) {
			return fresh(kind, spec)
		}}
}

// preflight returns an error if a kind of server cannot run on this host.
func preflight(kind Kind, scratch string) error {
	if i := strings.IndexFunc(scratch, func(r rune) bool { return !isPlain(r) }); i >= 0 {
		return fmt.Errorf("the private files of %s would be in %q, and not every character of that path is safe "+
			"in scripts and configuration files of servers: set TMPDIR to a folder whose path has only ASCII "+
			"letters, digits and _-.,+@/", kind, scratch)
	}
	_, err := New(kind, Settings{})
	return err
}

// isPlain reports whether a character has no special meaning to shells, to Erlang and in all
// kinds of configuration files.
func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("_-.,+@/", r)
}

// fresh returns a new server. Its address has no name of a database: clients add it. It ends with its
// deployment.
func fresh(kind Kind, spec lab.ServiceSpec) (lab.Service, error) {
	sync := spec.Options[CommitLogSync]
	if kind != Cassandra && sync != "" {
		return lab.Service{}, fmt.Errorf("option %s of %s is %q: %s has no such option", CommitLogSync, spec.Name,
			sync, kind)
	}
	if !slices.Contains([]string{"", "batch", periodic}, sync) {
		return lab.Service{}, fmt.Errorf("option %s of %s is %q: use batch or periodic", CommitLogSync, spec.Name,
			sync)
	}
	server, err := New(kind, Settings{Periodic: sync == periodic})
	if err != nil {
		return lab.Service{}, err
	}
	unit := server.Unit(spec.Name)
	return lab.Service{Server: &unit, Address: server.URL, About: server.About}, nil
}
