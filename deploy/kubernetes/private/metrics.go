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
	// metricsPort is the port at which metrics-server listens.
	metricsPort = 10443
	// MetricsResolution is the interval of metrics-server's samples, in seconds: the shortest that it accepts.
	MetricsResolution = 10
)

// metricsServer returns the path of metrics-server.
func metricsServer() string { return filepath.Join(folder(), "metrics-server") }

// MissingMetrics returns an error if clusters on this host have no metrics-server.
func MissingMetrics() error {
	if _, err := os.Stat(metricsServer()); err != nil {
		return &lab.MissingError{What: "metrics-server is not built", Install: "make kubernetes"}
	}
	return nil
}

// startMetrics starts metrics-server on the host of the control plane and registers it. It does not wait for
// the first two samples, before which there are no figures.
func (c *Cluster) startMetrics(ctx context.Context) error {
	// metrics-server would give up if it started before the server has published its authorities.
	err := c.await(ctx, "the API server publishes no certificate authorities", func(ctx context.Context) error {
		return c.API.Do(ctx, http.MethodGet,
			"/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", nil, nil)
	})
	if err != nil {
		return err
	}
	pki := c.authority.path
	access := c.authority.access()
	err = c.run(c.control(), "metrics-server", metricsServer(), "--kubeconfig="+access,
		"--authentication-kubeconfig="+access,
		"--authorization-kubeconfig="+access, "--bind-address="+c.control().Address,
		"--secure-port="+strconv.Itoa(metricsPort),
		"--tls-cert-file="+pki("metrics.crt"), "--tls-private-key-file="+pki("metrics.key"),
		"--kubelet-certificate-authority="+pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		fmt.Sprintf("--metric-resolution=%ds", MetricsResolution), "--kubelet-request-timeout=4s")
	if err != nil {
		return err
	}
	return c.registerMetrics(ctx)
}

// metricsName is the name in the certificate of metrics-server, which the API server expects.
const metricsName = "metrics-server.kube-system.svc"

// registerMetrics registers metrics-server as the server of the API group metrics.k8s.io, through a service
// whose endpoint is the daemon and no pod.
func (c *Cluster) registerMetrics(ctx context.Context) error {
	trusted, err := os.ReadFile(c.authority.path("ca.crt"))
	if err != nil {
		return err
	}
	service := object{"name": "metrics-server", "namespace": "kube-system"}
	for _, made := range []struct {
		path string
		what object
	}{
		{"/api/v1/namespaces/kube-system/services", object{"metadata": service, "spec": object{
			"ports": []object{{"name": "https", "port": 443, "targetPort": metricsPort}}}}},
		{"/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", object{
			"metadata": object{"name": "metrics-server",
				"labels": object{"kubernetes.io/service-name": "metrics-server"}},
			"addressType": "IPv4", "endpoints": []object{{"addresses": []string{c.control().Address},
				"conditions": object{"ready": true}}},
			"ports": []object{{"name": "https", "port": metricsPort, "protocol": "TCP"}}}},
		{"/apis/apiregistration.k8s.io/v1/apiservices",
			object{"metadata": object{"name": api.MetricsVersion + "." + api.MetricsGroup}, "spec": object{
				"service": service, "group": api.MetricsGroup, "version": api.MetricsVersion, "caBundle": trusted,
				"groupPriorityMinimum": 100, "versionPriority": 100}}},
	} {
		if err := c.API.Do(ctx, http.MethodPost, made.path, made.what, nil); err != nil {
			return fmt.Errorf("register metrics-server: %w", err)
		}
	}
	return nil
}
