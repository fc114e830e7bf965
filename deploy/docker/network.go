package docker

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// firstPort is the first port of units on a node. Each node has an address of its own, and so all ports.
	firstPort = 8080
	// bridgeAddress and firstAddress are the last numbers of two addresses: that of the bridge, which is this
	// host's, and that of the first node.
	bridgeAddress, firstAddress = 1, 10
	// mostOnBridge is the number of nodes that a network of 256 addresses holds.
	mostOnBridge = 254 - firstAddress
	// subnetsTried is the number of ranges that are tried: other networks may use some.
	subnetsTried = 16
)

// nodeOf returns the node of a container; "" is this host. In a bridge network each container is a node.
func (d *Deployer) nodeOf(spec lab.UnitSpec) string {
	if d.network == Bridge {
		return spec.Name
	}
	return spec.Node
}

// nodesOf returns the nodes of containers other than this host.
func (d *Deployer) nodesOf(specs []lab.UnitSpec) []string {
	var nodes []string
	for _, spec := range specs {
		if node := d.nodeOf(spec); node != "" && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// connect makes the trial's network, if there are nodes other than this host, and
// assigns all addresses.
func (d *deployment) connect(ctx context.Context, specs []lab.UnitSpec) error {
	d.control = map[string]string{}
	if d.deployer.network == Host { // the layout of Preflight may not have the servers yet
		if err := checkNodes(specs); err != nil {
			return err
		}
	}
	d.publishes = slices.ContainsFunc(specs, isPublished)
	if err := d.makeNodes(ctx, d.deployer.nodesOf(specs)); err != nil {
		return err
	}
	var err error
	if d.ports, err = launch.ReservePorts(d.deployer.portsHere(specs)); err != nil {
		return err
	}
	taken := 0
	next := map[string]int{}
	port := func() int { taken++; return d.ports.Numbers[taken-1] }
	address := func(spec lab.UnitSpec) string {
		node := d.deployer.nodeOf(spec)
		if node == "" {
			return launch.Loopback(port())
		}
		next[node]++
		return net.JoinHostPort(d.nodes[node].address, strconv.Itoa(firstPort+next[node]-1))
	}
	for _, spec := range specs {
		d.control[spec.Name] = address(spec)
		for _, name := range spec.Endpoints() {
			at := address(spec)
			if name == spec.Name && spec.Port != 0 {
				at = net.JoinHostPort(d.addressOf(spec), strconv.Itoa(spec.Port))
			}
			d.Endpoints[name] = lab.Endpoint{Bind: at, Dial: at}
			if isPublished(spec) {
				d.Endpoints[name] = lab.Endpoint{Bind: at, Dial: net.JoinHostPort(d.host, strconv.Itoa(port()))}
			}
		}
	}
	return nil
}

// addressOf returns the address of a container, which is its node's.
func (d *deployment) addressOf(spec lab.UnitSpec) string {
	if node := d.nodes[d.deployer.nodeOf(spec)]; node != nil {
		return node.address
	}
	return launch.LoopbackHost
}

// portsHere returns the number of ports of this host that the containers need. A container in this host's
// network needs one for control and one for each endpoint, any other one for each published endpoint.
func (d *Deployer) portsHere(specs []lab.UnitSpec) int {
	needed := 0
	for _, spec := range specs {
		switch {
		case d.nodeOf(spec) == "":
			needed += 1 + len(spec.Endpoints())
		case isPublished(spec):
			needed += len(spec.Endpoints())
		}
	}
	return needed
}

// checkCount returns an error for more nodes than a bridge network holds. In docker-bridge each unit is one.
func checkCount(nodes int) error {
	if nodes > mostOnBridge {
		return fmt.Errorf("%d units or nodes are too many for one bridge network, which holds %d: use docker-host "+
			"without nodes", nodes, mostOnBridge)
	}
	return nil
}

// checkNodes returns an error if only some units are on nodes: these cannot reach the others, which listen on
// this host's loopback.
func checkNodes(specs []lab.UnitSpec) error {
	var here, elsewhere string
	for _, spec := range specs {
		if spec.Node == "" {
			here = spec.Name
		} else {
			elsewhere = spec.Name
		}
	}
	if here != "" && elsewhere != "" {
		return fmt.Errorf("unit %s is on a node, and cannot reach unit %s, which names none: place all units on "+
			"nodes, or none", elsewhere, here)
	}
	return nil
}

// node stands for a host: it is an address in the trial's network. Units share it by joining the network
// namespace of a container that only holds the address.
type node struct {
	address string
	holder  string // name of that container; "" if the node is a single unit
}

// makeNodes makes the trial's network with the nodes of these names, if there are any.
func (d *deployment) makeNodes(ctx context.Context, names []string) error {
	d.nodes = map[string]*node{}
	d.host = launch.LoopbackHost
	if len(names) == 0 {
		return nil
	}
	if err := checkCount(len(names)); err != nil {
		return err
	}
	prefix, err := d.makeNetwork(ctx)
	if err != nil {
		return err
	}
	d.host = prefix + strconv.Itoa(bridgeAddress)
	for i, name := range names {
		made := &node{address: prefix + strconv.Itoa(firstAddress+i)}
		d.nodes[name] = made
		if d.deployer.network == Bridge {
			continue
		}
		made.holder = d.holderName(name)
		if err := d.hold(ctx, name, made); err != nil {
			return fmt.Errorf("make the node %s: %w", name, err)
		}
	}
	return nil
}

// holderName returns the name of the container that holds the address of a node. No unit's container has it.
func (d *deployment) holderName(node string) string {
	return strings.TrimSuffix(d.name(""), "-") + ".node-" + node
}

// hold starts the container that holds the address of a node.
func (d *deployment) hold(ctx context.Context, name string, n *node) error {
	bare, err := d.deployer.images.Bare(ctx)
	if err != nil {
		return err
	}
	holder := engine.Container{
		Image: bare, Cmd: []string{"/usr/bin/sleep", "infinity"}, Labels: d.deployer.labels(),
		Hostname: name,
		HostConfig: engine.HostConfig{
			Binds: []string{"/usr:/usr:ro"}, ReadonlyRootfs: true, CapDrop: []string{"ALL"},
			SecurityOpt: []string{"no-new-privileges"},
			NetworkMode: d.network, LogConfig: engine.LogConfig{Type: "none"},
		},
		NetworkingConfig: d.at(n.address),
	}
	return withGrace(ctx, func(ctx context.Context) error {
		if err := d.engine.Create(ctx, n.holder, holder); err != nil {
			return err
		}
		return d.engine.Start(ctx, n.holder)
	})
}

// at returns the configuration for an address, and further names, in the trial's network.
func (d *deployment) at(address string, aliases ...string) engine.NetworkingConfig {
	return engine.NetworkingConfig{
		EndpointsConfig: map[string]engine.Endpoint{d.network: engine.EndpointAt(address, aliases...)}}
}

// place puts a container into the network of its node, or of this host.
func (d *deployment) place(made *engine.Container, spec lab.UnitSpec) {
	node := d.nodes[d.deployer.nodeOf(spec)]
	switch {
	case node == nil:
		made.HostConfig.NetworkMode = "host"
	case node.holder == "":
		made.HostConfig.NetworkMode = d.network
		made.NetworkingConfig = d.at(node.address, containers.Aliases(spec)...)
	default:
		made.HostConfig.NetworkMode = "container:" + node.holder
	}
}

// isPublished reports whether peers call a unit at a port of its node.
func isPublished(spec lab.UnitSpec) bool { return spec.Reached == lab.ReachPublished }

// publish maps ports of this host to those of a container whose peers call it there.
func (d *deployment) publish(made *engine.Container, spec lab.UnitSpec) {
	if !isPublished(spec) {
		return
	}
	made.ExposedPorts = map[string]struct{}{}
	made.HostConfig.PortBindings = map[string][]engine.PortBinding{}
	for _, name := range spec.Endpoints() {
		_, inside, _ := net.SplitHostPort(d.Endpoints[name].Bind) // connect has made both
		host, port, _ := net.SplitHostPort(d.Endpoints[name].Dial)
		made.ExposedPorts[inside+"/tcp"] = struct{}{}
		made.HostConfig.PortBindings[inside+"/tcp"] = []engine.PortBinding{{HostIP: host, HostPort: port}}
	}
}

// removeNetwork removes the nodes and their network. No unit must be left in it.
func (d *deployment) removeNetwork() error {
	ctx, cancel := context.WithTimeoutCause(d.Watching, stuckPatience,
		fmt.Errorf("not removed after %v", stuckPatience))
	defer cancel()
	var problems []error
	for _, node := range d.nodes {
		if node.holder != "" {
			problems = append(problems, d.engine.Remove(ctx, "container", node.holder))
		}
	}
	if d.network != "" {
		problems = append(problems, d.engine.Remove(ctx, "network", d.network))
	}
	return errors.Join(problems...)
}

// makeNetwork makes a bridge network of 256 addresses and returns their prefix, such as "198.18.7.". The
// network is internal to this host, unless a unit is published: Docker publishes no ports of an internal
// network. Packets can leave a network that is not internal, but without masquerading no answer comes back.
func (d *deployment) makeNetwork(ctx context.Context) (prefix string, err error) {
	first := fnv.New32a()
	_, _ = first.Write([]byte(d.name(""))) // never fails
	d.network = d.name("network")
	for n := range uint32(subnetsTried) {
		prefix = fmt.Sprintf("198.18.%d.", (first.Sum32()+n)%256)
		err = withGrace(ctx, func(ctx context.Context) error {
			_, err := d.engine.MakeNetwork(ctx, d.network, engine.Network{
				Driver: "bridge", Internal: !d.publishes, Options: map[string]string{engine.BridgeMasquerade: "false"},
				Labels: d.deployer.labels(), IPAM: engine.PoolOf(prefix + "0/24"),
			})
			return err
		})
		if err == nil {
			return prefix, nil
		}
		if !strings.Contains(err.Error(), "overlap") {
			break
		}
	}
	return "", fmt.Errorf("make a network for the trial: %w", err)
}
