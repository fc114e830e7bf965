package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// failed waits until a deployment has failed and returns its error.
func failed(t *testing.T, d lab.Deployment, within time.Duration) error {
	t.Helper()
	select {
	case <-d.Failed():
	case <-time.After(within):
		t.Errorf("it has not failed after %v", within)
	}
	return d.Failure()
}

// TestWhatGoesWrongOnTheUsersCluster checks that errors come with advice and that nothing is left after them.
// Long because all cases share one cluster, which is slow to make.
func TestWhatGoesWrongOnTheUsersCluster(t *testing.T) {
	f := userstest.New(t)
	program := deploytest.Program(t)
	before := f.State(t)
	closeUnchanged := func(t *testing.T, d *Deployer) {
		t.Helper()
		deploytest.NoError(t, d.Close())
		if changes := before.Changes(f.State(t)); changes != "" {
			t.Errorf("what is the user's has changed:\n%s", changes)
		}
	}
	t.Run("a quota", func(t *testing.T) {
		d := deployerOf(t, f, program)
		defer closeUnchanged(t, d)
		// A first trial, of the unit front alone, makes the namespace for the quota.
		alone := deploytest.Layout("front")
		alone.Units = alone.Units[1:]
		alone.Lead = "front"
		made, err := d.Deploy(t.Context(), alone, deploytest.Folder(t))
		if err == nil {
			err = made.Stop()
		}
		testset.Must(t, err)
		f.Put(t, d.cluster.ours("resourcequotas"), map[string]any{"metadata": map[string]string{"name": "small"},
			"spec": map[string]any{"hard": map[string]string{"pods": "1"}}})
		known := false
		end := time.Now().Add(2 * time.Minute)
		for ; !known; time.Sleep(20 * time.Millisecond) { // before that it has no effect
			var quota struct {
				Status struct{ Hard map[string]string }
			}
			err := f.API.Do(t.Context(), http.MethodGet, d.cluster.ours("resourcequotas", "small"), nil, &quota)
			if err != nil || time.Now().After(end) {
				t.Fatalf("the quota is not known after two minutes: %v", err)
			}
			known = len(quota.Status.Hard) > 0
		}
		_, err = d.Deploy(t.Context(), deploytest.Layout("front"), deploytest.Folder(t))
		deploytest.Says(t, err, "exceeded quota: small", "have its administrator widen it")
	})
	t.Run("nodes that cannot pull", func(t *testing.T) {
		// The registry has an address that only this host can reach.
		f.Variables[registry.Variable] = deploytest.NewForwarder(t, "tcp", f.Registry).Addr().String() + "/team"
		d := deployerOf(t, f, program)
		f.Variables[registry.Variable] = "http://" + f.Registry + "/team/cleave"
		defer closeUnchanged(t, d)
		_, err := d.Deploy(t.Context(), deploytest.Layout("front"), deploytest.Folder(t))
		deploytest.Says(t, err, "start unit", "ErrImagePull", "look whether the nodes reach the registry")
	})
	t.Run("no registry", func(t *testing.T) {
		f.Variables[registry.Variable] = "127.0.0.1:1/team"
		d := deployerOf(t, f, program)
		f.Variables[registry.Variable] = "http://" + f.Registry + "/team/cleave"
		defer closeUnchanged(t, d)
		_, err := d.Deploy(t.Context(), deploytest.Layout("front"), deploytest.Folder(t))
		deploytest.Says(t, err, "into the registry 127.0.0.1:1", "look whether the registry runs")
	})
	t.Run("a node that is lost", func(t *testing.T) {
		if os.Getenv("CLEAVE_LARGE") == "" {
			t.Skip("Kubernetes takes minutes to give a node up: CLEAVE_LARGE=1 CLEAVE_TESTS=clusters go test " +
				"./deploy/kubernetes -run GoesWrong")
		}
		d := deployerOf(t, f, program)
		defer closeUnchanged(t, d)
		l := deploytest.Layout("front")
		l.Units[1].Node = "node-2"
		l.Units[0].Node = "node-1"
		made := deploytest.Deploy(t, d, l)
		deploytest.Await(t, made, lab.EventReady)
		node := f.Named("node-2")
		testset.Must(t, node.Link(t.Context(), false))
		deploytest.Says(t, failed(t, made, 3*time.Minute), "front", "its node node-2 does not answer to Kubernetes")
		deploytest.NoError(t, errors.Join(made.Stop(), node.Link(t.Context(), true)))
	})
	t.Run("an API server that is gone", func(t *testing.T) {
		server := deploytest.NewForwarder(t, "tcp", strings.TrimPrefix(f.API.Address(), "https://"))
		config := f.Variables[ConfigVariable]
		f.Variables[ConfigVariable] = f.Config(t, "https://"+server.Addr().String(), f.Admin())
		d := deployerOf(t, f, program)
		f.Variables[ConfigVariable] = config
		made := deploytest.Deploy(t, d, deploytest.Layout("front"))
		deploytest.Await(t, made, lab.EventReady)
		server.Cut()
		deploytest.Says(t, failed(t, made, 2*apiPatience), "has not answered for 30s",
			"look whether its API server runs")
		deploytest.Says(t, made.Stop(), "connection refused")
		deploytest.Says(t, d.Close(), "is still on theirs", "CLEAVE_USE_KUBERNETES=theirs cleave clean")
		// When the server is back, everything can be removed.
		after := deployerOf(t, f, program)
		deploytest.NoError(t, after.site.(*userSite).remove(t.Context(), namespacePrefix+f.Label))
		closeUnchanged(t, after)
	})
	t.Run("conductors that are gone", func(t *testing.T) { cleaned(t, f) })
}

// cleaned checks that Clean removes the namespaces of dead conductors, and no others.
func cleaned(t *testing.T, f *userstest.Cluster) {
	u := deployerOf(t, f, "").site.(*userSite).UserCluster
	deploytest.CleansTheDead(t, deploytest.Labelled{
		Prefix: namespacePrefix, Clean: u.Clean,
		Make: func(name, label string) {
			var made api.Object
			made.Metadata.Name = name
			made.Metadata.Labels = map[string]string{labelKey: label}
			f.Put(t, "/api/v1/namespaces", made)
		},
		IsKept: func(name string) bool { return f.State(t)["/api/v1/namespaces/"+name] != "" },
		Remove: func(name string) {
			ctx, cancel := context.WithTimeout(t.Context(), leavePatience)
			defer cancel()
			deploytest.NoError(t, u.remove(ctx, name))
		},
	})
}
