package kubernetes

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestServicesAreReachedThroughTheirOwnNodes checks that this host reaches a service through the node of its
// unit if the layout changes links, as the changed link of the first node would slow it otherwise. After the
// trial it reaches services through the first node again.
func TestServicesAreReachedThroughTheirOwnNodes(t *testing.T) {
	d, _ := newDeployer(t)
	l := deploytest.Layout("front")
	l.Units[0].Node = "node-1"
	l.Units[1].Node = "node-2"
	l.Links = map[string]lab.Network{"node-1": {Rate: 1e6}}
	made := deploytest.Deploy(t, d, l)
	endpoint, err := made.Endpoint("front")
	testset.Must(t, err)
	service, _, _ := net.SplitHostPort(endpoint.Dial)
	for _, through := range []string{"node-2", "node-1"} {
		route, err := exec.CommandContext(t.Context(), "ip", "route", "get", service).CombinedOutput()
		if via := d.cluster.Named(through).Address; err != nil ||
			!strings.Contains(string(route), " via "+via+" ") {
			t.Errorf("the route to front is %s, %v: want %s, which is %s", route, err, via, through)
		}
		if err := made.Stop(); err != nil { // restores the route; the second call does nothing
			t.Fatal(err)
		}
	}
}
