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
	for i, name := range spec.Endpoints() {
		port := FirstPort + i
		if name == spec.Name && spec.Port != 0 {
			port = spec.Port
		}
		ports = append(ports, port)
	}
	return ports
}

// AnyAddress returns the address to bind for listening on all interfaces of a container, whose own address is
// not known in advance.
func AnyAddress(port int) string { return net.JoinHostPort("0.0.0.0", strconv.Itoa(port)) }
