package api

import (
	"context"
	"net/http"
	"time"
)

// PodStats holds the counters of a kubelet for a pod of its node.
type PodStats struct {
	PodRef     struct{ Name, Namespace string }
	Containers []ContainerStats
}

// ContainerStats holds the kubelet's last sample of a container. Its time is in whole seconds on the node's
// clock. A kubelet samples every 10 to 30 s; before the first sample the counters are nil.
type ContainerStats struct {
	Name string
	CPU  struct {
		Time                 time.Time
		UsageCoreNanoSeconds *int64
	}
	Memory struct{ WorkingSetBytes *int64 }
}

// Stats returns the counters of a node's kubelet for its pods, of all namespaces.
func (c *Client) Stats(ctx context.Context, node string) ([]PodStats, error) {
	var summary struct{ Pods []PodStats }
	err := c.Do(ctx, http.MethodGet, "/api/v1/nodes/"+node+"/proxy/stats/summary?only_cpu_and_memory=true", nil,
		&summary)
	return summary.Pods, err
}
