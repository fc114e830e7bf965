package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// RabbitMQClassic is RabbitMQ to a study that wants classic durable queues instead
// of quorum queues; the server is the same.
const RabbitMQClassic = "rabbitmq-classic"

// Backing starts a server afresh for every trial: all of them are up within
// seconds, and nothing of one trial can be seen in the next.
type Backing struct {
	name     string // what studies call it
	kind     Kind
	settings Settings
	scratch  string
}

var _ lab.Backing = Backing{}

// Backings are those that studies can name. unit is the path of cleave-unit, which
// is also the NATS server, label marks all processes, and scratch is the directory below
// which Fresh gets its folders.
func Backings(unit, label, scratch string) []Backing {
	settings := Settings{Label: label, NATSCommand: []string{unit, string(NATS)}}
	return []Backing{
		{string(MariaDB), MariaDB, settings, scratch}, {string(Postgres), Postgres, settings, scratch},
		{string(RabbitMQ), RabbitMQ, settings, scratch}, {RabbitMQClassic, RabbitMQ, settings, scratch},
		{string(NATS), NATS, settings, scratch}, {string(Mongo), Mongo, settings, scratch},
	}
}

// Kind implements lab.Backing.
func (b Backing) Kind() string { return b.name }

// Preflight implements lab.Backing.
func (b Backing) Preflight() error {
	if i := strings.IndexFunc(b.scratch, func(r rune) bool { return !plain(r) }); i >= 0 {
		return fmt.Errorf("the private files of %s would be in %q, and not every character of that path means itself to servers' "+
			"scripts and configuration files: have a folder used whose path has ASCII letters, digits and _-.,+@/ only: TMPDIR=/that/folder",
			b.kind, b.scratch)
	}
	program, err := programOf(b.kind)
	if err != nil {
		return err
	}
	_, err = program.installed(b.settings)
	return err
}

// plain reports whether a character means itself to shells, Erlang and every kind of
// configuration file.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.,+@/", r)
}

// Close implements lab.Backing: nothing outlives a trial.
func (b Backing) Close() error { return nil }

// Fresh implements lab.Backing.
func (b Backing) Fresh(ctx context.Context, spec lab.ServiceSpec, dir string) (lab.Service, error) {
	folder, err := os.MkdirTemp(dir, "")
	if err != nil {
		return nil, fmt.Errorf("make a folder for %s: %w", b.kind, err)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // some servers run as another user
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	instance, err := Start(ctx, b.kind, folder, b.settings)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return service{instance, spec.Name, folder}, nil
}

var (
	_ lab.Restarter = service{}
	_ lab.Mortal    = service{}
)

// service is a server during one trial.
type service struct {
	instance *Instance
	name     string
	folder   string
}

// Address implements lab.Service. Databases are named by who uses them.
func (s service) Address() string { return s.instance.URL() }

// About implements lab.Service.
func (s service) About() string {
	if s.instance.StandIn != "" {
		return fmt.Sprintf("%s %s, a stand-in for %s", s.instance.StandIn, s.instance.Version, s.instance.Kind)
	}
	return fmt.Sprintf("%s %s", s.instance.Kind, s.instance.Version)
}

// Processes implements lab.Service: the server with all below it. What only helps
// it to start (RabbitMQ's port mapper) does none of the work.
func (s service) Processes() []lab.Unit {
	pid, runs := s.instance.serverPID()
	if !runs {
		return nil
	}
	return []lab.Unit{{Name: string(s.instance.Kind), Role: s.name, PID: pid, Span: lab.SpanTree}}
}

// Kill implements lab.Restarter.
func (s service) Kill(string) error {
	if !s.instance.Running() {
		return fmt.Errorf("%s has ended before it was killed", s.instance.Kind)
	}
	return s.instance.Kill()
}

// Restart implements lab.Restarter.
func (s service) Restart(ctx context.Context, _ string) error { return s.instance.Restart(ctx) }

// Died implements lab.Mortal.
func (s service) Died() <-chan error { return s.instance.Died() }

// Release implements lab.Service.
func (s service) Release() error {
	return errors.Join(s.instance.Stop(), os.RemoveAll(s.folder))
}
