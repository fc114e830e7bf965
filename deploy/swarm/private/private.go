// Package private makes a Docker Swarm of this host: a Docker daemon on each of several
// hosts that it stands for (package hosts).
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
	// Count is how many nodes a private swarm has. The first manages it; all have units.
	Count = 4
	// startPatience is how long a daemon may take to answer, and a node to be ready.
	startPatience = 60 * time.Second
	// lookAgain is the pause before a daemon is asked again for what has not come yet.
	lookAgain = 20 * time.Millisecond
	// heartbeat is how often nodes say that they are there. A node is down, and its units
	// are lost, after three of them: long enough for a busy host and for the faults of a
	// trial (longestCut). Docker's default is 5 s.
	heartbeat = 20 * time.Second
	// groups begins the names of the nodes' control groups.
	groups = "swarm"
	// Overlay is the name of the network that all units are in.
	Overlay = "cleave"
)

// Names returns the names of a private swarm.
func Names() []string {
	var names []string
	for n := range Count {
		names = append(names, "node-"+strconv.Itoa(n+1))
	}
	return names
}

// Cluster is a private swarm: a Docker daemon on each of several hosts that this one
// stands for.
type Cluster struct {
	Hosts   *hosts.Set
	label   string
	dir     string   // what the daemons keep
	options []string // of all daemons
	Nodes   []*Node
}

// Node is one of them.
type Node struct {
	*hosts.Host
	Engine *engine.Client
	Socket string      // of its Docker daemon, as DOCKER_HOST has it
	ID     string      // as the swarm knows it
	group  string      // the control group of its containers, below every controller
	said   *fleet.Tail // by the daemon
}

// Up makes a swarm whose daemons keep what they have in a folder, and have further options.
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
		c.Nodes = append(c.Nodes, &Node{Host: host, said: &fleet.Tail{}})
	}
	if err := Each(ctx, c.Nodes, c.startDaemon); err != nil {
		return nil, err
	}
	return c, c.form(ctx)
}

// Each does something with all nodes at once.
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
	// Without userland-proxy the kernel alone leads to published ports.
	daemon := n.Command(context.WithoutCancel(ctx), "dockerd", "--host", n.Socket, "--pidfile",
		filepath.Join(dir, "pid"),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--cgroup-parent",
		n.group,
		"--bridge", "none", "--default-address-pool", "base="+c.Hosts.Range(1)+"0/24,size=24",
		"--userland-proxy=false", "--log-level", "warn")
	daemon.Args = append(daemon.Args, c.options...)
	daemon.Stdout, daemon.Stderr, daemon.WaitDelay = n.said, n.said, time.Second
	if err := n.Start(daemon); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = daemon.Wait() // what it said tells more
		close(ended)
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience,
		fmt.Errorf("its Docker daemon does not answer for %v", startPatience))
	defer cancel()
	err = fleet.Until(ctx, lookAgain, func() (bool, error) {
		select {
		case <-ended:
			return true, errors.New("its Docker daemon has ended")
		default:
		}
		n.Engine, err = engine.OpenAt(ctx, n.Socket)
		return err == nil, err
	})
	if err != nil {
		err = fmt.Errorf("%w%s", err, n.said.LastWords())
	}
	return err
}

// Boot starts a node that was killed, and returns when it has joined the others again. What
// was on its disk is there.
func (c *Cluster) Boot(ctx context.Context, n *Node) error {
	err := errors.Join(cgroup.RemoveHost(cgroup.Root, c.label, groups+"-"+n.Name), n.Host.Boot(ctx))
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
	return Each(ctx, c.Nodes, c.AwaitPeers)
}

// form makes a swarm of the daemons, with the network of all units.
func (c *Cluster) form(ctx context.Context) error {
	if err := Each(ctx, c.Nodes, bridgeOut); err != nil {
		return err
	}
	first := c.Nodes[0]
	token, err := first.Engine.InitSwarm(ctx, engine.SwarmOptions{Address: first.Address,
		Pool: c.Hosts.Range(4) + "0/22", Heartbeat: heartbeat})
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
	_, err = first.Engine.MakeOverlay(ctx, engine.Overlay{Name: Overlay})
	return err
}

// bridgeOut makes the network by which containers of a node reach what is not in theirs, as
// Docker would, but for one thing: they reach ports that the node publishes of each other.
func bridgeOut(ctx context.Context, n *Node) error {
	const name = "docker_gwbridge"
	return n.Engine.MakeNetwork(ctx, name, engine.Bridge{Options: map[string]string{
		engine.BridgeName: name, engine.BridgeTalk: "true", engine.BridgeMasquerade: "true",
	}})
}

// Stays is the label of containers that are the swarm's own, not a trial's.
const Stays = "stays"

// Stay brings every node into the network of the units, with a container that sleeps there
// as long as the swarm is. A node is in a network only while a container of it is: when
// several came at once, with the units, two of them at times did not hear of each other's
// units for minutes.
func (c *Cluster) Stay(ctx context.Context, image string, labels map[string]string) error {
	for _, n := range c.Nodes {
		asleep := engine.ServiceContainer{Image: image, Labels: map[string]string{leftovers.DockerLabel: Stays},
			ReadOnly: true, Command: []string{"/usr/bin/sleep", "infinity"}, CapabilityDrop: []string{"ALL"},
			Mounts: []engine.Mount{{Type: "bind", Source: "/usr", Target: "/usr", ReadOnly: true}}}
		_, err := c.Manager().CreateService(ctx, engine.Service{
			Name: "stays-on-" + n.Name, Labels: labels,
			TaskTemplate: engine.TaskTemplate{
				ContainerSpec: asleep, RestartPolicy: engine.RestartPolicy{Condition: "any"},
				LogDriver: engine.LogDriver{Name: "none"},
				Placement: engine.Placement{Constraints: []string{"node.id==" + n.ID}},
				Networks:  []engine.ServiceNetwork{{Target: Overlay}},
			},
			Mode:         engine.ServiceMode{Replicated: &engine.Replicated{Replicas: 1}},
			EndpointSpec: engine.EndpointSpec{Mode: "dnsrr"},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Units lists the containers of a trial on a node: all but the one that stays.
func (n *Node) Units(ctx context.Context) ([]engine.Thing, error) {
	things, err := n.Engine.List(ctx, leftovers.DockerLabel)
	return slices.DeleteFunc(things, func(t engine.Thing) bool {
		return t.Kind != "container" || t.Label == Stays
	}), err
}

// AwaitPeers waits until a node sees all others in the network of the units. Before that,
// what units on them are called may not become known to those on the node for minutes.
func (c *Cluster) AwaitPeers(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %v", startPatience))
	defer cancel()
	return fleet.Until(ctx, lookAgain, func() (bool, error) {
		peers, err := n.Engine.Peers(ctx, Overlay)
		if err != nil || peers == len(c.Nodes) {
			return true, err
		}
		return false, fmt.Errorf("it sees %d of %d nodes in the network %s", peers, len(c.Nodes), Overlay)
	})
}

// AwaitKnown waits until a node knows where a service is in the network of the units.
func (n *Node) AwaitKnown(ctx context.Context, service string) error {
	return fleet.Until(ctx, lookAgain, func() (bool, error) {
		known, err := n.Engine.Known(ctx, Overlay)
		if err != nil || slices.Contains(known, service) {
			return true, err
		}
		return false, fmt.Errorf("%s does not know the service %s in the network %s", n.Name, service, Overlay)
	})
}

// awaitReady waits until the swarm has all nodes, and notes their IDs.
func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %v", startPatience))
	defer cancel()
	return fleet.Until(ctx, lookAgain, func() (bool, error) {
		listed, err := c.Nodes[0].Engine.SwarmNodes(ctx)
		if err != nil {
			return true, err
		}
		ready := 0
		for _, one := range listed {
			i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.Name == one.Description.Hostname })
			if i >= 0 && one.Status.State == "ready" {
				c.Nodes[i].ID = one.ID
				ready++
			}
		}
		if ready < len(c.Nodes) {
			return false, fmt.Errorf("%d of %d nodes are ready", ready, len(c.Nodes))
		}
		return true, nil
	})
}

// Manager returns the daemon that is asked for what the whole swarm does.
func (c *Cluster) Manager() *engine.Client { return c.Nodes[0].Engine }

// WithID returns the node that the swarm knows by an ID, or nil.
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

// Close ends the swarm with all that is in it. Its daemons need not be asked: what runs
// on a host ends with it, and what they keep is of no use to anybody.
func (c *Cluster) Close() error {
	var problems []error
	if c.Hosts != nil {
		problems = append(problems, c.Hosts.Close())
	}
	problems = append(problems, cgroup.RemoveTrial(cgroup.Root, c.label, "host-"+groups), os.RemoveAll(c.dir))
	return errors.Join(problems...)
}

// HostPID returns the number of the first process of a container as this host has it: the daemon of a node
// knows only those that the node's processes have among themselves. 0: the container has ended.
func (n *Node) HostPID(container string) int {
	return cgroup.First(cgroup.Root, filepath.Join(n.group, container))
}

// Missing says what this host lacks for a private swarm; nil: nothing.
func Missing() error {
	return errors.Join(
		lab.MissingPrograms("a private swarm", map[string]string{"dockerd": "docker.io", "iptables": "iptables"}),
		hosts.Missing())
}
