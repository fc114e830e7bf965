package containers

import (
	"net"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
)

// Ports of a unit in a container that has an address of its own, so that all units may use the same ones.
const (
	ControlPort = 8080            // where the unit waits for its conductor
	StarterPort = ControlPort - 1 // where its starter, if it has one, waits for the conductor
	FirstPort   = ControlPort + 1 // of its endpoints
)

// PortsOf returns the ports of a unit's endpoints, in the order of lab.UnitSpec.Endpoints.
func PortsOf(spec lab.UnitSpec) (ports []int) {
	names := spec.Endpoints()
	for i, name := range names {
		port := FirstPort + i
		switch {
		case name == spec.Name && spec.Port != 0:
			port = spec.Port
		case port == spec.Port: // it is taken
			port = FirstPort + len(names)
		}
		ports = append(ports, port)
	}
	return ports
}

// AnyAddress returns the address to bind for listening on all interfaces of a container, whose own address is
// not known in advance.
func AnyAddress(port int) string { return net.JoinHostPort("0.0.0.0", strconv.Itoa(port)) }
