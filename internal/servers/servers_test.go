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
	"github.com/cleave-lab/cleave/internal/testset"
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

// testContext returns a context that ends with the test, or after 6 minutes.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// started starts a server that ends with the test, and logs how long the start took. It skips the test if the
// server is not installed.
func started(t *testing.T, kind server.Kind) *Instance {
	t.Helper()
	begin := time.Now()
	instance := Started(t, kind, server.Settings{})
	t.Logf("%s started in %v", instance.About(), time.Since(begin))
	return instance
}

// clients returns the client for each kind of server.
func clients() map[server.Kind]wordClient {
	return map[server.Kind]wordClient{
		server.MariaDB: sqlClient{}, server.Postgres: sqlClient{},
		server.RabbitMQ: rabbitClient{}, server.NATS: natsClient{}, server.Mongo: mongoClient{},
		server.Cassandra: cassandraClient{}, server.Redis: cacheClient{}, server.Memcached: cacheClient{},
	}
}

// expect checks that a server has the wanted words. when describes the moment, for messages.
func expect(t *testing.T, at target, words wordClient, when string, want ...string) {
	t.Helper()
	got, err := words.read(testContext(t), at)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: words = %v, want %v", when, got, want)
	}
}

// TestServers: the words in a server, except a cache, survive a crash; other users have no
// access; its death is reported; and nothing is left of it.
func TestServers(t *testing.T) {
	for kind, words := range clients() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			expectServer(t, started(t, kind), words)
		})
	}
}

func expectServer(t *testing.T, instance *Instance, words wordClient) {
	t.Helper()
	ctx := testContext(t)
	testset.Must(t, words.write(ctx, instance, "a"))
	expectClosed(t, instance, words)
	address := instance.Address()
	before := pids(instance)
	testset.Must(t, instance.Kill())
	expectGone(t, before)
	if err := instance.Kill(); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("the second Kill: %v", err)
	}
	testset.Must(t, instance.Restart(ctx))
	if instance.Address() != address {
		t.Errorf("address changed from %s to %s", address, instance.Address())
	}
	testset.Must(t, words.write(ctx, instance, "b"))
	want := []string{"a", "b"}
	if words == (cacheClient{}) {
		want = want[1:] // a cache is empty after a crash
	}
	expect(t, instance, words, "after kill -9", want...)
	if standIn := strings.Contains(instance.About(), "stand-in"); standIn != (instance.StandIn != "") {
		t.Errorf("the description %q must name a stand-in if the server is one (%q)", instance.About(),
			instance.StandIn)
	}
	expectDeathIsReported(t, instance)
	after := pids(instance)
	testset.Must(t, instance.Stop())
	expectGone(t, after)
	testset.Must(t, instance.Stop())
	if _, err := os.Stat(instance.Volume()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its files are left: %v", err)
	}
}

// expectClosed checks that other users have no access to a server: the password is not readable for them,
// the server listens on loopback only, and requires the password. It also checks that the server's ports are
// below 32768, as Address promises.
func expectClosed(t *testing.T, instance *Instance, words wordClient) {
	t.Helper()
	for _, pid := range pids(instance) {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err == nil && strings.Contains(string(text), password(instance)) {
				t.Errorf("the password is in %s of process %d", file, pid)
			}
		}
	}
	for _, listener := range listeners(t, pids(instance)) {
		if !listener.Addr().IsLoopback() || listener.Port() > 32767 {
			t.Errorf("it listens at %v", listener)
		}
	}
	expectSecretFiles(t, instance)
	if _, err := words.read(testContext(t), impostor{instance}); err == nil {
		t.Error("a wrong password is accepted")
	}
}

// expectDeathIsReported kills a server without Kill, and checks that its deployment fails then, and not
// before.
func expectDeathIsReported(t *testing.T, instance *Instance) {
	t.Helper()
	if err := instance.deployment.Failure(); err != nil {
		t.Errorf("a kill by Kill is reported as a failure: %v", err)
	}
	main := pids(instance)[0]
	testset.Must(t, syscall.Kill(main, syscall.SIGKILL))
	select {
	case <-instance.deployment.Failed():
		want := string(instance.Kind) + " ended by signal: killed"
		if got := instance.deployment.Failure().Error(); !strings.HasPrefix(got, want) {
			t.Errorf("its death is reported as %q, want %q and the log", got, want)
		}
	case <-testContext(t).Done():
		t.Error("its death is not reported")
	}
}

// TestPostgresLeavesNoSharedMemory: PostgreSQL uses no memory in /dev/shm, and its System V
// segment is removed when it is killed.
func TestPostgresLeavesNoSharedMemory(t *testing.T) {
	instance := started(t, server.Postgres)
	main := pids(instance)[0]
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", main))
	testset.Must(t, err)
	if strings.Contains(string(maps), "/dev/shm/") {
		t.Error("it has memory in /dev/shm")
	}
	// The seventh line of its lock file names the segment: key and id.
	lock, err := os.ReadFile(filepath.Join(instance.Volume(), "data", "postmaster.pid"))
	testset.Must(t, err)
	segment := strings.Fields(strings.Split(string(lock), "\n")[6])
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/ipc", main))
	testset.Must(t, err)
	ours, err := os.Readlink("/proc/self/ns/ipc")
	testset.Must(t, err)
	if theirs == ours {
		t.Skip("this host allows no user namespaces, so a killed server leaves its segment of 56 bytes")
	}
	testset.Must(t, instance.Kill())
	left, err := os.ReadFile("/proc/sysvipc/shm")
	testset.Must(t, err)
	for line := range strings.Lines(string(left)) {
		if slices.Equal(strings.Fields(line)[:2], segment) {
			t.Errorf("its segment is left: %s", line)
		}
	}
}

// TestMariaDBKeepsTemporaryTablesToItself: its folder for temporary tables is private, because another
// MariaDB that starts would remove them.
func TestMariaDBKeepsTemporaryTablesToItself(t *testing.T) {
	instance := started(t, server.MariaDB)
	database, err := sqlClient{}.open(testContext(t), instance)
	testset.Must(t, err)
	defer func() { _ = database.Close() }()
	var folder string
	_, err = database.One(testContext(t), []any{&folder}, "SELECT @@tmpdir")
	testset.Must(t, err)
	if want := filepath.Join(instance.Volume(), "temporary"); folder != want {
		t.Errorf("temporary tables are in %s, want %s", folder, want)
	}
}

func TestNothingOutlivesItsStarter(t *testing.T) {
	for kind := range clients() {
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
	testset.Must(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		dir  string
		kind server.Kind
		want string
	}{
		"unknown server":        {t.TempDir(), "oracle", `there is no server "oracle" (there are [mariadb`},
		"folder that is a file": {file, server.NATS, "not a directory"},
	} {
		if _, err := Start(testContext(t), c.kind, c.dir, server.Settings{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want %q", name, err, c.want)
		}
	}
	t.Setenv(begunVariable, "")
	if _, err := Start(testContext(t), server.NATS, t.TempDir(), server.Settings{}); err == nil ||
		!strings.Contains(err.Error(), "servers.Main") {
		t.Errorf("a test binary whose TestMain is not Main: %v", err)
	}
}

// TestPortsAreKeptWhileTheServerIsDown checks that other searches for a free port do not get the port of a
// killed server. A deployer reserves a port with a UDP socket (see deploy/launch).
func TestPortsAreKeptWhileTheServerIsDown(t *testing.T) {
	instance := started(t, server.NATS)
	testset.Must(t, instance.Kill())
	if hold, err := net.ListenPacket("udp4", instance.Address()); err == nil {
		t.Errorf("%s is free while the server is down", instance.Address())
		testset.Must(t, hold.Close())
	}
	testset.Must(t, instance.Restart(testContext(t)))
	testset.Must(t, instance.Stop())
	hold, err := net.ListenPacket("udp4", instance.Address())
	if err != nil {
		t.Fatalf("%s is still reserved after the end: %v", instance.Address(), err)
	}
	testset.Must(t, hold.Close())
}

func TestAServerIsSharedUntilTheEndOfItsProgram(t *testing.T) {
	s := sharedServers{begun: map[string]*sharedServer{}}
	one := s.server(server.NATS, server.Settings{})
	other := s.server(server.NATS, server.Settings{})
	if one.err != nil || one != other {
		t.Fatalf("two calls return two servers: %t, %v", one != other, one.err)
	}
	testset.Must(t, natsClient{}.write(testContext(t), one.instance, "a"))
	expect(t, one.instance, natsClient{}, "while it is shared", "a")
	testset.Must(t, s.end())
	if _, err := net.Dial("tcp", one.instance.Address()); err == nil {
		t.Error("it still listens")
	}
	if _, err := os.Stat(one.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}
