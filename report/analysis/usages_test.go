package analysis

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestOperationsOfATrialThatLacksAUnit: the measured cost and the CPU time that is known are not of the same
// units, so that they do not give the number of operations.
func TestOperationsOfATrialThatLacksAUnit(t *testing.T) {
	e := newExperiment(underLoad(at("p", lab.FactorRate, 10)))
	trial := lab.Trial{Operations: 100, Measures: map[string]float64{"cpu_per_operation": 0.01},
		Metered: lab.Metered{Roles: map[string]lab.Usage{"shop": {CPUSeconds: 2}}}}
	if n := e.costedOperations(trial); n != 200 {
		t.Errorf("%g operations, want 200: 2 s at 10 ms each", n)
	}
	trial.Metered.Roles["database"] = lab.Usage{Unavailable: map[string]string{"cpu_seconds": "it runs already"}}
	if n := e.costedOperations(trial); n != 100 {
		t.Errorf("%g operations, want the 100 of the trial", n)
	}
}

// TestLoadsOfNodes: they are medians over the trials in which the node had units, at each load.
// Searches are left out.
func TestLoadsOfNodes(t *testing.T) {
	const first, search = "slow", "quick"
	in := loaded()
	in.Plan.Study.Points[1].Levels = map[string]float64{lab.FactorSearchFrom: 50}
	for i := range in.Trials {
		trial := &in.Trials[i]
		if trial.Variant != "b" {
			continue
		}
		trial.Metered.WindowSeconds = 2
		trial.Metered.Nodes = map[string]lab.NodeUsage{"node-1": {Units: 2, CPUSeconds: 1, MeanMemoryBytes: 100}}
		if trial.Block == 1 && trial.Point.Name == first {
			trial.Metered.Nodes["node-2"] = lab.NodeUsage{Units: 1, CPUSeconds: 0.5, MeanMemoryBytes: 7}
		}
	}
	all := Analyse(in).NodeLoads
	at := func(node string) lab.NodeLoad {
		i := slices.IndexFunc(all, func(n lab.NodeLoad) bool {
			return n.Variant == "b" && n.Node == node && n.Point.Name == first
		})
		if i < 0 {
			t.Fatalf("%+v has no %s at %s", all, node, first)
		}
		return all[i]
	}
	if n := at("node-1"); n.CPUShare != 0.5 || n.MeanMemory != 100 || n.Units != 2 || n.Trials < 2 {
		t.Errorf("%+v", n)
	}
	if n := at("node-2"); n.CPUShare != 0.25 || n.MeanMemory != 7 || n.Trials != 1 {
		t.Errorf("%+v", n)
	}
	for _, n := range all {
		if n.Variant != "b" || n.Point.Name == search {
			t.Errorf("%s at %s has %+v", n.Variant, n.Point.Name, n)
		}
	}
}
