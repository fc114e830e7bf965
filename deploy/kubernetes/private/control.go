package private

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
)

// startControl starts the control plane and returns when it can be used.
func (c *Cluster) startControl(ctx context.Context) error {
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	if err := c.startServer(); err != nil {
		return err
	}
	trust, err := c.authority.client()
	if err != nil {
		return err
	}
	c.API = api.New(c.server, trust)
	// Controllers would give up if they started before the server has made its default roles.
	err = c.await(ctx, "the API server is not ready", func(ctx context.Context) error {
		return c.API.Do(ctx, http.MethodGet, "/readyz", nil, nil)
	})
	if err != nil {
		return err
	}
	err = c.kubernetes(c.control(), "controller-manager", "--kubeconfig="+c.authority.access(),
		"--leader-elect=false", "--allocate-node-cidrs=false",
		"--use-service-account-credentials", "--service-account-private-key-file="+c.authority.path("server.key"),
		"--root-ca-file="+c.authority.path("ca.crt"), "--secure-port=0")
	if err != nil {
		return err
	}
	return c.kubernetes(c.control(), "scheduler", "--kubeconfig="+c.authority.access(), "--leader-elect=false",
		"--secure-port=0")
}

// startEtcd starts etcd, with its data in memory: the cluster does not outlive the host of the control plane.
func (c *Cluster) startEtcd(ctx context.Context) error {
	data := filepath.Join(c.dir, "etcd")
	if err := c.control().Run(ctx, "mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", data); err != nil {
		return err
	}
	client, peer := "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	return c.run(c.control(), "etcd", "etcd", "--name=control", "--data-dir="+filepath.Join(data, "data"),
		"--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client, "--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer, "--initial-cluster=control="+peer)
}

// startServer starts the API server.
func (c *Cluster) startServer() error {
	pki := c.authority.path
	return c.kubernetes(c.control(), "apiserver", "--etcd-servers=http://127.0.0.1:2379",
		"--bind-address="+c.control().Address, "--advertise-address="+c.control().Address, "--secure-port=6443",
		fmt.Sprintf("--service-cluster-ip-range=%s0/24", c.Hosts.Range(serviceRange)),
		"--tls-cert-file="+pki("server.crt"), "--tls-private-key-file="+pki("server.key"),
		"--client-ca-file="+pki("ca.crt"),
		"--kubelet-client-certificate="+pki("admin.crt"), "--kubelet-client-key="+pki("admin.key"),
		"--kubelet-certificate-authority="+pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+pki("server.key"), "--service-account-signing-key-file="+pki("server.key"),
		"--authorization-mode=RBAC", "--anonymous-auth=false",
		// The server forwards calls for metrics-server with the name of their user.
		"--proxy-client-cert-file="+pki("admin.crt"), "--proxy-client-key-file="+pki("admin.key"),
		"--requestheader-client-ca-file="+pki("ca.crt"), "--requestheader-allowed-names="+administrator,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--enable-aggregator-routing",
		// Pods get no service account, so they need not wait until a new namespace has one.
		"--disable-admission-plugins=ServiceAccount")
}
