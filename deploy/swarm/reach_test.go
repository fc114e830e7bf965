package swarm

import (
	"net"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// TestPublishedPortsAreCalled checks that callers get, and can call, the published address of a unit if the
// layout says so, on another node and on the same one, where Docker's default bridge would drop the calls.
// Otherwise they get its name.
func TestPublishedPortsAreCalled(t *testing.T) {
	d := deployer(t)
	for _, c := range []struct {
		at   lab.Reach
		node string
	}{{lab.ReachUsual, "node-2"}, {lab.ReachPublished, "node-2"}, {lab.ReachPublished, "node-1"}} {
		t.Logf("reach %q on %s", c.at, c.node)
		l := deploytest.Layout("front")
		l.Units[0].Node = "node-1"
		l.Units[1].Node = c.node
		l.Units[1].Reached = c.at
		made := deploytest.Deploy(t, d, l)
		running := made.(*deployment)
		address := running.trial.Environment(l.Units[0])[lab.PeerVariable("front")]
		want := "front"
		if c.at == lab.ReachPublished {
			want = d.site.(*privateSite).cluster.Named(c.node).Address
		}
		if host, _, _ := net.SplitHostPort(address); host != want {
			t.Errorf("reach %q on %s: the lead calls the front at %s, want %s", c.at, c.node, address, want)
		}
		deploytest.Await(t, made, lab.EventReady) // it has called
		deploytest.NoError(t, made.Stop())
	}
}

// TestAPreflightEndsWithItsContext checks that Preflight ends with its context while this host's Docker,
// which is asked for images, or the manager of the user's swarm does not answer.
func TestAPreflightEndsWithItsContext(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://"+deploytest.Silent(t))
	deploytest.GivesUp(t, New(process.New("", nil, nil, ""), "", "", t.TempDir(), nil))
	users := &UserSwarm{Name: "tcp://" + deploytest.Silent(t)}
	deploytest.GivesUp(t, New(process.New("", nil, nil, ""), "", "", "", users))
}
