package swarm

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestServiceNamesAreValid checks that names with dots, and names that are cut, are as Swarm wants them.
func TestServiceNamesAreValid(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9](?:[-_]*[A-Za-z0-9]+)*$`) // of SwarmKit
	for length := range 80 {
		name := serviceName("012345-678901-2345678", 42, strings.Repeat("a.-_", length)+"z")
		if len(name) > 63 || !valid.MatchString(name) {
			t.Errorf("the name %q of %d characters is not valid", name, len(name))
		}
	}
	if name := serviceName("1-2-3", 4, "web.v1"); name != "cleave-1-2-3-4-web-v1" {
		t.Errorf("the service of web.v1 is called %q", name)
	}
}

// TestAStartThatFailsHasEnded checks that a life whose service cannot be made has ended, so that no caller
// waits for its end. It may be the first life or a further one.
func TestAStartThatFailsHasEnded(t *testing.T) {
	d := &deployment{deployer: &Deployer{}}
	d.siteTrial = &privateTrial{deployment: d}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(),
		fleet.Platform[*service]{})
	d.Wanted = links.Of(nil, nil)
	for _, further := range []bool{false, true} {
		s := d.newService(lab.UnitSpec{Name: "views"})
		s.Further = further
		deploytest.Says(t, s.Start(t.Context()), "cannot be the name of its folder") // the trial has no folder
		if !s.HasEnded() {
			t.Errorf("a start has failed (of a further life: %t), and the life has not ended", further)
		}
	}
}

// TestAContainerThatTheSwarmRemoves checks that a refusal to remove a container that the swarm is removing at
// the same time is no error.
func TestAContainerThatTheSwarmRemoves(t *testing.T) {
	removed := 0
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			removed++
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"message":"removal of container a is already in progress"}`))
		}
	}))
	defer daemon.Close()
	client, err := engine.OpenAt(t.Context(), "tcp://"+daemon.Listener.Addr().String())
	testset.Must(t, err)
	life := &privateLife{Life: engine.Life{Engine: client, Container: "a"}}
	if err := life.cleanUp(t.Context()); err != nil || removed != 1 {
		t.Errorf("it was removed %d times: %v", removed, err)
	}
}

// TestNoTrialBeginsWithoutANode checks that a trial is refused while nodes have faults that could not be
// healed after an earlier one.
func TestNoTrialBeginsWithoutANode(t *testing.T) {
	nodes := []*private.Node{{Host: &hosts.Host{Name: "node-2"}}, {Host: &hosts.Host{Name: "node-3"}}}
	site := &privateSite{cluster: &private.Cluster{Nodes: nodes}}
	deploytest.Says(t, site.enter(t.Context()), "node-2, node-3 of the swarm did not recover from a fault")
}
