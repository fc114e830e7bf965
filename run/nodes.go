package run

import "github.com/cleave-lab/cleave/lab"

// nodesOf adds up what units used by the nodes that they are on now, which is where they were
// at the end of the load; nil where the deployment has none. The generator is left out, and
// so is a node of which a unit cannot tell its processor time or memory.
func nodesOf(units []lab.UnitUsage, deployment lab.Deployment) map[string]lab.NodeUsage {
	var nodes map[string]lab.NodeUsage
	untold := map[string]bool{}
	for _, u := range units {
		node := deployment.NodeOf(u.Unit.Name)
		if node == "" || u.Unit.Role == lab.RoleGenerator {
			continue
		}
		for _, quantity := range []string{"cpu_seconds", "mean_memory_bytes"} {
			if _, missing := u.Unavailable[quantity]; missing {
				untold[node] = true
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
	for node := range untold {
		delete(nodes, node)
	}
	return nodes
}
