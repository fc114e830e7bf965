package run

import "github.com/cleave-lab/cleave/lab"

// nodesOf sums the use of units by node, as they were placed at the end of the load; nil if the deployment
// has no nodes. It leaves out the generator, and nodes with a unit whose processor time or memory is not
// metered.
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
