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
	trust, err := c.authority.client("admin")
	if err != nil {
		return err
	}
	c.API = api.New(c.server, trust)
	// Controllers that come before the server's first roles are there would give up.
	err = c.await(ctx, "the API server is not ready", func(ctx context.Context) error {
		return c.API.Do(ctx, http.MethodGet, "/readyz", nil, nil)
	})
	if err != nil {
		return err
	}
	controllers, err := c.authority.configure("controllers", c.server)
	if err != nil {
		return err
	}
	scheduler, err := c.authority.configure("scheduler", c.server)
	if err != nil {
		return err
	}
	err = c.kubernetes(c.control(), "controller-manager", "--kubeconfig="+controllers, "--leader-elect=false",
		"--allocate-node-cidrs=false",
		"--use-service-account-credentials", "--service-account-private-key-file="+c.authority.path("accounts.key"),
		"--root-ca-file="+c.authority.path("ca.crt"), "--secure-port=0")
	if err != nil {
		return err
	}
	return c.kubernetes(c.control(), "scheduler", "--kubeconfig="+scheduler, "--leader-elect=false",
		"--secure-port=0")
}

// startEtcd keeps what etcd writes in memory: the cluster lives no longer than its host.
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

func (c *Cluster) startServer() error {
	key := c.authority.path
	return c.kubernetes(c.control(), "apiserver", "--etcd-servers=http://127.0.0.1:2379",
		"--bind-address="+c.control().Address, "--advertise-address="+c.control().Address, "--secure-port=6443",
		fmt.Sprintf("--service-cluster-ip-range=%s0/24", c.Hosts.Range(serviceRange)),
		"--tls-cert-file="+key("server.crt"), "--tls-private-key-file="+key("server.key"),
		"--client-ca-file="+key("ca.crt"),
		"--kubelet-client-certificate="+key("to-kubelet.crt"), "--kubelet-client-key="+key("to-kubelet.key"),
		"--kubelet-certificate-authority="+key("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key("accounts.pub"),
		"--service-account-signing-key-file="+key("accounts.key"), "--authorization-mode=Node,RBAC",
		"--anonymous-auth=false",
		// Calls for metrics-server are handed on with the name of who has made them.
		"--proxy-client-cert-file="+key("to-metrics.crt"), "--proxy-client-key-file="+key("to-metrics.key"),
		"--requestheader-client-ca-file="+key("ca.crt"), "--requestheader-allowed-names="+aggregator,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--enable-aggregator-routing",
		// A pod need not wait for the account of a namespace that was just made: it gets none.
		"--disable-admission-plugins=ServiceAccount")
}

// aggregator is the API server where it hands on calls, the only one whose word on who has
// made them is taken.
const aggregator = "front-proxy-client"
