package main

import (
	"bytes"
	"errors"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/lab"
)

// usersServers are servers that the test starts, and that cleave uses as servers of the user.
type usersServers struct {
	t                *testing.T
	database, broker *servers.Instance
}

// startUsersServers starts such servers for a test.
func startUsersServers(t *testing.T) usersServers {
	t.Helper()
	needServers(t, server.Postgres, server.RabbitMQ)
	return usersServers{t, servers.Started(t, server.Postgres, server.Settings{}),
		servers.Started(t, server.RabbitMQ, server.Settings{})}
}

// cleave returns a command whose environment names these servers.
func (u usersServers) cleave(arguments ...string) *exec.Cmd {
	return with(program("", arguments...), "CLEAVE_USE_POSTGRES="+u.database.URL(),
		"CLEAVE_USE_RABBITMQ="+u.broker.URL())
}

// start starts cleave with a study.
func (u usersServers) start(study string) *experiment {
	u.t.Helper()
	e := &experiment{t: u.t, dir: u.t.TempDir()}
	e.results = filepath.Join(e.dir, "results")
	writeFiles(u.t, e.dir, map[string]string{"study.yaml": study})
	e.startCommand(u.cleave("run", filepath.Join(e.dir, "study.yaml"), "--results", e.results))
	return e
}

// left returns the names of Cleave's databases and of all queues on the servers.
func (u usersServers) left() []string {
	u.t.Helper()
	place, err := database.ParsePlace(u.database.URL())
	if err != nil {
		u.t.Fatal(err)
	}
	var names []string
	// Drop asks about every database. It drops none here, since the answer is always no.
	err = place.Drop(u.t.Context(), func(name string) bool {
		if strings.HasPrefix(name, "cleave") {
			names = append(names, name)
		}
		return false
	})
	queues, failed := u.broker.QueueDepths(u.t.Context())
	if err := errors.Join(err, failed); err != nil {
		u.t.Fatal(err)
	}
	for name := range queues {
		names = append(names, name)
	}
	return names
}

// secrets returns the servers' passwords.
func (u usersServers) secrets() [][]byte {
	u.t.Helper()
	var all [][]byte
	for _, instance := range []*servers.Instance{u.database, u.broker} {
		address, err := url.Parse(instance.URL())
		if err != nil {
			u.t.Fatal(err)
		}
		password, _ := address.User.Password()
		all = append(all, []byte(password))
	}
	return all
}

// expectNoPassword checks that a text contains none of the passwords of the servers.
func (u usersServers) expectNoPassword(where string, text []byte) {
	u.t.Helper()
	for _, secret := range u.secrets() {
		if bytes.Contains(text, secret) {
			u.t.Errorf("%s has a password", where)
		}
	}
}

// schemasStudy has a schema for each component, in all architectures and with both kinds of queues of
// RabbitMQ: quorum queues and classic ones.
const schemasStudy = `
schema: cleave-study/1
name: schemas
title: A schema for each component
system: shop
baseline: monolith
variants:
  monolith: {architecture: monolith, knobs: {data: schemas, database: postgres}}
  sync: {architecture: sync, knobs: {data: schemas, database: postgres}}
  async: {architecture: async, knobs: {data: schemas, database: postgres, broker: rabbitmq}}
  classic: {architecture: async, knobs: {data: schemas, database: postgres, broker: rabbitmq-classic}}
points: {p: {orders: 60, cancelled: 10, customers: 20, products: 20}}
load: {duration: 10s}
design: {blocks: 1, max_repeats: 0, gates: {steal: 99%, calibration: 99%}}
`

// TestServersOfTheUserAreShared: trials leave nothing on the servers and publish no
// passwords.
func TestServersOfTheUserAreShared(t *testing.T) {
	t.Parallel()
	u := startUsersServers(t)
	e := u.start(schemasStudy)
	if code := e.code(); code != exitFine {
		t.Fatalf("exit code %d\n%s", code, e.errOut.String())
	}
	played := trialsOf(t, e.results)
	for _, trial := range played {
		if !trial.Valid || trial.Audit.Verdict != lab.AuditValid {
			t.Errorf("%s: valid %v, audit %s: %q", trial.Variant, trial.Valid, trial.Audit.Verdict,
				trial.Audit.Problems)
		}
		events := trial.Variant == "async" || trial.Variant == "classic"
		if trial.Measures["statements_per_order"] <= 0 || (trial.Measures["messages_per_order"] > 0) != events {
			t.Errorf("%s: measures %v", trial.Variant, trial.Measures)
		}
	}
	if left := u.left(); len(played) != 4 || len(left) > 0 {
		t.Errorf("%d trials, and on the servers are left %v", len(played), left)
	}
	u.expectNoPassword("standard error", e.errOut.Bytes())
	for path, text := range contents(t, e.results) {
		u.expectNoPassword(path, text)
	}
}

// longEventStudy is long enough for a test to kill cleave while it plays.
const longEventStudy = `
schema: cleave-study/1
name: long
title: Events for a while
system: shop
baseline: one
variants: {one: {architecture: async, knobs: {data: schemas, database: postgres, broker: rabbitmq}}}
points: {p: {orders: 300, over: 60}}
load: {duration: 10s}
design: {blocks: 1, max_repeats: 0, gates: {steal: 99%, calibration: 99%}}
`

// TestWhatAKilledCleaveLeftOnServersIsCleaned: clean removes what a killed cleave has left on servers, but
// nothing of a running one.
func TestWhatAKilledCleaveLeftOnServersIsCleaned(t *testing.T) {
	t.Parallel()
	u := startUsersServers(t)
	e := u.start(longEventStudy)
	label := e.label()
	await(t, "events are read", func() bool {
		return len(labelled(label, `"unit":"orderviews"`)) > 0 && len(u.left()) > 2
	})
	for _, command := range labelled(label, "") {
		u.expectNoPassword("a command line", []byte(command))
	}
	if text, err := u.cleave("clean").CombinedOutput(); err != nil ||
		bytes.Contains(text, []byte("cleave_"+strings.ReplaceAll(label, "-", "_"))) {
		t.Errorf("clean took away what a living cleave uses: %s (%v)", text, err)
	}
	if err := e.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e.code()
	awaitNoProcess(t, label)
	if left := u.left(); len(left) == 0 {
		t.Error("nothing is left to be cleaned")
	}
	text, err := u.cleave("clean").CombinedOutput()
	for _, name := range []string{"postgres", "rabbitmq"} {
		if err != nil || !strings.Contains(string(text), " on "+name+" at 127.0.0.1:") {
			t.Errorf("clean says %s (%v), want what it removed from %s", text, err, name)
		}
	}
	u.expectNoPassword("clean", text)
	if left := u.left(); len(left) > 0 {
		t.Errorf("left on the servers: %v", left)
	}
}

// TestDoctorAndRunSayWhetherTheUsersServersAnswer: doctor shows the versions of the servers, or that one does
// not answer; such a server ends an experiment with the code for a missing part.
func TestDoctorAndRunSayWhetherTheUsersServersAnswer(t *testing.T) {
	t.Parallel()
	u := startUsersServers(t)
	code, printed := finish(t, u.cleave("doctor"))
	if code != exitFine {
		t.Errorf("doctor: exit code %d, want %d", code, exitFine)
	}
	expectTexts(t, "doctor", printed, "postgres 15", "your own (CLEAVE_USE_POSTGRES)", "rabbitmq 3",
		"your own (CLEAVE_USE_RABBITMQ)")
	u.expectNoPassword("doctor", []byte(printed))
	const missing = "no rabbitmq server answers at 127.0.0.1:9"
	for want, args := range map[int][]string{exitFine: {"doctor"}, exitMissingPart: {"check", "shop",
		"--architecture", "async", "--backing", "rabbitmq", "--results", t.TempDir()}} {
		code, printed := finish(t, with(program("", args...), "CLEAVE_USE_RABBITMQ=amqp://user:s3same@127.0.0.1:9"))
		if code != want || !strings.Contains(printed, missing) || strings.Contains(printed, "s3same") {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", args[0], code, want, missing, printed)
		}
	}
}
