package containers

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestAUnitHasEachPortOnce checks that no further port of a unit is the port that the unit asks for itself.
func TestAUnitHasEachPortOnce(t *testing.T) {
	for port, want := range map[int][]int{0: {8081, 8082, 8083}, 80: {80, 8082, 8083}, 8081: {8081, 8082, 8083},
		8082: {8082, 8084, 8083}, 8083: {8083, 8082, 8084}} {
		got := PortsOf(lab.UnitSpec{Name: "broker",
			Networking: lab.Networking{Listens: true, Port: port, Ports: []string{"admin", "metrics"}}})
		if !slices.Equal(got, want) {
			t.Errorf("with the port %d it has %v, want %v", port, got, want)
		}
	}
}
