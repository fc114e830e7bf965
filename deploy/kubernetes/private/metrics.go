package private

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

const (
	metricsPort = 10443
	// MetricsResolution is how often metrics-server looks, in seconds: it refuses less.
	MetricsResolution = 10
)

// metricsServer returns the program that says what pods use, in millicores.
func metricsServer() string { return filepath.Join(folder(), "metrics-server") }

// MissingMetrics says why clusters here do not say what pods use; nil: they do.
func MissingMetrics() error {
	if _, err := os.Stat(metricsServer()); err != nil {
		return &lab.MissingError{What: "metrics-server is not built", Install: "make kubernetes"}
	}
	return nil
}

// startMetrics starts metrics-server beside the control plane and has the API server ask it.
// That it has looked twice, before which it knows nothing, nobody waits for.
func (c *Cluster) startMetrics(ctx context.Context) error {
	// Without the server's word on whom to trust metrics-server would give up.
	err := c.await(ctx, "the API server does not say whom to trust", func(ctx context.Context) error {
		return c.API.Do(ctx, http.MethodGet,
			"/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", nil, nil)
	})
	if err != nil {
		return err
	}
	access, err := c.authority.configure("metrics", c.server)
	if err != nil {
		return err
	}
	key := c.authority.path
	err = c.run(c.control(), "metrics-server", metricsServer(), "--kubeconfig="+access,
		"--authentication-kubeconfig="+access,
		"--authorization-kubeconfig="+access, "--bind-address="+c.control().Address,
		"--secure-port="+strconv.Itoa(metricsPort),
		"--tls-cert-file="+key("metrics.crt"), "--tls-private-key-file="+key("metrics.key"),
		"--kubelet-certificate-authority="+key("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		fmt.Sprintf("--metric-resolution=%ds", MetricsResolution), "--kubelet-request-timeout=4s")
	if err != nil {
		return err
	}
	return c.registerMetrics(ctx)
}

// metricsName is the one under which the API server reaches metrics-server, and knows it.
const metricsName = "metrics-server.kube-system.svc"

// registerMetrics tells the API server who answers for metrics.k8s.io. The service has no
// pod: its end is the daemon.
func (c *Cluster) registerMetrics(ctx context.Context) error {
	trusted, err := os.ReadFile(c.authority.path("ca.crt"))
	if err != nil {
		return err
	}
	service := named{"name": "metrics-server", "namespace": "kube-system"}
	for _, made := range []struct {
		path string
		what named
	}{
		{"/api/v1/namespaces/kube-system/services", named{"metadata": service, "spec": named{
			"ports": []named{{"name": "https", "port": 443, "targetPort": metricsPort}}}}},
		{"/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", named{
			"metadata": named{"name": "metrics-server",
				"labels": named{"kubernetes.io/service-name": "metrics-server"}},
			"addressType": "IPv4", "endpoints": []named{{"addresses": []string{c.control().Address},
				"conditions": named{"ready": true}}},
			"ports": []named{{"name": "https", "port": metricsPort, "protocol": "TCP"}}}},
		{"/apis/apiregistration.k8s.io/v1/apiservices",
			named{"metadata": named{"name": api.MetricsVersion + "." + api.MetricsGroup}, "spec": named{
				"service": service, "group": api.MetricsGroup, "version": api.MetricsVersion, "caBundle": trusted,
				"groupPriorityMinimum": 100, "versionPriority": 100}}},
	} {
		if err := c.API.Do(ctx, http.MethodPost, made.path, made.what, nil); err != nil {
			return fmt.Errorf("register metrics-server: %w", err)
		}
	}
	return nil
}
