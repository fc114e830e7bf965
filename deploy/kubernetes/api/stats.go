package api

import (
	"context"
	"net/http"
	"time"
)

// PodStats holds the counts of a kubelet for a pod of its node.
type PodStats struct {
	PodRef     struct{ Name, Namespace string }
	Containers []ContainerStats
}

// ContainerStats holds the counts of a container at the kubelet's last look, whose time is in whole seconds
// of the node's clock. A kubelet looks every 10 to 30 s; a nil count: it has not looked yet.
type ContainerStats struct {
	Name string
	CPU  struct {
		Time                 time.Time
		UsageCoreNanoSeconds *int64
	}
	Memory struct{ WorkingSetBytes *int64 }
}

// Stats returns what the kubelet of a node has counted of the pods there, of all namespaces.
func (c *Client) Stats(ctx context.Context, node string) ([]PodStats, error) {
	var summary struct{ Pods []PodStats }
	err := c.Do(ctx, http.MethodGet, "/api/v1/nodes/"+node+"/proxy/stats/summary?only_cpu_and_memory=true", nil,
		&summary)
	return summary.Pods, err
}
