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

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// firstPort is the first that units of a node listen on: a node has an address, and
	// so all ports, of its own.
	firstPort = 8080
	// firstAddress is the last number of the first node's address; the bridge has .1.
	firstAddress = 10
	// mostOnBridge is how many nodes a network of 256 addresses holds.
	mostOnBridge = 254 - firstAddress
	// subnetsTried is how many ranges are tried, of which others may have some.
	subnetsTried = 16
)

// nodeOf is the node that a container is on. In a bridge network each is one of its own;
// "" is this host.
func (d *Deployer) nodeOf(spec lab.UnitSpec) string {
	if d.network == Bridge {
		return spec.Name
	}
	return spec.Node
}

// nodesOf are the nodes of containers other than this host.
func (d *Deployer) nodesOf(specs []lab.UnitSpec) []string {
	var nodes []string
	for _, spec := range specs {
		if node := d.nodeOf(spec); node != "" && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// connect gives every container its addresses, and the trial its network where there
// are nodes other than this host.
func (d *deployment) connect(ctx context.Context, specs []lab.UnitSpec) error {
	d.control = map[string]string{}
	if err := checkNodes(specs); err != nil && d.deployer.network == Host { // with the servers, whom Preflight does not know
		return err
	}
	if err := d.makeNodes(ctx, d.deployer.nodesOf(specs)); err != nil {
		return err
	}
	var err error
	if d.ports, err = launch.ReservePorts(d.deployer.portsHere(specs)); err != nil {
		return err
	}
	here, next := 0, map[string]int{}
	address := func(spec lab.UnitSpec) string {
		node := d.deployer.nodeOf(spec)
		if node == "" {
			here++
			return launch.Loopback(d.ports.Numbers[here-1])
		}
		next[node]++
		return net.JoinHostPort(d.nodes[node].address, strconv.Itoa(firstPort+next[node]-1))
	}
	for _, spec := range specs {
		d.control[spec.Name] = address(spec)
		if spec.Listens {
			d.listensAt(spec.Name, address(spec))
		}
		for _, port := range furtherOf(spec) {
			d.listensAt(supervise.PortOf(spec.Name, port), address(spec))
		}
	}
	return nil
}

// portsHere is how many ports of this host the containers need: one for control, one for
// units that listen, and the further ones of servers.
func (d *Deployer) portsHere(specs []lab.UnitSpec) int {
	needed := 0
	for _, spec := range specs {
		if d.nodeOf(spec) == "" {
			needed += 2 + len(furtherOf(spec))
		}
	}
	return needed
}

// listensAt notes an address that a container listens on, the same seen from inside and
// from outside.
func (d *deployment) listensAt(name, address string) {
	d.endpoints[name] = lab.Endpoint{Bind: address, Dial: address}
}

// furtherOf are the names of the further ports of a server.
func furtherOf(spec lab.UnitSpec) []string {
	if spec.Server == nil {
		return nil
	}
	return spec.Server.Ports
}

func checkCount(nodes int) error {
	if nodes > mostOnBridge {
		return fmt.Errorf("%d units are too many for one bridge network, which holds %d: use docker-host", nodes, mostOnBridge)
	}
	return nil
}

// checkNodes refuses layouts whose units could not reach each other: those in the network
// of this host listen on its loopback.
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
		return fmt.Errorf("unit %s is on a node, and cannot reach unit %s, which names none: place all units on nodes, or none", elsewhere, here)
	}
	return nil
}

// node is what stands for a host: an address in the trial's network. Where several units
// share it, a container that does nothing holds it for them.
type node struct {
	address string
	holder  string // id of that container, or ""
}

// makeNodes makes the trial's network with nodes in it, where there are any.
func (d *deployment) makeNodes(ctx context.Context, names []string) error {
	d.nodes = map[string]*node{}
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
	for i, name := range names {
		made := &node{address: prefix + strconv.Itoa(firstAddress+i)}
		d.nodes[name] = made
		if d.deployer.network == Bridge {
			continue
		}
		made.holder, err = making(ctx, "run", "--detach", "--name", d.name("node-"+name), "--label", leftovers.DockerLabel+"="+d.deployer.label,
			"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--volume", "/usr:/usr:ro",
			"--network", d.network, "--ip", made.address, "--hostname", name, d.image, "/usr/bin/sleep", "infinity")
		if err != nil {
			return fmt.Errorf("make the node %s: %w", name, err)
		}
	}
	return nil
}

// networkOf are the arguments of docker run that put a container where it belongs.
func (d *deployment) networkOf(spec lab.UnitSpec) []string {
	node := d.nodes[d.deployer.nodeOf(spec)]
	switch {
	case node == nil:
		return []string{"--network", "host"}
	case node.holder == "":
		return []string{"--network", d.network, "--ip", node.address}
	}
	return []string{"--network", "container:" + node.holder}
}

// removeNetwork removes the nodes and their network, when no unit is left in it.
func (d *deployment) removeNetwork() error {
	var problems []error
	for _, node := range d.nodes {
		if node.holder != "" {
			_, err := docker(context.Background(), "rm", "--force", node.holder)
			problems = append(problems, err)
		}
	}
	if d.network != "" {
		_, err := docker(context.Background(), "network", "rm", d.network)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// makeNetwork makes a bridge network of 256 addresses and returns what they begin
// with: "198.18.7.". It does not lead out of this host.
func (d *deployment) makeNetwork(ctx context.Context) (prefix string, err error) {
	first := fnv.New32a()
	_, _ = first.Write([]byte(d.name(""))) // never fails
	for n := range uint32(subnetsTried) {
		prefix = fmt.Sprintf("198.18.%d.", (first.Sum32()+n)%256)
		d.network, err = making(ctx, "network", "create", "--internal", "--label", leftovers.DockerLabel+"="+d.deployer.label,
			"--subnet", prefix+"0/24", d.name("network"))
		if err == nil {
			return prefix, nil
		}
		if !strings.Contains(err.Error(), "overlap") {
			break
		}
	}
	return "", errors.Join(errors.New("make a network for the trial"), err)
}
