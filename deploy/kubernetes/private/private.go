// Package private brings up a Kubernetes cluster on this host: a control plane and workers, each on a
// simulated host (package hosts). It uses the program that scripts/kubernetes.sh builds, and Debian's etcd,
// containerd and network plugins. It writes into one folder only. What else it changes on this host are
// control groups, a network link and routes, which Cluster.Close removes.
//
// Package kubernetes deploys units on it.
//
// Entry points: Missing, Up, Cluster.Close.
package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// Version is the version of Kubernetes that scripts/kubernetes.sh builds.
const Version = "1.34.4"

// Numbers of address ranges in the set of hosts (hosts.Set.Range).
const (
	podRange     = 2 // of the first worker's pods; each further worker has the next range
	serviceRange = 7
)

// Nodes returns the names of the nodes that run pods.
func Nodes() []string { return []string{"node-1", "node-2"} }

// upPatience limits the start of a cluster, which takes seconds on a quiet host.
const upPatience = 3 * time.Minute

// Cluster is a running cluster.
type Cluster struct {
	API   *api.Client // as its administrator
	Hosts *hosts.Set  // of the control plane, and of the nodes
	Nodes []*Node     // that run pods
	// Alive ends with the cluster; its cause says which part of it has ended, and how.
	Alive context.Context

	dir, label string
	flags      []string // of the kubelets
	authority  *authority
	server     string // the API server, as https://host:port
	end        context.CancelCauseFunc
}

// folder returns the folder into which scripts/kubernetes.sh builds programs.
func folder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "cleave", "kubernetes-"+Version)
}

// plugins is the folder of Debian's CNI plugins, which join pods to the network.
const plugins = "/usr/lib/cni"

// Missing returns an error that names what this host lacks for a cluster, or nil.
func Missing() error {
	err := lab.MissingPrograms("a private cluster", map[string]string{
		"etcd": "etcd-server", "containerd": "containerd", "ctr": "containerd", "runc": "runc", "nft": "nftables",
		filepath.Join(plugins, "bridge"): "containernetworking-plugins",
	})
	if _, failed := os.Stat(filepath.Join(folder(), "kubernetes")); failed != nil {
		err = errors.Join(err, &lab.MissingError{Install: "make kubernetes",
			What: "a private cluster needs Kubernetes " + Version + ", which is built once (minutes)"})
	}
	return errors.Join(hosts.Missing(), err)
}

// Up brings up a cluster, and makes dir for its files. Its processes and objects on this host carry the
// label. flags are further flags of the kubelets.
func Up(ctx context.Context, dir, label string, flags ...string) (_ *Cluster, err error) {
	c := &Cluster{dir: dir, label: label, flags: flags}
	c.Alive, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("bring up a private cluster: %w", err), c.Close())
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not up after %v", upPatience))
	defer cancel()
	if c.Hosts, err = hosts.Make(ctx, label, append([]string{"control"}, Nodes()...)...); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	// The container engines start at the same time as the control plane, and kubelets after it.
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.startControl(groupCtx) })
	for _, node := range c.Nodes {
		group.Go(func() error { return node.startEngine(groupCtx) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := fleet.SideBySide(ctx, len(c.Nodes), c.Nodes,
		func(ctx context.Context, n *Node) error { return n.join(ctx) }); err != nil {
		return nil, err
	}
	if MissingMetrics() == nil { // only the scaling of units by the cluster needs it
		return c, c.startMetrics(ctx)
	}
	return c, nil
}

// control returns the host of the control plane.
func (c *Cluster) control() *hosts.Host { return c.Hosts.Hosts()[0] }

// prepare makes the cluster's folders and certificates.
func (c *Cluster) prepare() error {
	keys := filepath.Join(c.dir, "keys")
	err := os.Mkdir(c.dir, 0o700)
	for _, made := range []string{"keys", "etcd"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(c.dir, made), 0o700))
	}
	if err != nil {
		return err
	}
	if c.authority, err = newAuthority(keys); err != nil {
		return err
	}
	c.server = "https://" + c.control().Address + ":6443"
	for i, host := range c.Hosts.Hosts()[1:] {
		node := &Node{Host: host, cluster: c, pods: podRange + i, dir: filepath.Join(c.dir, host.Name)}
		c.Nodes = append(c.Nodes, node)
		err = errors.Join(err, c.authority.issue(node.Name, host.Address))
	}
	return errors.Join(err,
		c.authority.issue("server", "127.0.0.1", c.control().Address, c.Hosts.Range(serviceRange)+"1"),
		c.authority.issue("metrics", metricsName),
		c.authority.issueAdministrator(), c.authority.configure(c.server))
}

// kubernetes starts a part of Kubernetes, such as "kubelet", on a host.
func (c *Cluster) kubernetes(on *hosts.Host, part string, flags ...string) error {
	program := filepath.Join(folder(), "kubernetes")
	return c.run(on, part, program, append([]string{part}, flags...)...)
}

// run starts a daemon on a host. If the daemon ends, the cluster ends, unless a fault has killed the host.
func (c *Cluster) run(on *hosts.Host, name, program string, args ...string) error {
	log := &fleet.Tail{}
	daemon := on.Command(context.Background(), program, args...)
	daemon.Stdout = log
	daemon.Stderr = log
	daemon.WaitDelay = time.Second
	daemon.Env = append(daemon.Env, "HOME="+c.dir)
	if err := on.Start(daemon); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	kills := on.Kills()
	go func() {
		how := daemon.Wait()
		if on.Kills() == kills {
			c.end(fmt.Errorf("%s on %s has ended (%v)%s", name, on.Name, how, log.LastWords()))
		}
	}()
	return nil
}

// Named returns the node that runs pods and has a name, or nil.
func (c *Cluster) Named(name string) *Node {
	for _, node := range c.Nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// errClosed is the cause of Alive after Close.
var errClosed = errors.New("the cluster was closed")

// await calls ask until it succeeds, or the cluster or ctx has ended. what names the state that is missing.
func (c *Cluster) await(ctx context.Context, what string, ask func(context.Context) error) error {
	ctx, cancel := fleet.WithEnd(ctx, c.Alive.Done(), func() error { return context.Cause(c.Alive) })
	defer cancel()
	err := fleet.Until(ctx, askAgain, func() (bool, error) {
		err := ask(ctx)
		return err == nil, err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// askAgain is the pause between two calls of await.
const askAgain = 50 * time.Millisecond

// Close ends the cluster with all its pods, and removes its control groups and files.
func (c *Cluster) Close() error {
	c.end(errClosed)
	if c.API != nil {
		c.API.Close()
	}
	var err error
	if c.Hosts != nil {
		err = c.Hosts.Close()
	}
	for _, node := range c.Nodes {
		err = errors.Join(err, cgroup.RemoveHost(cgroup.Root, c.label, node.Name))
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}
