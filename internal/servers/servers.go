// Package servers runs single servers for tests and benchmarks, without a trial. A server is
// the same unit as in a trial, and the same deployer runs it (deploy/process).
//
// A test binary that uses it must call Main in TestMain, because the deployer starts the
// same binary as the janitor and the keeper of its processes.
//
// Entry points: Main, Start, Started, Shared, Instance.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
)

// begunVariable is set by Main, and Start checks it: the deployer starts the test binary again as a janitor,
// and without Main that process would run all tests again.
const begunVariable = "CLEAVE_TEST_SERVERS"

// Main is the main function of a test binary. It runs the tests with run, or the part of a deployer for which
// this process was started. After the tests it stops the shared servers and removes the programs that were
// built for tests. parts holds further main functions of the binary, by the first argument with which it is
// started; they get the other arguments.
func Main(run func() int, parts map[string]func(args []string) error) {
	part := trials.Part(os.Args[1:])
	if len(os.Args) > 1 && parts[os.Args[1]] != nil {
		part = func() error { return parts[os.Args[1]](os.Args[2:]) }
	}
	if part == nil {
		if err := os.Setenv(begunVariable, "yes"); err != nil {
			panic(err) // cannot fail with this name
		}
		code := run()
		if err := errors.Join(shared.end(), own.end()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	if err := part(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Instance is one running server. Its methods may be called from several goroutines.
type Instance struct {
	*server.Server
	name       string
	dir        string
	deployment lab.Deployment
}

// Start starts a server with its files in a new folder below dir, and returns when a client can use the
// server. It creates dir if needed. If the server's program is not installed, the error is a
// *lab.MissingError; tests call Need before.
func Start(ctx context.Context, kind server.Kind, dir string, settings server.Settings) (*Instance, error) {
	if testing.Testing() && os.Getenv(begunVariable) == "" {
		return nil, errors.New("TestMain of this package must be servers.Main")
	}
	described, err := server.New(kind, settings)
	if err != nil {
		return nil, err
	}
	unit := described.Unit(string(kind))
	programs := ""
	if unit.Own != "" { // a program of Cleave, which the first test that needs it builds
		if programs, err = own.folderWith(unit.Own); err != nil {
			return nil, err
		}
	}
	if kind == server.Cassandra && testing.Testing() {
		// In the few seconds of a test the JVM's optimizing compiler costs more time than it saves.
		unit.Args = append([]string{"-XX:TieredStopAtLevel=1"}, unit.Args...)
	}
	deployer, err := trials.Deployer(programs)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err == nil {
		dir, err = os.MkdirTemp(dir, "")
	}
	if err != nil {
		return nil, err
	}
	i := &Instance{Server: described, name: string(kind), dir: dir}
	i.deployment, err = deployer.Deploy(ctx, lab.Layout{Units: []lab.UnitSpec{unit}}, dir)
	return i, err
}

// Need skips a test that starts a server of a kind if the server's program is missing, or if the test runs in
// `make test`, which starts only NATS.
func Need(t testing.TB, kind server.Kind) {
	t.Helper()
	if kind != server.NATS { // NATS is part of Cleave
		testset.Need(t, "it starts "+string(kind))
	}
	_, err := server.New(kind, server.Settings{})
	if missing, is := errors.AsType[*lab.MissingError](err); is {
		t.Skip(missing)
	}
}

// Started starts a server that ends with the test. It skips the test if the server's program is missing.
func Started(t testing.TB, kind server.Kind, settings server.Settings) *Instance {
	t.Helper()
	Need(t, kind)
	dir, err := os.MkdirTemp("", "cleave-server-") // the paths of servers' sockets must be short
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	instance, err := Start(context.Background(), kind, dir, settings)
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := instance.Stop(); err != nil {
			t.Error(err)
		}
	})
	return instance
}

// Address returns the address for clients: a loopback address with a port below 32768, where the kernel
// chooses no ports for connections.
func (i *Instance) Address() string { return i.address("") }

// address returns the address of the server's port of that name; "" is its main port.
func (i *Instance) address(port string) string {
	unit := i.name
	if port != "" {
		unit = lab.PortOf(unit, port)
	}
	endpoint, err := i.deployment.Endpoint(unit)
	if err != nil {
		return err.Error() // a client that dials this text fails with it
	}
	return endpoint.Dial
}

// URL returns server.Server.URL for the server's address.
func (i *Instance) URL() string { return i.Server.URL(i.Address()) }

// Volume returns the server's folder.
func (i *Instance) Volume() string { return filepath.Join(i.dir, i.name) }

// Units returns the processes of the server, for a meter.
func (i *Instance) Units() []lab.Unit { return i.deployment.Units() }

// Kill ends the server like a crash (kill -9). Its data stay; Restart starts it again.
func (i *Instance) Kill() error {
	_, err := i.deployment.Harm(context.Background(), lab.Fault{Target: i.name, Kind: lab.FaultKill})
	return err
}

// Restart starts the server again, with the same address, credentials and data. If it still runs, it is
// killed first; it must not be paused.
func (i *Instance) Restart(ctx context.Context) error {
	_ = i.Kill() // it may have been killed
	return i.deployment.Heal(ctx, lab.Fault{Target: i.name, Kind: lab.FaultKill})
}

// Pause suspends all processes of the server until Resume.
func (i *Instance) Pause() error {
	_, err := i.deployment.Harm(context.Background(), lab.Fault{Target: i.name, Kind: lab.FaultPause})
	return err
}

// Resume lets a paused server go on.
func (i *Instance) Resume() error {
	return i.deployment.Heal(context.Background(), lab.Fault{Target: i.name, Kind: lab.FaultPause})
}

// Stop ends the server and removes its files. Stopping twice is harmless.
func (i *Instance) Stop() error { return i.deployment.Stop() }

// Folder creates a folder for a benchmark. Servers, which run as other users, can read it.
func Folder() (string, error) {
	dir, err := os.MkdirTemp("", "cleave-bench-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}
