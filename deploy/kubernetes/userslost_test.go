package kubernetes

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// road leads to the API server of a cluster, until it is closed.
type road struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]bool
}

func newRoad(t *testing.T, to string) *road {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{Listener: listener, open: map[net.Conn]bool{}}
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", to)
			if err != nil {
				_ = here.Close()
				continue
			}
			r.mu.Lock()
			r.open[here], r.open[there] = true, true
			r.mu.Unlock()
			for _, pair := range [][2]net.Conn{{here, there}, {there, here}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	t.Cleanup(r.close)
	return r
}

// close ends it with all that is on it.
func (r *road) close() {
	_ = r.Listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for connection := range r.open {
		_ = connection.Close()
	}
}

// front is a layout of a lead and a unit that serves.
func front() lab.Layout {
	return lab.Layout{Lead: "lead", Units: []lab.UnitSpec{
		{Name: "lead", Role: "lead", Args: []string{"lead", "front"}, Peers: []string{"front"}},
		{Name: "front", Role: "server", Args: []string{"serve"}, Listens: true},
	}}
}

// folder is one of a trial.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trial")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// failed waits until a deployment has failed.
func failed(t *testing.T, d lab.Deployment, within time.Duration) error {
	t.Helper()
	select {
	case <-d.Failed():
	case <-time.After(within):
		t.Errorf("it has not failed after %v", within)
	}
	return d.Failure()
}

func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want it to say %q", err, word)
		}
	}
}

// TestWhatGoesWrongOnTheUsersCluster is told with what to do, and leaves nothing.
// Long because one cluster is enough for it.
func TestWhatGoesWrongOnTheUsersCluster(t *testing.T) {
	f := userstest.New(t)
	program := deploytest.Program(t)
	before := f.State(t)
	closed := func(t *testing.T, d *Deployer) {
		t.Helper()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if changes := before.Changes(f.State(t)); changes != "" {
			t.Errorf("what is the user's has changed:\n%s", changes)
		}
	}
	t.Run("a quota", func(t *testing.T) {
		d := deployerOf(t, f, program)
		defer closed(t, d)
		alone := front()
		alone.Units = alone.Units[1:]
		alone.Lead = "front"
		made, err := d.Deploy(t.Context(), alone, folder(t))
		if err == nil {
			err = made.Stop()
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Put(t, d.cluster.ours("resourcequotas"), map[string]any{"metadata": map[string]string{"name": "small"}, "spec": map[string]any{"hard": map[string]string{"pods": "1"}}})
		for known := false; !known; time.Sleep(20 * time.Millisecond) { // before that it holds nobody up
			var quota struct {
				Status struct{ Hard map[string]string }
			}
			if err := f.API.Do(t.Context(), http.MethodGet, d.cluster.ours("resourcequotas", "small"), nil, &quota); err != nil {
				t.Fatal(err)
			}
			known = len(quota.Status.Hard) > 0
		}
		_, err = d.Deploy(t.Context(), front(), folder(t))
		says(t, err, "exceeded quota: small", "have its administrator widen it")
	})
	t.Run("nodes that cannot pull", func(t *testing.T) {
		there := newRoad(t, f.Registry) // from this host alone
		f.Variables[RegistryVariable] = there.Addr().String() + "/team"
		d := deployerOf(t, f, program)
		f.Variables[RegistryVariable] = "http://" + f.Registry + "/team/cleave"
		defer closed(t, d)
		_, err := d.Deploy(t.Context(), front(), folder(t))
		says(t, err, "start unit", "ErrImagePull", "look whether the nodes reach the registry")
	})
	t.Run("no registry", func(t *testing.T) {
		f.Variables[RegistryVariable] = "127.0.0.1:1/team"
		d := deployerOf(t, f, program)
		f.Variables[RegistryVariable] = "http://" + f.Registry + "/team/cleave"
		defer closed(t, d)
		_, err := d.Deploy(t.Context(), front(), folder(t))
		says(t, err, "into the registry 127.0.0.1:1", "look whether the registry runs")
	})
	t.Run("a node that is lost", func(t *testing.T) {
		if os.Getenv("CLEAVE_LARGE") == "" {
			t.Skip("Kubernetes takes minutes to give a node up: CLEAVE_LARGE=1 CLEAVE_CLUSTERS=1 go test ./deploy/kubernetes -run GoesWrong")
		}
		d := deployerOf(t, f, program)
		defer closed(t, d)
		l := front()
		l.Units[1].Node, l.Units[0].Node = "node-2", "node-1"
		made, err := d.Deploy(t.Context(), l, folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := made.Await(t.Context(), lab.EventReady); err != nil {
			t.Fatal(err)
		}
		node := f.Named("node-2")
		if err := node.Link(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		says(t, failed(t, made, 3*time.Minute), "front", "its node node-2 does not answer to Kubernetes")
		if err := errors.Join(made.Stop(), node.Link(t.Context(), true)); err != nil {
			t.Error(err)
		}
	})
	t.Run("an API server that is gone", func(t *testing.T) {
		there, config := newRoad(t, strings.TrimPrefix(f.API.Address(), "https://")), f.Variables[ConfigVariable]
		f.Variables[ConfigVariable] = f.Config(t, "https://"+there.Addr().String(), f.Admin())
		d := deployerOf(t, f, program)
		f.Variables[ConfigVariable] = config
		made, err := d.Deploy(t.Context(), front(), folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := made.Await(t.Context(), lab.EventReady); err != nil {
			t.Fatal(err)
		}
		there.close()
		says(t, failed(t, made, 2*apiPatience), "has not answered for 30s", "look whether its API server runs")
		says(t, made.Stop(), "connection refused")
		says(t, d.Close(), "is still on theirs", "CLEAVE_USE_KUBERNETES=theirs cleave clean")
		after := deployerOf(t, f, program) // as if it had come back
		if err := after.users.remove(t.Context(), namespacePrefix+f.Label); err != nil {
			t.Error(err)
		}
		closed(t, after)
	})
	t.Run("conductors that are gone", func(t *testing.T) { cleaned(t, f) })
}

// cleaned: namespaces of the dead go; those of who runs, or may run, and of others stay.
func cleaned(t *testing.T, f *userstest.Cluster) {
	own, err := launch.Own()
	if err != nil {
		t.Fatal(err)
	}
	dead, elsewhere := own, launch.ID{Place: "000000", PID: 7, Start: "1"}
	dead.PID, dead.Start = 1<<22-1, "1"
	labels := map[string]string{namespacePrefix + own.String(): own.String(), namespacePrefix + dead.String(): dead.String(),
		namespacePrefix + elsewhere.String(): elsewhere.String(), "theirs": dead.String()}
	for name, label := range labels {
		var made api.Object
		made.Metadata.Name, made.Metadata.Labels = name, map[string]string{labelKey: label}
		f.Put(t, "/api/v1/namespaces", made)
	}
	u := deployerOf(t, f, "").users
	if removed, unclear, err := u.Clean(t.Context(), own.String()); len(removed)+len(unclear) > 0 || err != nil {
		t.Errorf("of one that runs: removed %q, unclear %q, %v", removed, unclear, err)
	}
	removed, unclear, err := u.Clean(t.Context(), "")
	if err != nil || len(removed) != 1 || !strings.Contains(removed[0], dead.String()) || len(unclear) != 1 || !strings.Contains(unclear[0], elsewhere.String()) {
		t.Errorf("removed %q, unclear %q, %v", removed, unclear, err)
	}
	state := f.State(t)
	for name := range labels {
		if there := state["/api/v1/namespaces/"+name] != ""; there != (name != namespacePrefix+dead.String()) {
			t.Errorf("%s is there: %t", name, there)
		}
	}
	for name := range labels {
		ctx, cancel := context.WithTimeout(t.Context(), leavePatience)
		if err := u.remove(ctx, name); err != nil {
			t.Error(err)
		}
		cancel()
	}
}
