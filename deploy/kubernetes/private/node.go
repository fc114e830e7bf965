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
	pods    int    // number of the address range of its pods
	dir     string // of its files
	group   string // control group of its pods, relative to every controller
}

// pauseImage is the image of the program that holds the namespaces of a pod.
const pauseImage = "cleave.invalid/pause:1"

// furnish gives a node its own folders, where containerd and the kubelet expect them. It also mounts files
// over kernel settings that are shared with this host, with the values that the kubelet wants, so that the
// kubelet does not change the settings. $0 is the node's folder.
const furnish = `set -e
mount --bind "$0/lib" /var/lib; mount --make-shared /var/lib
mount --bind "$0/log" /var/log
mount -t tmpfs tmpfs /run; mount --make-shared /run
echo 1 > /proc/sys/net/ipv4/ip_forward
pretend() { f="$0/$(basename "$1")"; echo "$2" > "$f"; [ ! -e "/proc/sys/$1" ] || mount --bind "$f" "/proc/sys/$1"; }
pretend vm/overcommit_memory 1; pretend vm/panic_on_oom 0; pretend kernel/panic 10; pretend kernel/panic_on_oops 1
pretend kernel/keys/root_maxkeys 1000000; pretend kernel/keys/root_maxbytes 25000000`

// engineConfig is the configuration of containerd. restrict_oom_score_adj lets pods start on hosts where root
// may not lower that score.
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

// startEngine furnishes the node, starts containerd on it, and loads the pause image.
func (n *Node) startEngine(ctx context.Context) error {
	network := filepath.Join(n.dir, "lib", "cni", "net.d")
	logs := filepath.Join(n.dir, "log")
	err := errors.Join(os.MkdirAll(network, 0o700), os.MkdirAll(logs, 0o700))
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

// Boot starts a node that was killed, with the data on its disk, and returns when its kubelet works again.
func (n *Node) Boot(ctx context.Context) error {
	// The control groups that are left are removed, because the kubelet would search for containers in them.
	// The host is booted before: after a failed Boot it still runs, with containers in these groups, and
	// booting it again ends them.
	err := errors.Join(n.Host.Boot(ctx), cgroup.RemoveHost(cgroup.Root, n.cluster.label, n.Name))
	if err != nil {
		return err
	}
	// A booted host has no routes. It needs those to the pods of the other nodes.
	for _, other := range n.cluster.Nodes {
		if other == n {
			continue
		}
		if err := n.Route(ctx, other.pods, "via "+other.Address); err != nil {
			return err
		}
	}
	if err := n.startEngine(ctx); err != nil {
		return err
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	// The state of the node in the cluster may be from before the fault.
	return n.cluster.await(ctx, "the kubelet of "+n.Name+" does not listen", func(context.Context) error {
		connection, err := net.DialTimeout("tcp", n.KubeletAddress(), time.Second)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// KubeletAddress returns the address of the kubelet, host:port.
func (n *Node) KubeletAddress() string { return net.JoinHostPort(n.Address, "10250") }

func (n *Node) file(name string) string { return filepath.Join(n.dir, name) }

// describeNetwork writes the CNI configuration of the node: a bridge that pods join, with addresses of the
// node's range.
func (n *Node) describeNetwork(path string) error {
	subnet := n.cluster.Hosts.Range(n.pods) + "0/24"
	return writeJSON(path, object{"cniVersion": "0.4.0", "name": "pods", "plugins": []object{{
		"type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true,
		"ipam": object{"type": "host-local", "ranges": [][]object{{{"subnet": subnet}}},
			"routes": []object{{"dst": "0.0.0.0/0"}}},
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

// join starts the kubelet and kube-proxy on the node and returns when the node takes pods.
func (n *Node) join(ctx context.Context) error {
	c := n.cluster
	kubelet, err := n.configureKubelet()
	if err != nil {
		return err
	}
	proxy, err := n.configureProxy()
	if err != nil {
		return err
	}
	err = errors.Join(n.route(ctx),
		c.kubernetes(n.Host, "kubelet", append([]string{"--config=" + kubelet,
			"--kubeconfig=" + c.authority.access(), "--hostname-override=" + n.Name,
			"--node-ip=" + n.Address}, c.flags...)...),
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

// state returns the state of the node in the cluster.
func (n *Node) state(ctx context.Context) (node api.Node, err error) {
	err = n.cluster.API.Do(ctx, http.MethodGet, n.path(), nil, &node)
	return node, err
}

func (n *Node) path() string { return "/api/v1/nodes/" + n.Name }

// Lost reports whether the cluster has declared the node lost.
func (n *Node) Lost(ctx context.Context) (bool, error) {
	node, err := n.state(ctx)
	return node.Lost(), err
}

// Cordon keeps new pods off the node if off is true. Otherwise it admits them again, and returns when the
// node takes pods.
func (n *Node) Cordon(ctx context.Context, off bool) error {
	change := map[string]any{"spec": map[string]bool{"unschedulable": off}}
	if err := n.cluster.API.Do(ctx, http.MethodPatch, n.path(), change, nil); err != nil || off {
		return err
	}
	return n.awaitReady(ctx)
}

// route lets all others reach the node's pods. This host reaches services through the first node. The node
// itself needs any route to services, since kube-proxy redirects packets only if they have one.
func (n *Node) route(ctx context.Context) error {
	err := n.cluster.Hosts.Route(ctx, n.pods, n.Host)
	if n == n.cluster.Nodes[0] {
		err = errors.Join(err, n.cluster.Hosts.RouteHere(ctx, serviceRange, n.Host))
	}
	return errors.Join(err, n.Route(ctx, serviceRange, "dev eth0"))
}

// configureKubelet writes the kubelet's configuration and returns its path. The kubelet must not remove
// images when the disk is nearly full, since it could not load them again.
func (n *Node) configureKubelet() (string, error) {
	pki := n.cluster.authority.path
	path := n.file("kubelet.json")
	return path, writeJSON(path, object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": object{"anonymous": object{"enabled": false}, "webhook": object{"enabled": true},
			"x509": object{"clientCAFile": pki("ca.crt")}},
		"authorization": object{"mode": "Webhook"},
		"tlsCertFile":   pki(n.Name + ".crt"), "tlsPrivateKeyFile": pki(n.Name + ".key"), "address": n.Address,
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "cgroupDriver": "cgroupfs",
		"cgroupRoot":    n.group,
		"clusterDomain": "cluster.local", "resolvConf": "", "failSwapOn": false, "makeIPTablesUtilChains": false,
		"maxPods":                     MaxPods,
		"imageGCHighThresholdPercent": 100, "localStorageCapacityIsolation": false,
		"evictionHard": object{"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
	})
}

// MaxPods is the largest number of pods of a node, which is less than its range has addresses.
const MaxPods = 200

// configureProxy writes the configuration of kube-proxy and returns its path. With the conntrack values of
// zero, kube-proxy does not change kernel settings that are shared with this host.
func (n *Node) configureProxy() (string, error) {
	path := n.file("proxy.json")
	return path, writeJSON(path, object{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
		"clientConnection": object{"kubeconfig": n.cluster.authority.access()}, "hostnameOverride": n.Name,
		// The ranges of both nodes' pods. Answers to callers outside of them return through the same node.
		"clusterCIDR": n.cluster.Hosts.Range(podRange) + "0/23",
		"conntrack":   object{"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
		"nftables":    object{"minSyncPeriod": "100ms"},
	})
}
