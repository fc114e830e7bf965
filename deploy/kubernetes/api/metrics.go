package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// API group and version of metrics-server.
const (
	MetricsGroup   = "metrics.k8s.io"
	MetricsVersion = "v1beta1"
)

// PodMetrics holds the usage of a pod in the format of metrics-server.
type PodMetrics struct {
	Object
	Timestamp  time.Time // of the end of the window, in whole seconds
	Window     string    // such as "10.012s"
	Containers []struct {
		Usage struct{ CPU string } // such as "11140167n"
	}
}

// CPU returns the mean number of processors that the pod used over the window.
func (m PodMetrics) CPU() (cores float64, window time.Duration, err error) {
	for _, c := range m.Containers {
		used, err := quantity(c.Usage.CPU)
		if err != nil {
			return 0, 0, err
		}
		cores += used
	}
	if window, err = time.ParseDuration(m.Window); err == nil && window <= 0 {
		err = fmt.Errorf("the window %q, as Kubernetes reports it, has no length", m.Window)
	}
	return cores, window, err
}

// quantity returns the number that a Kubernetes quantity stands for, such as 0.25 for "250m".
func quantity(text string) (float64, error) {
	digits := strings.TrimRight(text, "numkKMGTi")
	scale, known := map[string]float64{"": 1, "m": 1e-3, "u": 1e-6, "n": 1e-9,
		"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}[text[len(digits):]]
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known {
		return 0, fmt.Errorf("the quantity %q, as Kubernetes reports it, is no number", text)
	}
	return value * scale, nil
}

// Metrics returns the figures of metrics-server for the pods of a namespace with a label, NAME=VALUE.
func (c *Client) Metrics(ctx context.Context, namespace, label string) ([]PodMetrics, error) {
	var list struct{ Items []PodMetrics }
	err := c.Do(ctx, http.MethodGet, "/apis/"+MetricsGroup+"/"+MetricsVersion+"/namespaces/"+namespace+
		"/pods?labelSelector="+url.QueryEscape(label), nil, &list)
	return list.Items, err
}

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
