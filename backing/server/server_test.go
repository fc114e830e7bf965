package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server/jetstream"
)

// The test program is also two others: the NATS server's process, and a starter
// that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "nats":
			exitWith(jetstream.Run(os.Args[2]))
		case "starter":
			exitWith(startAndWait(Kind(os.Args[2]), os.Args[3]))
		}
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// natsCommand runs this test program as a NATS server.
func natsCommand() []string { return []string{os.Args[0], "nats"} }

// within is a context for one test's servers.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// launchHere starts an instance that ends with the test, or skips the test.
func launchHere(t *testing.T, kind Kind, settings Settings) *Instance {
	t.Helper()
	settings.NATSCommand = natsCommand()
	begin := time.Now()
	instance, err := Start(within(t), kind, t.TempDir(), settings)
	var missing *MissingError
	if errors.As(err, &missing) {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s %s started in %v", kind, instance.StandIn, instance.Version, time.Since(begin))
	t.Cleanup(func() {
		if err := instance.Stop(); err != nil {
			t.Error(err)
		}
	})
	return instance
}

// keepers are the servers that keep data, with a client for each.
func keepers() map[Kind]keeper {
	return map[Kind]keeper{
		MariaDB: sqlKeeper{"mysql"}, Postgres: sqlKeeper{"pgx"},
		RabbitMQ: rabbitKeeper{}, NATS: natsKeeper{}, Mongo: mongoKeeper{},
	}
}

// eachKeeper runs a test on a fresh instance of every server that keeps data.
func eachKeeper(t *testing.T, test func(t *testing.T, instance *Instance, content keeper)) {
	for kind, content := range keepers() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, launchHere(t, kind, Settings{}), content)
		})
	}
}

// expect compares a server's content.
func expect(t *testing.T, instance *Instance, content keeper, when string, want ...string) {
	t.Helper()
	got, err := content.read(within(t), instance)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: content = %v, want %v", when, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expectClosed checks that nobody else gets at an instance: no password where
// others can read it, loopback only, and no entry without the password.
func expectClosed(t *testing.T, instance *Instance, content keeper) {
	t.Helper()
	for _, pid := range instance.PIDs() {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err == nil && strings.Contains(string(text), instance.password) {
				t.Errorf("the password stands in %s of process %d", file, pid)
			}
		}
	}
	for _, listener := range listeners(t, instance.PIDs()) {
		if !listener.Addr().IsLoopback() || listener.Port() > 32767 {
			t.Errorf("it listens at %v", listener)
		}
	}
	expectSecretFiles(t, instance)
	if _, err := content.read(within(t), content.disguised(instance)); err == nil {
		t.Error("a wrong password is let in")
	}
}

func TestContentOutlivesCrashRestartAndReset(t *testing.T) {
	eachKeeper(t, func(t *testing.T, instance *Instance, content keeper) {
		ctx := within(t)
		must(t, content.write(ctx, instance, "a"))
		begin := time.Now()
		must(t, instance.Snapshot(ctx))
		t.Logf("snapshot in %v", time.Since(begin))
		expect(t, instance, content, "after the snapshot", "a")

		must(t, content.write(ctx, instance, "b"))
		address := instance.Address()
		must(t, instance.Kill())
		if instance.Running() {
			t.Error("it runs after kill -9")
		}
		must(t, instance.Restart(ctx))
		if instance.Address() != address {
			t.Errorf("address changed from %s to %s", address, instance.Address())
		}
		expect(t, instance, content, "after kill -9", "a", "b")

		begin = time.Now()
		must(t, instance.Reset(ctx))
		t.Logf("reset in %v", time.Since(begin))
		expect(t, instance, content, "after the reset", "a")
		expectDeathIsTold(t, instance)
	})
}

// expectDeathIsTold kills a server as somebody else would; what we did to it before is
// no news.
func expectDeathIsTold(t *testing.T, instance *Instance) {
	t.Helper()
	select {
	case death := <-instance.Died():
		t.Errorf("what we ended ourselves is told as %v", death)
	default:
	}
	pid, _ := instance.serverPID()
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	select {
	case death := <-instance.Died():
		if want := string(instance.Kind) + " ended: signal: killed; the end of its log: "; !strings.HasPrefix(death.Error(), want) {
			t.Errorf("its death is told as %q, want %q and the log", death, want)
		}
	case <-within(t).Done():
		t.Error("nobody tells that it was killed")
	}
}

// TestPostgresLeavesNoSharedMemory: it has none in /dev/shm, and the segment of
// System V goes with it when it is killed.
func TestPostgresLeavesNoSharedMemory(t *testing.T) {
	instance := launchHere(t, Postgres, Settings{})
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", instance.PIDs()[0]))
	must(t, err)
	if strings.Contains(string(maps), "/dev/shm/") {
		t.Error("it has memory in /dev/shm")
	}
	// The seventh line of its lock file names the segment: key and id.
	lock, err := os.ReadFile(filepath.Join(instance.dir, dataFolder, "postmaster.pid"))
	must(t, err)
	segment := strings.Fields(strings.Split(string(lock), "\n")[6])
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/ipc", instance.PIDs()[0]))
	must(t, err)
	ours, err := os.Readlink("/proc/self/ns/ipc")
	must(t, err)
	if theirs == ours {
		t.Skip("this host lets us make no user namespaces, so a killed server leaves its segment of 56 bytes")
	}
	must(t, instance.Kill())
	left, err := os.ReadFile("/proc/sysvipc/shm")
	must(t, err)
	for line := range strings.Lines(string(left)) {
		if slices.Equal(strings.Fields(line)[:2], segment) {
			t.Errorf("its segment is left: %s", line)
		}
	}
}

// TestMariaDBKeepsTemporaryTablesToItself: another one that starts would remove them.
func TestMariaDBKeepsTemporaryTablesToItself(t *testing.T) {
	instance := launchHere(t, MariaDB, Settings{})
	database, err := sqlKeeper{"mysql"}.open(within(t), instance)
	must(t, err)
	defer func() { _ = database.Close() }()
	var folder string
	must(t, database.QueryRowContext(within(t), "SELECT @@tmpdir").Scan(&folder))
	if want := filepath.Join(instance.dir, scratchFolder); folder != want {
		t.Errorf("temporary tables are in %s, want %s", folder, want)
	}
}

func TestInstanceIsClosedToOthersAndEndsWhole(t *testing.T) {
	eachKeeper(t, func(t *testing.T, instance *Instance, content keeper) {
		ctx := within(t)
		must(t, content.write(ctx, instance, "a"))
		expectClosed(t, instance, content)
		pids := instance.PIDs()
		if len(pids) == 0 || !instance.Running() {
			t.Fatalf("processes %v, running %v", pids, instance.Running())
		}
		must(t, instance.Stop())
		expectGone(t, pids)
		must(t, instance.Stop())
		if err := instance.Restart(ctx); err == nil {
			t.Error("a stopped instance starts again")
		}
		if err := instance.Reset(ctx); err == nil {
			t.Error("a stopped instance resets")
		}
		again, err := Start(ctx, instance.Kind, instance.dir, instance.settings)
		must(t, err)
		defer func() { must(t, again.Stop()) }()
		expect(t, again, content, "after a new start", "a")
	})
}

func TestNothingOutlivesItsStarter(t *testing.T) {
	for kind := range keepers() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			pids := killStarter(t, kind)
			if len(pids) == 0 {
				t.Fatal("the starter named no process")
			}
			expectGone(t, pids)
		})
	}
}

func TestStartRefuses(t *testing.T) {
	file := t.TempDir() + "/file"
	must(t, os.WriteFile(file, nil, 0o600))
	cases := []struct {
		name, dir string
		kind      Kind
		settings  Settings
		want      string
	}{
		{"unknown server", t.TempDir(), "oracle", Settings{}, `there is no server "oracle" (there are [mariadb`},
		{"nats without a program", t.TempDir(), NATS, Settings{}, "NATSCommand must name it"},
		{"folder that is a file", file, NATS, Settings{NATSCommand: natsCommand()}, "not a directory"},
		{"program that fails", t.TempDir(), NATS, Settings{NATSCommand: []string{"false"}}, "it ended at once (exit status 1)"},
		{"program that is not there", t.TempDir(), NATS, Settings{NATSCommand: []string{"/no/such/program"}}, "/no/such/program"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			instance, err := Start(within(t), c.kind, c.dir, c.settings)
			if err == nil {
				_ = instance.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

func TestStartGivesUpWhenToldTo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	dir := t.TempDir()
	_, err := Start(ctx, NATS, dir, Settings{NATSCommand: []string{"sh", "-c", "exec sleep 1000"}})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error = %v, want one that names %s", err, dir)
	}
}

func TestTakenPortIsTriedAgain(t *testing.T) {
	instance := launchHere(t, NATS, Settings{})
	second := &Instance{Kind: NATS, ports: instance.ports}
	err := second.explain(&started{log: "none", outcome: errors.New("exit status 1")})
	if !errors.Is(err, errPortTaken) {
		t.Errorf("error = %v, want errPortTaken", err)
	}
}

// TestPortsAreKeptWhileTheServerIsDown: whoever looks for a port then takes another.
func TestPortsAreKeptWhileTheServerIsDown(t *testing.T) {
	instance := launchHere(t, NATS, Settings{})
	must(t, instance.Kill())
	if hold, err := net.ListenPacket("udp4", instance.Address()); err == nil {
		t.Errorf("anybody may have %s", instance.Address())
		must(t, hold.Close())
	}
	must(t, instance.Restart(within(t)))
	must(t, instance.Stop())
	hold, err := net.ListenPacket("udp4", instance.Address())
	if err != nil {
		t.Fatalf("nobody may have %s after the end: %v", instance.Address(), err)
	}
	must(t, hold.Close())
}

func TestNATSConfigurationIsUnderstood(t *testing.T) {
	ours := natsConfig{Address: "127.0.0.1:1", User: "u", Password: "p", Folder: "/f", Memory: 2, Connections: 3}
	text, err := json.Marshal(ours)
	must(t, err)
	var theirs jetstream.Config
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	must(t, decoder.Decode(&theirs))
	if want := (jetstream.Config{Address: "127.0.0.1:1", User: "u", Password: "p", Folder: "/f", Memory: 2, Connections: 3}); theirs != want {
		t.Errorf("understood %+v, want %+v", theirs, want)
	}
}
