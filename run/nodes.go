package run

import "github.com/cleave-lab/cleave/lab"

// nodesOf returns the sum of the usage of units by node; nil if the deployment has no nodes. A unit counts
// for the node on which it was at the end of the load. The result leaves out the generator, and nodes with a
// unit whose CPU time or memory is not metered.
func nodesOf(units []lab.UnitUsage, deployment lab.Deployment) map[string]lab.NodeUsage {
	var nodes map[string]lab.NodeUsage
	unmetered := map[string]bool{}
	for _, u := range units {
		node := deployment.NodeOf(u.Unit.Name)
		if node == "" || u.Unit.Role == lab.RoleGenerator {
			continue
		}
		for _, quantity := range []string{"cpu_seconds", "mean_memory_bytes"} {
			if _, missing := u.Unavailable[quantity]; missing {
				unmetered[node] = true
			}
		}
		if nodes == nil {
			nodes = map[string]lab.NodeUsage{}
		}
		sum := nodes[node]
		sum.Units, sum.CPUSeconds, sum.MeanMemoryBytes = sum.Units+1, sum.CPUSeconds+u.CPUSeconds,
			sum.MeanMemoryBytes+u.MeanMemoryBytes
		nodes[node] = sum
	}
	for node := range unmetered {
		delete(nodes, node)
	}
	return nodes
}
