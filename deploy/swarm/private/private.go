// Package private makes a Docker Swarm on this host. Each node is a Docker daemon on a simulated host
// (package hosts).
//
// Entry points: Up, Cluster.Close.
package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// Count is the number of nodes of a private swarm. The first is the manager; all run units.
	Count = 4
	// startPatience limits how long a daemon may take to answer, and a node to become ready.
	startPatience = 60 * time.Second
	// pollInterval is the pause between two requests to a daemon while we wait for a state.
	pollInterval = 20 * time.Millisecond
	// heartbeat is the interval at which nodes report to the manager. Swarm declares a node down, and its
	// tasks lost, when three reports are missing. That is long enough for a busy host and for the faults of
	// a trial (containers.LongestCut). Docker's default is 5 s.
	heartbeat = 20 * time.Second
	// groups is the prefix of the names of the nodes' control groups.
	groups = "swarm"
	// Overlay is the name of the network that all units are in.
	Overlay = "cleave"
)

// Names returns the names of the nodes of a private swarm.
func Names() []string {
	var names []string
	for n := range Count {
		names = append(names, "node-"+strconv.Itoa(n+1))
	}
	return names
}

// Cluster is a private swarm.
type Cluster struct {
	Hosts   *hosts.Set
	label   string
	dir     string   // holds the data of the daemons
	options []string // further arguments of all daemons
	Nodes   []*Node  // the manager first
}

// Node is a node of the swarm.
type Node struct {
	*hosts.Host
	Engine *engine.Client // of its Docker daemon
	Socket string         // of its Docker daemon, written as in DOCKER_HOST
	ID     string         // in the swarm
	group  string         // the control group of its containers, below every controller
	log    *fleet.Tail    // of the daemon
}

// Up makes a swarm whose daemons keep their data in dir and get further options. Its objects carry the label.
func Up(ctx context.Context, label, dir string, options ...string) (_ *Cluster, err error) {
	c := &Cluster{label: label, dir: dir, options: options}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a swarm on this host: %w", err), c.Close())
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if c.Hosts, err = hosts.Make(ctx, label, Names()...); err != nil {
		return nil, err
	}
	for _, host := range c.Hosts.Hosts() {
		c.Nodes = append(c.Nodes, &Node{Host: host, log: &fleet.Tail{}})
	}
	if err := Each(ctx, c.Nodes, c.startDaemon); err != nil {
		return nil, err
	}
	return c, c.form(ctx)
}

// Each calls do with all nodes at the same time. Errors name their node.
func Each(ctx context.Context, nodes []*Node, do func(context.Context, *Node) error) error {
	return fleet.SideBySide(ctx, Count, nodes, func(ctx context.Context, n *Node) error {
		if err := do(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		return nil
	})
}

// prepareHost gives a host a /run of its own, which daemons would share otherwise.
const prepareHost = `mount -t tmpfs tmpfs /run && mkdir -p /run/lock`

// startDaemon starts the Docker daemon of a node and waits until it answers.
func (c *Cluster) startDaemon(ctx context.Context, n *Node) (err error) {
	dir := filepath.Join(c.dir, n.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := n.Run(ctx, "sh", "-c", prepareHost); err != nil {
		return err
	}
	if n.group, err = cgroup.MakeHost(cgroup.Root, c.label, groups+"-"+n.Name); err != nil {
		return err
	}
	n.Socket = "unix://" + filepath.Join(dir, "sock")
	// Without userland-proxy the kernel alone forwards connections to published ports.
	daemon := n.Command(context.WithoutCancel(ctx), "dockerd", "--host", n.Socket, "--pidfile",
		filepath.Join(dir, "pid"),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--cgroup-parent",
		n.group,
		"--bridge", "none", "--default-address-pool", "base="+c.Hosts.Range(1)+"0/24,size=24",
		"--userland-proxy=false", "--log-level", "warn")
	daemon.Args = append(daemon.Args, c.options...)
	daemon.Stdout = n.log
	daemon.Stderr = n.log
	daemon.WaitDelay = time.Second
	if err := n.Start(daemon); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = daemon.Wait() // its log says why it has ended
		close(ended)
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience,
		fmt.Errorf("its Docker daemon does not answer for %v", startPatience))
	defer cancel()
	err = fleet.Until(ctx, pollInterval, func() (bool, error) {
		select {
		case <-ended:
			return true, errors.New("its Docker daemon has ended")
		default:
		}
		n.Engine, err = engine.OpenAt(ctx, n.Socket)
		return err == nil, err
	})
	if err != nil {
		err = fmt.Errorf("%w%s", err, n.log.LastWords())
	}
	return err
}

// Boot starts a node that was killed, with the data on its disk, and returns when it has joined the others
// again.
func (c *Cluster) Boot(ctx context.Context, n *Node) error {
	// After a failed Boot the host still runs, with containers in its control groups, until it is booted anew.
	err := errors.Join(n.Host.Boot(ctx), cgroup.RemoveHost(cgroup.Root, c.label, groups+"-"+n.Name))
	for _, volatile := range []string{"exec", "pid", "sock"} { // on a machine they would be in /run
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, n.Name, volatile)))
	}
	if err == nil {
		err = c.startDaemon(ctx, n)
	}
	if err == nil {
		err = c.awaitReady(ctx)
	}
	if err != nil {
		return err
	}
	return c.AwaitPeers(ctx)
}

// form joins the daemons to a swarm and makes the network of all units.
func (c *Cluster) form(ctx context.Context) error {
	if err := Each(ctx, c.Nodes, makeGatewayBridge); err != nil {
		return err
	}
	first := c.Nodes[0]
	token, err := first.Engine.InitSwarm(ctx, first.Address, c.Hosts.Range(4)+"0/22", heartbeat)
	if err != nil {
		return err
	}
	err = Each(ctx, c.Nodes[1:], func(ctx context.Context, n *Node) error {
		return n.Engine.JoinSwarm(ctx, n.Address, first.Address, token)
	})
	if err != nil {
		return err
	}
	if err := c.awaitReady(ctx); err != nil {
		return err
	}
	_, err = first.Engine.MakeNetwork(ctx, Overlay, engine.Network{Driver: "overlay"})
	return err
}

// makeGatewayBridge makes the bridge through which containers of a node reach other networks. Docker would
// make it without BridgeTalk: then containers of one node could not call each other's published ports.
func makeGatewayBridge(ctx context.Context, n *Node) error {
	const name = "docker_gwbridge"
	_, err := n.Engine.MakeNetwork(ctx, name, engine.Network{Driver: "bridge", Options: map[string]string{
		engine.BridgeName: name, engine.BridgeTalk: "true", engine.BridgeMasquerade: "true",
	}})
	return err
}

// SleeperLabel is the label of the containers that StartSleepers starts, which belong to no trial.
const SleeperLabel = "stays"

// StartSleepers keeps every node in the network of the units, by a container on each that sleeps until the
// swarm ends. A node is in a network only while it runs a container that is. When several nodes entered at
// once, with their first units, two of them sometimes did not learn of each other's units for minutes.
func (c *Cluster) StartSleepers(ctx context.Context, image string, labels map[string]string) error {
	sleeper := engine.ServiceContainer{Image: image, ReadOnly: true,
		Labels:  map[string]string{leftovers.DockerLabel: SleeperLabel},
		Command: []string{"/usr/bin/sleep", "infinity"}, CapabilityDrop: []string{"ALL"},
		Mounts: []engine.Mount{{Type: "bind", Source: "/usr", Target: "/usr", ReadOnly: true}}}
	_, err := c.Manager().CreateService(ctx, engine.Service{
		Name: "stays", Labels: labels,
		TaskTemplate: engine.TaskTemplate{
			ContainerSpec: sleeper, RestartPolicy: engine.RestartPolicy{Condition: "any"},
			LogDriver: engine.LogDriver{Name: "none"}, Networks: []engine.ServiceNetwork{{Target: Overlay}},
		},
		Mode:         engine.ServiceMode{Global: &struct{}{}},
		EndpointSpec: engine.EndpointSpec{Mode: "dnsrr"},
	})
	return err
}

// Units lists the containers of a trial on a node: all but the one of StartSleepers.
func (n *Node) Units(ctx context.Context) ([]engine.Object, error) {
	all, err := n.Engine.Containers(ctx, leftovers.DockerLabel)
	return slices.DeleteFunc(all, func(o engine.Object) bool { return o.Label == SleeperLabel }), err
}

// up returns the nodes without a fault: those that run and are connected to the others.
func (c *Cluster) up() []*Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Node) bool { return !n.IsUp() })
}

// Down returns the names of the nodes with a fault.
func (c *Cluster) Down() []string {
	var names []string
	for _, n := range c.Nodes {
		if !n.IsUp() {
			names = append(names, n.Name)
		}
	}
	return names
}

// AwaitPeers waits until the nodes without a fault see each other in the network of the units. Before that,
// names of units on one may stay unknown on another for minutes.
func (c *Cluster) AwaitPeers(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %v", startPatience))
	defer cancel()
	return Each(ctx, c.up(), func(ctx context.Context, n *Node) error {
		return fleet.Until(ctx, pollInterval, func() (bool, error) {
			peers, err := n.Engine.Peers(ctx, Overlay)
			if !n.IsUp() { // it got a fault in the meantime
				return true, nil
			}
			for _, other := range c.up() { // others that have just got a fault may still be among the peers
				if err == nil && !slices.Contains(peers, other.Address) {
					return false, fmt.Errorf("it does not see %s in the network %s", other.Name, Overlay)
				}
			}
			return true, err
		})
	})
}

// AwaitKnown waits until a node can resolve the name of a service in the network of the units.
func (n *Node) AwaitKnown(ctx context.Context, service string) error {
	return fleet.Until(ctx, pollInterval, func() (bool, error) {
		known, err := n.Engine.Known(ctx, Overlay)
		if err != nil || slices.Contains(known, service) {
			return true, err
		}
		return false, fmt.Errorf("%s does not know the service %s in the network %s", n.Name, service, Overlay)
	})
}

// awaitReady waits until the nodes without a fault are ready in the swarm, and records their IDs.
func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %v", startPatience))
	defer cancel()
	return fleet.Until(ctx, pollInterval, func() (bool, error) {
		listed, err := c.Nodes[0].Engine.SwarmNodes(ctx)
		if err != nil {
			return true, err
		}
		all := c.up()
		ready := 0
		for _, one := range listed {
			i := slices.IndexFunc(all, func(n *Node) bool { return n.Name == one.Description.Hostname })
			if i >= 0 && one.Status.State == "ready" {
				all[i].ID = one.ID
				ready++
			}
		}
		if ready < len(all) {
			return false, fmt.Errorf("%d of %d nodes are ready", ready, len(all))
		}
		return true, nil
	})
}

// Manager returns the client of the manager, which takes the requests about the whole swarm.
func (c *Cluster) Manager() *engine.Client { return c.Nodes[0].Engine }

// WithID returns the node with an ID in the swarm, or nil.
func (c *Cluster) WithID(id string) *Node {
	if i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.ID == id }); i >= 0 {
		return c.Nodes[i]
	}
	return nil
}

// Named returns the node of a name, or nil.
func (c *Cluster) Named(name string) *Node {
	if i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.Name == name }); i >= 0 {
		return c.Nodes[i]
	}
	return nil
}

// Close ends the swarm with everything in it. The daemons need no orderly stop: all processes of a simulated
// host end with it, and the data of the daemons is removed.
func (c *Cluster) Close() error {
	var problems []error
	if c.Hosts != nil {
		problems = append(problems, c.Hosts.Close())
	}
	// MakeHost names the groups of the nodes like those of a trial "host-swarm".
	problems = append(problems, cgroup.RemoveTrial(cgroup.Root, c.label, "host-"+groups), os.RemoveAll(c.dir))
	return errors.Join(problems...)
}

// HostPID returns the process ID, on this host, of the first process of a container; 0 if the container has
// ended. The daemon of a node knows only process IDs within the node's PID namespace.
func (n *Node) HostPID(container string) int {
	return cgroup.First(cgroup.Root, filepath.Join(n.group, container))
}

// Missing returns an error that names what this host lacks for a private swarm, or nil.
func Missing() error {
	return errors.Join(
		lab.MissingPrograms("a private swarm", map[string]string{"dockerd": "docker.io", "iptables": "iptables"}),
		hosts.Missing())
}
