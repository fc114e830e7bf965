package api

import (
	"context"
	"net/http"
	"time"
)

// PodStats is what the kubelet of its node has counted of a pod.
type PodStats struct {
	PodRef     struct{ Name, Namespace string }
	Containers []ContainerStats
}

// ContainerStats is what has been counted of a container by a moment, in whole seconds of its node's clock. A
// kubelet looks every 10 to 30 s and repeats itself meanwhile; nil: it has not looked yet.
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
