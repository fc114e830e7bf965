package servers

import (
	"context"
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

	"github.com/cleave-lab/cleave/backing/server"
)

// TestMain also lets the test program be the starter that killStarter kills.
func TestMain(m *testing.M) {
	Main(m.Run, map[string]func([]string) error{
		"starter": func(args []string) error {
			if err := os.Setenv(begunVariable, "yes"); err != nil {
				return err
			}
			return startAndWait(args)
		},
	})
}

// within returns a context for one test's servers.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// launchHere starts a server that ends with the test and logs the time of its start. It skips the test if the
// server is not installed.
func launchHere(t *testing.T, kind server.Kind) *Instance {
	t.Helper()
	begin := time.Now()
	instance := Started(t, kind, server.Settings{})
	t.Logf("%s started in %v", instance.About(), time.Since(begin))
	return instance
}

// keepers returns a client for each kind of server.
func keepers() map[server.Kind]keeper {
	return map[server.Kind]keeper{
		server.MariaDB: sqlKeeper{"mysql"}, server.Postgres: sqlKeeper{"pgx"},
		server.RabbitMQ: rabbitKeeper{}, server.NATS: natsKeeper{}, server.Mongo: mongoKeeper{},
		server.Cassandra: cassandraKeeper{}, server.Redis: cacheKeeper{}, server.Memcached: cacheKeeper{},
	}
}

// expect compares the content of a server. when describes the moment, for messages.
func expect(t *testing.T, at target, content keeper, when string, want ...string) {
	t.Helper()
	got, err := content.read(within(t), at)
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

// TestAServer: the content of a server, except a cache, survives a crash; other users have no
// access; its death is reported; and nothing is left of it.
func TestAServer(t *testing.T) {
	for kind, content := range keepers() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			expectServer(t, launchHere(t, kind), content)
		})
	}
}

func expectServer(t *testing.T, instance *Instance, content keeper) {
	t.Helper()
	ctx := within(t)
	must(t, content.write(ctx, instance, "a"))
	expectClosed(t, instance, content)
	address, before := instance.Address(), pids(instance)
	must(t, instance.Kill())
	expectGone(t, before)
	if err := instance.Kill(); err == nil || !strings.Contains(err.Error(), "has ended before it was killed") {
		t.Errorf("Kill of the dead: %v", err)
	}
	must(t, instance.Restart(ctx))
	if instance.Address() != address {
		t.Errorf("address changed from %s to %s", address, instance.Address())
	}
	must(t, content.write(ctx, instance, "b"))
	want := []string{"a", "b"}
	if content == (cacheKeeper{}) {
		want = want[1:]
	}
	expect(t, instance, content, "after kill -9", want...)
	if standIn := strings.Contains(instance.About(), "stand-in"); standIn != (instance.StandIn != "") {
		t.Errorf("about %q", instance.About())
	}
	expectDeathIsTold(t, instance)
	after := pids(instance)
	must(t, instance.Stop())
	expectGone(t, after)
	must(t, instance.Stop())
	if _, err := os.Stat(instance.Volume()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its files are left: %v", err)
	}
}

// expectClosed checks that other users have no access to a server: the password is not
// readable for them, the server listens on loopback only, and requires the password.
func expectClosed(t *testing.T, instance *Instance, content keeper) {
	t.Helper()
	for _, pid := range pids(instance) {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err == nil && strings.Contains(string(text), password(instance)) {
				t.Errorf("the password stands in %s of process %d", file, pid)
			}
		}
	}
	for _, listener := range listeners(t, pids(instance)) {
		if !listener.Addr().IsLoopback() || listener.Port() > 32767 {
			t.Errorf("it listens at %v", listener)
		}
	}
	expectSecretFiles(t, instance)
	if _, err := content.read(within(t), impostor{instance}); err == nil {
		t.Error("a wrong password is let in")
	}
}

// expectDeathIsTold kills a server behind the package's back: Failed must be closed then,
// and not before.
func expectDeathIsTold(t *testing.T, instance *Instance) {
	t.Helper()
	if err := instance.Failure(); err != nil {
		t.Errorf("a kill by Kill is reported as a failure: %v", err)
	}
	main := pids(instance)[0]
	must(t, syscall.Kill(main, syscall.SIGKILL))
	select {
	case <-instance.Failed():
		want := string(instance.Kind) + " ended by signal: killed"
		if got := instance.Failure().Error(); !strings.HasPrefix(got, want) {
			t.Errorf("its death is reported as %q, want %q and the log", got, want)
		}
	case <-within(t).Done():
		t.Error("its death is not reported")
	}
}

// TestPostgresLeavesNoSharedMemory: PostgreSQL uses no memory in /dev/shm, and its System V
// segment is removed when it is killed.
func TestPostgresLeavesNoSharedMemory(t *testing.T) {
	instance := launchHere(t, server.Postgres)
	main := pids(instance)[0]
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", main))
	must(t, err)
	if strings.Contains(string(maps), "/dev/shm/") {
		t.Error("it has memory in /dev/shm")
	}
	// The seventh line of its lock file names the segment: key and id.
	lock, err := os.ReadFile(filepath.Join(instance.Volume(), "data", "postmaster.pid"))
	must(t, err)
	segment := strings.Fields(strings.Split(string(lock), "\n")[6])
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/ipc", main))
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

// TestMariaDBKeepsTemporaryTablesToItself: its folder for temporary tables is private, because another
// MariaDB that starts would remove them.
func TestMariaDBKeepsTemporaryTablesToItself(t *testing.T) {
	instance := launchHere(t, server.MariaDB)
	database, err := sqlKeeper{"mysql"}.open(within(t), instance)
	must(t, err)
	defer func() { _ = database.Close() }()
	var folder string
	must(t, database.QueryRowContext(within(t), "SELECT @@tmpdir").Scan(&folder))
	if want := filepath.Join(instance.Volume(), "temporary"); folder != want {
		t.Errorf("temporary tables are in %s, want %s", folder, want)
	}
}

func TestNothingOutlivesItsStarter(t *testing.T) {
	for kind := range keepers() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			all := killStarter(t, kind)
			if len(all) == 0 {
				t.Fatal("the starter named no process")
			}
			expectGone(t, all)
		})
	}
}

func TestStartRefuses(t *testing.T) {
	file := t.TempDir() + "/file"
	must(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		dir  string
		kind server.Kind
		want string
	}{
		"unknown server":        {t.TempDir(), "oracle", `there is no server "oracle" (there are [mariadb`},
		"folder that is a file": {file, server.NATS, "not a directory"},
	} {
		if _, err := Start(within(t), c.kind, c.dir, server.Settings{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want %q", name, err, c.want)
		}
	}
	t.Setenv(begunVariable, "")
	if _, err := Start(within(t), server.NATS, t.TempDir(), server.Settings{}); err == nil ||
		!strings.Contains(err.Error(), "servers.Main") {
		t.Errorf("a test binary that is not its janitor's: %v", err)
	}
}

// TestPortsAreKeptWhileTheServerIsDown: other searches for a free port do not get them.
func TestPortsAreKeptWhileTheServerIsDown(t *testing.T) {
	instance := launchHere(t, server.NATS)
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

func TestAServerIsSharedUntilTheEndOfItsProgram(t *testing.T) {
	s := sharedServers{begun: map[string]*sharedServer{}}
	one, other := s.server(server.NATS, server.Settings{}), s.server(server.NATS, server.Settings{})
	if one.err != nil || one != other {
		t.Fatalf("%v; asked twice, there are two: %t", one.err, one != other)
	}
	must(t, natsKeeper{}.write(within(t), one.instance, "a"))
	expect(t, one.instance, natsKeeper{}, "while it is shared", "a")
	must(t, s.end())
	if _, err := net.Dial("tcp", one.instance.Address()); err == nil {
		t.Error("it still listens")
	}
	if _, err := os.Stat(one.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}
