package swarm

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/swarm/userstest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestWhatGoesWrongOnTheUsersSwarm checks that errors come with advice and that nothing is left after them.
// Long because all cases share one swarm, which is slow to make.
func TestWhatGoesWrongOnTheUsersSwarm(t *testing.T) {
	f := userstest.New(t)
	program := deploytest.Program(t)
	before := f.State(t)
	with := func(t *testing.T, variable, value string) *Deployer {
		t.Helper()
		usual := f.Variables[variable]
		f.Variables[variable] = value
		d := deployerOf(t, f, program)
		f.Variables[variable] = usual
		return d
	}
	closeUnchanged := func(t *testing.T, d *Deployer) {
		t.Helper()
		deploytest.NoError(t, d.Close())
		f.Unchanged(t, before)
	}
	t.Run("nodes that cannot pull", func(t *testing.T) {
		// The registry has an address that only this host can reach.
		d := with(t, registry.Variable, deploytest.NewForwarder(t, "tcp", f.Registry).Addr().String()+"/team")
		defer closeUnchanged(t, d)
		_, err := d.Deploy(t.Context(), deploytest.Layout("front"), deploytest.Folder(t))
		deploytest.Says(t, err, "the proxy on node-", "look whether the nodes reach the registry")
	})
	t.Run("a port that is taken", func(t *testing.T) {
		d := deployerOf(t, f, program)
		defer closeUnchanged(t, d)
		key, err := lab.NewProxyKey()
		testset.Must(t, err)
		testset.Must(t, f.Nodes[2].Run(t.Context(), "sh", "-c",
			`mkdir -p /run/secrets && printf %s "$0" >`+lab.StarterKeyFile, string(key)))
		// The program that has the port is a proxy itself, as that of another conductor would be.
		taken := f.Nodes[2].Command(t.Context(), "sh", "-c",
			"echo $$ > /run/taken; exec "+f.Starter+" "+lab.StarterProxy+" 0.0.0.0:10000 198.18.0.0/22")
		testset.Must(t, f.Nodes[2].Start(taken))
		defer func() {
			_ = taken.Wait() // it was killed
		}()
		defer func() {
			deploytest.NoError(t, f.Nodes[2].Run(t.Context(), "sh", "-c", "kill -9 $(cat /run/taken)"))
		}()
		_, err = d.Deploy(t.Context(), deploytest.Layout("front"), deploytest.Folder(t))
		deploytest.Says(t, err, "the proxy on node-3", "a program of that node has the port")
	})
	t.Run("a manager that is gone", func(t *testing.T) {
		manager := deploytest.NewForwarder(t, "unix", strings.TrimPrefix(f.Nodes[0].Socket, "unix://"))
		d := with(t, Variable, "tcp://"+manager.Addr().String())
		made := deploytest.Deploy(t, d, deploytest.Layout("front"))
		deploytest.Await(t, made, lab.EventReady)
		manager.Cut()
		select {
		case <-made.Failed():
		case <-time.After(2 * managerPatience):
			t.Error("it has not failed")
		}
		deploytest.Says(t, made.Failure(), "has not answered for 30s", "look whether its manager runs")
		deploytest.Says(t, made.Stop(), "connection refused")
		deploytest.Says(t, d.Close(), "is still on the swarm tcp://", "CLEAVE_USE_SWARM=tcp://")
		// When the manager is back, everything can be removed.
		back := deployerOf(t, f, program).site.(*userSite).swarm
		testset.Must(t, back.inspect(t.Context()))
		deploytest.NoError(t, remove(t.Context(), back.manager, f.Label))
		f.Unchanged(t, before)
	})
	t.Run("conductors that are gone", func(t *testing.T) { cleaned(t, f) })
}

// cleaned checks that Clean removes the secrets of dead conductors, and no others.
func cleaned(t *testing.T, f *userstest.Swarm) {
	deploytest.CleansTheDead(t, deploytest.Labelled{
		Prefix: prefix, Clean: deployerOf(t, f, "").site.(*userSite).swarm.Clean,
		Make: func(name, label string) {
			f.Call(t, 0, http.MethodPost, "/secrets/create",
				map[string]any{"Name": name, "Labels": map[string]string{leftovers.DockerLabel: label},
					"Data": []byte("value")}, nil)
		},
		IsKept: func(name string) bool {
			type secret struct{ Spec struct{ Name string } }
			var kept []secret
			f.Call(t, 0, http.MethodGet, "/secrets", nil, &kept)
			return slices.ContainsFunc(kept, func(s secret) bool { return s.Spec.Name == name })
		},
		Remove: func(name string) { f.Call(t, 0, http.MethodDelete, "/secrets/"+name, nil, nil) },
	})
}
