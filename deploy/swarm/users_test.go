package swarm

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/registry/pushtest"
	"github.com/cleave-lab/cleave/deploy/swarm/userstest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// deployerOf returns a deployer to the swarm of the user's whose units run a program.
func deployerOf(t *testing.T, f *userstest.Swarm, program string) *Deployer {
	t.Helper()
	named, err := FromEnvironment(func(name string) (string, bool) {
		value, set := f.Variables[name]
		return value, set
	})
	testset.Must(t, err)
	named.Starter = f.Starter
	return New(process.New(program, deploytest.Part("janitor"), nil, f.Label), program, f.Label, "", named)
}

// TestAnEmptyRegistryIsNone checks that the variable of the registry may be set and empty.
func TestAnEmptyRegistryIsNone(t *testing.T) {
	variables := map[string]string{Variable: "tcp://127.0.0.1:1", registry.Variable: ""}
	named, err := FromEnvironment(func(name string) (string, bool) { return variables[name], true })
	if err != nil || named == nil || named.images != nil {
		t.Errorf("%+v, %v, want a swarm without a registry", named, err)
	}
}

// TestSuiteOnTheUsersSwarm runs the suite of all deployers on a swarm of the user's, and checks that the
// user's objects there are unchanged after Close.
func TestSuiteOnTheUsersSwarm(t *testing.T) {
	f := userstest.New(t)
	f.Furnish(t)
	before := f.State(t)
	d := deployerOf(t, f, deploytest.Program(t))
	left := func() []string {
		site := d.site.(*userSite)
		if site.manager == nil {
			return nil
		}
		kept, err := site.manager.ListSwarm(t.Context(), leftovers.DockerLabel)
		testset.Must(t, err)
		var left []string
		for _, k := range kept {
			isForAllTrials := k.Name == site.name || k.Name == site.name+"-proxies" || k.Name == site.name+"-key"
			if k.Label == f.Label && !isForAllTrials {
				left = append(left, k.Kind+" "+k.Name)
			}
		}
		return left
	}
	deploytest.Suite(t, d, left)
	t.Run("services of a file", func(t *testing.T) {
		deploytest.ServicesOnUserNodes(t, d, pushtest.Push(t, f.Variables[registry.Variable],
			deploytest.Program(t)), left, func(d lab.Deployment) { deploytest.Unmetered(t, d) })
	})
	deploytest.NoError(t, d.Close())
	f.Unchanged(t, before)
}

// TestProxiesOfNodesThatHaveJoined checks that the proxies are complete when every node has one, also a node
// that has joined the swarm since it was inspected. Tasks that have ended are no proxies.
func TestProxiesOfNodesThatHaveJoined(t *testing.T) {
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		_, _ = w.Write([]byte(`[{"ID":"a","Status":{"State":"running"}},{"ID":"b","Status":{"State":"running"}},
			{"ID":"c","Status":{"State":"shutdown"}},{"ID":"d","Status":{"State":"orphaned"}}]`))
	}))
	defer manager.Close()
	client, err := engine.OpenAt(t.Context(), "tcp://"+manager.Listener.Addr().String())
	testset.Must(t, err)
	site := &userSite{swarm: &UserSwarm{nodes: make([]engine.SwarmNode, 1)}, manager: client}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if tasks, err := site.awaitProxies(ctx, "proxies"); err != nil || len(tasks) != 2 {
		t.Errorf("the proxies are %v, %v, want those of two nodes", tasks, err)
	}
}

// TestNoRestartsOnTheUsersSwarm checks that no unit that fails before the load is started again there
// (lab.Lifecycle.Restarts): only a starter could do that, and containers of users' images have none.
func TestNoRestartsOnTheUsersSwarm(t *testing.T) {
	var platform fleet.Platform[*service]
	if (&userTrial{}).complete(&platform); !platform.NoRestarts {
		t.Error("units start again there")
	}
}
