package swarm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/lab"
)

// privateTrial implements siteTrial for a private swarm.
type privateTrial struct {
	*deployment
	cluster *private.Cluster
	places  map[string]string // nodes of the swarm, by the names of nodes in the layout
	ports   map[string][]int  // published ports, by unit: of its control port, then of its endpoints

	mu     sync.Mutex
	latest map[string]*private.Node // present nodes, by unit
	first  map[string]*private.Node // first nodes, by unit: processes of this host call units there

	detouring sync.Mutex         // guards detours, and their rules on the nodes
	detours   map[string]*detour // by unit that has moved: they lead from its first node to its present one
}

// begin implements site.
func (p *privateSite) begin(d *deployment) siteTrial {
	d.manager = p.cluster.Manager()
	d.network = private.Overlay
	d.patience = upPatience
	return &privateTrial{deployment: d, cluster: p.cluster, ports: map[string][]int{},
		latest: map[string]*private.Node{}, first: map[string]*private.Node{}, detours: map[string]*detour{}}
}

// complete implements siteTrial.
func (t *privateTrial) complete(p *fleet.Platform[*service]) {
	p.Reach = t.reach
	p.Dial = t.dial
	p.Started = t.reachPublished
	p.BetweenStages = t.awaitKnown
	p.Next = t.next
	p.Clear = t.clear
	p.Cut = t.cut
	p.Images = images.Sizes
	p.Gone = func(ctx context.Context, s *service) error { return t.life(s).Gone(ctx) }
	p.Describe = func(s *service) string {
		return fmt.Sprintf("container %.12s on %s", t.life(s).Container, t.life(s).node.Name)
	}
	p.NodeOf = func(s *service) string {
		if n := t.life(s).node; n != nil {
			return n.Name
		}
		return ""
	}
	p.Nodes = t.nodes()
	p.Daemons = func() ([]lab.Unit, string) { return t.cluster.Hosts.Units(), "" }
}

// firstPublished is the first port that nodes publish, for units or proxies. No two units of a trial share a
// published port, so each unit can run on every node.
const firstPublished = 10000

// open implements siteTrial.
func (t *privateTrial) open(ctx context.Context, layout lab.Layout, units []lab.UnitSpec) (err error) {
	all := slices.Concat(units, layout.Prepare)
	t.Wanted = links.Of(layout.Links, all)
	if t.places, err = containers.Places(private.Names(), all, layout.Links); err != nil {
		return err
	}
	next := firstPublished
	for _, spec := range all {
		for range 1 + len(spec.Endpoints()) {
			t.ports[spec.Name] = append(t.ports[spec.Name], next)
			next++
		}
	}
	if err := t.Furnish(ctx, units, t.cluster.Hosts.Here(), t.host, t.cluster.Hosts.Show); err != nil {
		return err
	}
	t.trial.Memory, err = containers.MakeMemory(t.trial.Dir, layout.SharedMemory)
	return err
}

// host returns the simulated host that runs a node of the layout.
func (t *privateTrial) host(name string) *hosts.Host { return t.cluster.Named(t.places[name]).Host }

// trialOf implements siteTrial: calls over links that the layout delays go through a relay.
func (t *privateTrial) trialOf(spec lab.UnitSpec) containers.Trial {
	seen := t.trial
	seen.Endpoints = t.Wanted.SeenBy(spec, seen.Endpoints, func(unit string) string {
		_, port, _ := net.SplitHostPort(t.trial.Endpoints[unit].Bind) // made by us
		return net.JoinHostPort(unit, port)
	})
	return seen
}

// tasks implements siteTrial.
func (t *privateTrial) tasks(ctx context.Context, service string) ([]engine.Task, error) {
	return t.manager.Tasks(ctx, "service", service)
}

// place implements siteTrial. A unit that had a node, such as a server whose setup ran there, returns to it.
// Foreign units publish no control port.
func (t *privateTrial) place(spec lab.UnitSpec) (engine.Placement, []engine.PublishedPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var published []engine.PublishedPort
	for i, port := range append([]int{containers.ControlPort}, containers.PortsOf(spec)...) {
		if i > 0 || !spec.Foreign {
			published = append(published, engine.PublishedPort{Protocol: "tcp", TargetPort: port,
				PublishedPort: t.ports[spec.Name][i], PublishMode: "host"})
		}
	}
	if n := t.latest[spec.Name]; n != nil {
		return on(n), published
	}
	return t.placement(spec), published
}

// on returns a placement that allows a single node.
func on(n *private.Node) engine.Placement {
	return engine.Placement{Constraints: []string{"node.id==" + n.ID}}
}

// placement returns the node that the layout wants, or else any node without a fault: the manager takes a
// while to notice a loss. The lead is on the manager, which has no faults.
func (t *privateTrial) placement(spec lab.UnitSpec) engine.Placement {
	if place := t.places[spec.Node]; place != "" {
		return onNamed(place)
	}
	if spec.Name == t.lead {
		return on(t.cluster.Nodes[0])
	}
	var others engine.Placement
	for _, n := range t.cluster.Nodes {
		if !n.IsUp() {
			others.Constraints = append(others.Constraints, "node.id!="+n.ID)
		}
	}
	return others
}

// onNamed returns a placement that allows only the node with a name.
func onNamed(name string) engine.Placement {
	return engine.Placement{Constraints: []string{"node.hostname==" + name}}
}

// recordNode records the node of a unit, and the addresses at which this host reaches the unit there.
func (t *privateTrial) recordNode(spec lab.UnitSpec, n *private.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest[spec.Name] = n
	if t.first[spec.Name] == nil {
		t.first[spec.Name] = n
	}
	for i, name := range spec.Endpoints() {
		t.outside[name] = lab.Endpoint{Bind: t.trial.Endpoints[name].Bind,
			Dial: net.JoinHostPort(n.Address, strconv.Itoa(t.ports[spec.Name][1+i]))}
	}
	if relay := t.Relays[spec.Name]; relay != nil {
		relay.SetTarget(t.outside[spec.Name].Dial)
		t.outside[spec.Name] = t.trial.Endpoints[spec.Name]
	}
}

// reach returns the address at which this host reaches a unit, without a relay.
func (t *privateTrial) reach(unit string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Relays.UnitAddress(unit, t.outside[unit].Dial)
}

// dial returns the address at which this host calls an endpoint, through its relay if it has one.
func (t *privateTrial) dial(endpoint string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outside[endpoint].Dial
}

// reachPublished gives peers the published address of units that shall be called there.
func (t *privateTrial) reachPublished(_ context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if spec.Reached != lab.ReachPublished {
			continue
		}
		for _, name := range spec.Endpoints() {
			t.mu.Lock()
			t.trial.Endpoints[name] = t.outside[name]
			t.mu.Unlock()
		}
	}
	return nil
}

// awaitKnown waits until every node can resolve the names of units, or one of them has failed. Nodes learn
// the names of other nodes' units with a delay, and foreign programs may look a name up only once.
func (t *privateTrial) awaitKnown(ctx context.Context, specs []lab.UnitSpec) error {
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not known after %v", upPatience))
	defer cancel()
	ctx, end := fleet.WithEnd(ctx, t.Failed(), t.Failure)
	defer end()
	return private.Each(ctx, t.cluster.Nodes, func(ctx context.Context, n *private.Node) error {
		for _, spec := range specs {
			s := t.Named(spec.Name)
			if err := untilFinished(ctx, s, func(ctx context.Context) error {
				return n.AwaitKnown(ctx, s.made.Name)
			}); err != nil {
				return fmt.Errorf("unit %s: %w", spec.Name, err)
			}
		}
		return nil
	})
}

// cut drops all packets of a unit except those of its loopback, or lets them through again. It does either
// completely or not at all.
func (t *privateTrial) cut(ctx context.Context, s *service, off bool) error {
	change := func(command, rule string) error {
		return hosts.In(ctx, s.HostPID(), "iptables", "--wait", command, rule, "--jump DROP")
	}
	do := "--delete"
	undo := "--insert"
	in := "INPUT ! --in-interface lo"
	if off {
		do, undo = undo, do
	}
	err := change(do, in)
	if err == nil {
		if err = change(do, "OUTPUT ! --out-interface lo"); err != nil {
			err = errors.Join(err, change(undo, in))
		}
	}
	if err != nil {
		return fmt.Errorf("filter the network of unit %s: %w", s.Spec.Name, err)
	}
	return nil
}

// next returns the next life of a unit, with the same service, environment and volume: on the node where it
// was, or, if it may move, where the layout or else the scheduler of the swarm places it.
func (t *privateTrial) next(_ context.Context, ended *service, mayMove bool) (*service, error) {
	s := t.newService(ended.Spec)
	s.id = ended.id
	s.made = ended.made
	s.former = ended.former
	s.token = ended.token
	s.made.TaskTemplate.Placement = on(t.life(ended).node)
	if mayMove {
		s.made.TaskTemplate.Placement = t.placement(ended.Spec)
	}
	return s, nil
}

// clear removes services, containers, link rules and detours of the trial. It removes containers itself,
// which is faster than the swarm: only foreign programs, which are asked to end first, need time to clean up.
func (t *privateTrial) clear() error {
	lifted := t.Wanted.Lift(t.Watching)
	ctx, cancel := context.WithTimeoutCause(t.Watching, removePatience,
		fmt.Errorf("not removed after %v", removePatience))
	defer cancel()
	_ = fleet.ForAll(ctx, atOnce, t.All(), func(ctx context.Context, s *service) error {
		_ = t.Doom(s.Unit) // it may have ended
		if s.Spec.IsUsersProgram() && t.life(s).Container != "" {
			_ = s.End(ctx)
		}
		return nil
	})
	err := errors.Join(t.removeAll(ctx), fleet.ForAll(ctx, atOnce, t.cluster.Nodes, removeContainers))
	if err != nil {
		err = fmt.Errorf("the swarm still has something of the trial: %w", err)
	}
	// The next trial gives the ports of the detours to other units.
	return errors.Join(lifted, err, t.removeDetours(t.Watching))
}

// removeContainers removes the containers of a trial on a node. The swarm may be removing them at the same
// time.
func removeContainers(ctx context.Context, n *private.Node) error {
	return fleet.Until(ctx, 20*time.Millisecond, func() (bool, error) {
		units, err := n.Units(ctx)
		if err != nil {
			return true, fmt.Errorf("containers on %s: %w", n.Name, err)
		}
		for _, unit := range units {
			_ = n.Engine.Remove(ctx, "container", unit.ID) // the next round lists what is left
		}
		if len(units) > 0 {
			return false, fmt.Errorf("%d containers are left on %s", len(units), n.Name)
		}
		return true, nil
	})
}
