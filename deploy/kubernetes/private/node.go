package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
)

// Node is a node that runs pods.
type Node struct {
	*hosts.Host
	cluster *Cluster
	pods    int    // number of its range of addresses
	dir     string // of its files
	group   string // control group of its pods, below every controller
}

// pauseImage is that of the program that holds a pod.
const pauseImage = "cleave.invalid/pause:1"

// furnish gives a node folders of its own where its agents expect them, and keeps the
// kubelet from changing settings that are the whole machine's: it finds them as it wants
// them, in files that only the node sees. $0 is the node's folder.
const furnish = `set -e
mount --bind "$0/lib" /var/lib; mount --make-shared /var/lib
mount --bind "$0/log" /var/log
mount -t tmpfs tmpfs /run; mount --make-shared /run
echo 1 > /proc/sys/net/ipv4/ip_forward
pretend() { f="$0/$(basename "$1")"; echo "$2" > "$f"; [ ! -e "/proc/sys/$1" ] || mount --bind "$f" "/proc/sys/$1"; }
pretend vm/overcommit_memory 1; pretend vm/panic_on_oom 0; pretend kernel/panic 10; pretend kernel/panic_on_oops 1
pretend kernel/keys/root_maxkeys 1000000; pretend kernel/keys/root_maxbytes 25000000`

// engineConfig is containerd's. Without restrict_oom_score_adj no pod starts where root may
// not lower that score.
const engineConfig = `version = 2
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd-opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/var/lib/registries"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "` + plugins + `"
  conf_dir = "/var/lib/cni/net.d"
`

// startEngine furnishes the node and starts what runs containers on it.
func (n *Node) startEngine(ctx context.Context) error {
	network := filepath.Join(n.dir, "lib", "cni", "net.d")
	err := errors.Join(os.MkdirAll(network, 0o700), os.MkdirAll(filepath.Join(n.dir, "log"), 0o700))
	if err == nil {
		err = errors.Join(n.describeNetwork(filepath.Join(network, "pods.conflist")),
			os.WriteFile(n.file("containerd.toml"), []byte(engineConfig), 0o600))
	}
	if err == nil {
		n.group, err = cgroup.MakeHost(cgroup.Root, n.cluster.label, n.Name)
	}
	if err != nil {
		return err
	}
	if err := n.Run(ctx, "sh", "-c", furnish, n.dir); err != nil {
		return fmt.Errorf("furnish %s: %w", n.Name, err)
	}
	if err := n.cluster.run(n.Host, "containerd", "containerd", "--config="+n.file("containerd.toml"),
		"--log-level=warn"); err != nil {
		return err
	}
	err = n.cluster.await(ctx, "containerd does not answer",
		func(ctx context.Context) error { return n.Run(ctx, "ctr", "version") })
	if err != nil {
		return err
	}
	pause, _, err := containers.Archive(pauseImage, filepath.Join(folder(), "pause"), nil)
	if err != nil {
		return err
	}
	return n.Import(ctx, bytes.NewReader(pause))
}

// Boot starts a node that was killed and returns when its agent works again. What was on its
// disk is there, and the way to others; what was in memory is not.
func (n *Node) Boot(ctx context.Context) error {
	// The kubelet would look for what ran in each of the control groups that are left.
	err := errors.Join(cgroup.RemoveHost(cgroup.Root, n.cluster.label, n.Name), n.Host.Boot(ctx))
	if err != nil {
		return err
	}
	for i, other := range n.cluster.Nodes {
		if other == n {
			continue
		}
		if err := n.Route(ctx, podRange+i, "via "+other.Address); err != nil {
			return err
		}
	}
	if err := n.startEngine(ctx); err != nil {
		return err
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	// What the cluster says of the node may be of before.
	return n.cluster.await(ctx, "the kubelet of "+n.Name+" does not listen", func(context.Context) error {
		connection, err := net.DialTimeout("tcp", n.KubeletAddress(), time.Second)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// KubeletAddress returns where the agent of Kubernetes listens, as host:port.
func (n *Node) KubeletAddress() string { return net.JoinHostPort(n.Address, "10250") }

func (n *Node) file(name string) string { return filepath.Join(n.dir, name) }

// describeNetwork writes how pods are joined to the network: by a bridge of the node's,
// with addresses of its own range.
func (n *Node) describeNetwork(path string) error {
	subnet := n.cluster.Hosts.Range(n.pods) + "0/24"
	return writeJSON(path, named{"cniVersion": "0.4.0", "name": "pods", "plugins": []named{{
		"type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true,
		"ipam": named{"type": "host-local", "ranges": [][]named{{{"subnet": subnet}}},
			"routes": []named{{"dst": "0.0.0.0/0"}}},
	}}})
}

// Import loads an image onto the node, in the format of `docker save`.
func (n *Node) Import(ctx context.Context, archive io.Reader) error {
	load := n.Command(ctx, "ctr", "--namespace=k8s.io", "images", "import", "--snapshotter=overlayfs", "-")
	load.Stdin = archive
	if text, err := load.CombinedOutput(); err != nil {
		return fmt.Errorf("load an image onto %s: %w: %s", n.Name, err, text)
	}
	return nil
}

// join starts the agents of Kubernetes on the node and returns when it takes pods.
func (n *Node) join(ctx context.Context) error {
	c := n.cluster
	agent, err := n.configureAgent()
	if err != nil {
		return err
	}
	proxy, err := n.configureProxy()
	if err != nil {
		return err
	}
	access, err := c.authority.configure(n.Name, c.server)
	if err != nil {
		return err
	}
	err = errors.Join(n.route(ctx),
		c.kubernetes(n.Host, "kubelet", append([]string{"--config=" + agent, "--kubeconfig=" + access,
			"--hostname-override=" + n.Name, "--node-ip=" + n.Address}, c.flags...)...),
		c.kubernetes(n.Host, "proxy", "--config="+proxy))
	if err != nil {
		return err
	}
	return n.awaitReady(ctx)
}

// awaitReady waits until the node takes pods.
func (n *Node) awaitReady(ctx context.Context) error {
	return n.cluster.await(ctx, n.Name+" is not ready", func(ctx context.Context) error {
		node, err := n.state(ctx)
		if err == nil && !node.Ready() {
			err = fmt.Errorf("its conditions are %+v, its taints %v", node.Status.Conditions, node.Spec.Taints)
		}
		return err
	})
}

// state returns what the cluster says of the node.
func (n *Node) state(ctx context.Context) (node api.Node, err error) {
	return node, n.cluster.API.Do(ctx, http.MethodGet, n.path(), nil, &node)
}

func (n *Node) path() string { return "/api/v1/nodes/" + n.Name }

// Lost reports whether the cluster says that it does not hear from the node.
func (n *Node) Lost(ctx context.Context) (bool, error) {
	node, err := n.state(ctx)
	return node.Lost(), err
}

// Cordon keeps pods from coming to the node, or lets them come again.
func (n *Node) Cordon(ctx context.Context, off bool) error {
	change := map[string]any{"spec": map[string]bool{"unschedulable": off}}
	if err := n.cluster.API.Do(ctx, http.MethodPatch, n.path(), change, nil); err != nil || off {
		return err
	}
	return n.awaitReady(ctx)
}

// route lets all others reach the node's pods, and this host services, through the first
// node; what a node sends to a service must have a way to begin with.
func (n *Node) route(ctx context.Context) error {
	err := n.cluster.Hosts.Route(ctx, n.pods, n.Host)
	if n == n.cluster.Nodes[0] {
		err = errors.Join(err, n.cluster.Hosts.RouteHere(ctx, serviceRange, n.Host))
	}
	return errors.Join(err, n.Route(ctx, serviceRange, "dev eth0"))
}

// configureAgent writes the kubelet's configuration and returns its path. Nothing that it
// would remove for want of room could be loaded again.
func (n *Node) configureAgent() (string, error) {
	key, path := n.cluster.authority.path, n.file("kubelet.json")
	return path, writeJSON(path, named{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": named{"anonymous": named{"enabled": false}, "webhook": named{"enabled": true},
			"x509": named{"clientCAFile": key("ca.crt")}},
		"authorization": named{"mode": "Webhook"},
		"tlsCertFile":   key(n.Name + ".crt"), "tlsPrivateKeyFile": key(n.Name + ".key"), "address": n.Address,
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "cgroupDriver": "cgroupfs",
		"cgroupRoot":    n.group,
		"clusterDomain": "cluster.local", "resolvConf": "", "failSwapOn": false, "makeIPTablesUtilChains": false,
		"maxPods":                     MaxPods,
		"imageGCHighThresholdPercent": 100, "localStorageCapacityIsolation": false,
		"evictionHard": named{"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
	})
}

// MaxPods is how many pods a node takes: fewer than its range has addresses.
const MaxPods = 200

// configureProxy writes the configuration of what directs calls of services, and returns
// its path. It leaves settings alone that are the whole machine's.
func (n *Node) configureProxy() (string, error) {
	access, err := n.cluster.authority.configure("proxy", n.cluster.server)
	if err != nil {
		return "", err
	}
	path := n.file("proxy.json")
	return path, writeJSON(path, named{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
		"clientConnection": named{"kubeconfig": access}, "hostnameOverride": n.Name,
		// Two ranges, those of the pods. Calls from elsewhere come back the way they went.
		"clusterCIDR": n.cluster.Hosts.Range(podRange) + "0/23",
		"conntrack":   named{"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
		"nftables":    named{"minSyncPeriod": "100ms"},
	})
}
