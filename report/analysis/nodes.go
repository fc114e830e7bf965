package analysis

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// nodeLoads are what the units of each node used, per variant and point, where the deployment
// has nodes: medians over the trials in which the node had units. Searches are left out:
// what they used on average is that of no load.
func (e *experiment) nodeLoads() []lab.NodeLoad {
	var all []lab.NodeLoad
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			if _, search := point.Level(lab.FactorSearchFrom); search {
				continue
			}
			cores, memory, units := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
			for _, trial := range e.counted(v.Name, point.Name) {
				for node, used := range trial.Metered.Nodes {
					cores[node] = append(cores[node], used.CPUSeconds/trial.Metered.WindowSeconds)
					memory[node] = append(memory[node], float64(used.MeanMemoryBytes))
					units[node] = append(units[node], float64(used.Units))
				}
			}
			for _, node := range slices.Sorted(maps.Keys(cores)) {
				all = append(all, lab.NodeLoad{Variant: v.Name, Point: point, Node: node, Trials: len(cores[node]),
					Units: medianOrNone(units[node]), CPUShare: medianOrNone(cores[node]),
					MeanMemory: medianOrNone(memory[node])})
			}
		}
	}
	return all
}
