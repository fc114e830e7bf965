package kubernetes

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// TestServicesAreReachedThroughTheirOwnNodes where links are changed, so that the rate of the first
// node, through which all others are reached, is not before them; and as ever after that.
func TestServicesAreReachedThroughTheirOwnNodes(t *testing.T) {
	d, _ := newDeployer(t)
	l := deploytest.Front()
	l.Units[0].Node, l.Units[1].Node = "node-1", "node-2"
	l.Links = map[string]lab.Network{"node-1": {Rate: 1e6}}
	made := deploytest.Deploy(t, d, l)
	endpoint, err := made.Endpoint("front")
	deploytest.Must(t, err)
	service, _, _ := net.SplitHostPort(endpoint.Dial)
	for _, through := range []string{"node-2", "node-1"} {
		route, err := exec.CommandContext(t.Context(), "ip", "route", "get", service).CombinedOutput()
		if via := d.cluster.Named(through).Address; err != nil ||
			!strings.Contains(string(route), " via "+via+" ") {
			t.Errorf("the way to front is %s, %v: want %s, which is %s", route, err, via, through)
		}
		if err := made.Stop(); err != nil { // which changes it
			t.Fatal(err)
		}
	}
}
