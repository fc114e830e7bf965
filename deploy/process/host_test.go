package process

import (
	"net"
	"testing"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestFurtherPortsOfUnitsThatShareAnAddress checks that units listen on the port of the address that they
// share, and on further ports of their own.
func TestFurtherPortsOfUnitsThatShareAnAddress(t *testing.T) {
	networking := lab.Networking{Listens: true, Floats: "both", Ports: []string{"admin"}}
	layout := lab.Layout{Units: []lab.UnitSpec{{Name: "left", Networking: networking},
		{Name: "right", Networking: networking}}}
	endpoints, ports, err := assignEndpoints(layout, &hosts.Set{})
	testset.Must(t, err)
	defer ports.Close()
	portOf := func(name string) string {
		_, port, err := net.SplitHostPort(endpoints[name].Dial)
		testset.Must(t, err)
		return port
	}
	shared := portOf("both")
	left := portOf(lab.PortOf("left", "admin"))
	right := portOf(lab.PortOf("right", "admin"))
	if portOf("left") != shared || portOf("right") != shared || left == shared || right == shared ||
		left == right {
		t.Errorf("the endpoints are %v", endpoints)
	}
}
