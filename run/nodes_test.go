package run

import (
	"reflect"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestUsageOfNodes checks the sums by node, without the generator and without nodes that have a unit whose
// usage is not fully metered.
func TestUsageOfNodes(t *testing.T) {
	unit := func(name, role string, cpu float64, memory int64) lab.UnitUsage {
		return lab.UnitUsage{Unit: lab.Unit{Name: name, Role: role},
			Usage: lab.Usage{CPUSeconds: cpu, MeanMemoryBytes: memory}}
	}
	blind := unit("views", "views", 7, 0)
	blind.Unavailable = map[string]string{"mean_memory_bytes": "not readable"}
	units := []lab.UnitUsage{
		unit("orders", "orders", 1, 10), unit("orders-2", "orders", 2, 20), unit("stock", "stock", 4, 40), blind,
		unit("mails", "mails", 8, 80),
		unit("generator", lab.RoleGenerator, 16, 160), unit("here", "here", 32, 320),
	}
	where := placed{nodes: map[string]string{"orders": "node-1", "orders-2": "node-2", "stock": "node-1",
		"views": "node-3", "mails": "node-3", "generator": "node-2"}}
	want := map[string]lab.NodeUsage{"node-1": {Units: 2, CPUSeconds: 5, MeanMemoryBytes: 50},
		"node-2": {Units: 1, CPUSeconds: 2, MeanMemoryBytes: 20}}
	if got := nodesOf(units, where); !reflect.DeepEqual(got, want) {
		t.Errorf("usage of nodes %v, want %v", got, want)
	}
	if got := nodesOf(units, placed{}); got != nil {
		t.Errorf("usage of nodes of a deployment without nodes: %v", got)
	}
}
