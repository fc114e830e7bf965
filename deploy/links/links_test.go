package links

import (
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestLinksThatCannotBeMadeAreRefused checks the refusals of Check.
func TestLinksThatCannotBeMadeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(links map[string]lab.Network, left, right *lab.UnitSpec)
		says   string
	}{
		"nobody calls it": {func(links map[string]lab.Network, _, right *lab.UnitSpec) {
			right.Listens = false
			links["east"] = lab.Network{Delay: 1}
		}, "nobody calls a unit on east"},
		"too slow": {func(links map[string]lab.Network, _, _ *lab.UnitSpec) {
			links["east"] = lab.Network{Rate: 10}
		}, fmt.Sprintf("use %d or more", hosts.LeastRate)},
		"a further port": {func(_ map[string]lab.Network, left, _ *lab.UnitSpec) {
			left.Ports = []string{"more"}
		}, "unit left on west listens at more"},
		"a shared address": {func(_ map[string]lab.Network, left, _ *lab.UnitSpec) { left.Floats = "both" },
			"unit left on west listens at more"},
		"a node's port": {func(_ map[string]lab.Network, left, _ *lab.UnitSpec) {
			left.Reached = lab.ReachPublished
		}, "unit left on west listens at more"},
		"an autoscaled unit": {func(_ map[string]lab.Network, left, _ *lab.UnitSpec) {
			left.Autoscale = &lab.Autoscale{Max: 2}
		}, "adds replicas of unit left on west"},
		"slowed, too": {func(_ map[string]lab.Network, left, _ *lab.UnitSpec) {
			left.Faults = []lab.FaultKind{lab.FaultSlow}
		}, "shall be slowed by a fault"},
	} {
		t.Run(name, func(t *testing.T) {
			links := map[string]lab.Network{"west": {Rate: 1e6, Delay: 0.02}, "east": {Rate: 2e6}}
			units := []lab.UnitSpec{{Name: "left", Placement: lab.Placement{Node: "west"}},
				{Name: "right", Placement: lab.Placement{Node: "east"}}}
			units[0].Listens = true
			units[1].Listens = true
			testset.Must(t, Check(links, units))
			c.change(links, &units[0], &units[1])
			deploytest.Says(t, Check(links, units), c.says)
		})
	}
}
