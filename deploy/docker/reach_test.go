package docker

import (
	"net"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// TestPublishedPortsAreCalled checks that peers call a published unit at the bridge's own address, which
// is this host's, and not at the container's. In the network of this host such a unit is refused.
func TestPublishedPortsAreCalled(t *testing.T) {
	dockertest.Start(t)
	l := deploytest.Layout("front")
	l.Units[1].Reached = lab.ReachPublished
	program := deploytest.Program(t)
	deploytest.Says(t, newDeployer(t, Host, program).Preflight(t.Context(), l),
		"unit front shall be called at a port that its node publishes")
	made := deploytest.Deploy(t, newDeployer(t, Bridge, program), l)
	running := made.(*deployment)
	peer := running.trial().Environment(l.Units[0])[lab.PeerVariable("front")]
	host, port, _ := net.SplitHostPort(peer)
	bound := running.Endpoints["front"].Bind
	if host != running.host || !strings.HasSuffix(host, ".1") || strings.HasPrefix(bound, host+":") ||
		strings.HasSuffix(bound, ":"+port) {
		t.Errorf("the lead calls the front at %s, which listens at %s; this host is %s", peer, bound, running.host)
	}
	deploytest.Await(t, made, lab.EventReady) // the lead has called front by then
	deploytest.NoError(t, made.Stop())
}
