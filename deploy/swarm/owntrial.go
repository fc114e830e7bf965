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

// ownTrial implements siteTrial for a private swarm.
type ownTrial struct {
	*deployment
	cluster *private.Cluster
	places  map[string]string // nodes of the swarm, by the names that the layout has for nodes
	ports   map[string][]int  // of nodes, for those of each unit: see portsOf

	mu      sync.Mutex
	latest  map[string]*private.Node // of units that have one: they stay there
	first   map[string]*private.Node // those that they had at first
	detours map[string]detour        // by unit
}

func (o *own) begin(d *deployment) siteTrial {
	d.manager, d.network, d.patience = o.cluster.Manager(), private.Overlay, upPatience
	return &ownTrial{deployment: d, cluster: o.cluster, ports: map[string][]int{},
		latest: map[string]*private.Node{}, first: map[string]*private.Node{}, detours: map[string]detour{}}
}

// complete declares what the daemons of nodes do, and what is done to nodes.
func (t *ownTrial) complete(p *fleet.Platform[*service]) {
	p.Reach, p.Dial = t.dialOf, t.dial
	p.Started, p.Followed, p.Next, p.Clear = t.reachPublished, t.awaitKnown, t.next, t.clear
	p.Cut, p.Images = t.cut, images.Sizes
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

// firstPublished is the first port that nodes have for units, or for what leads to them. No two units have
// the same, so each can be on every node.
const firstPublished = 10000

func (t *ownTrial) open(ctx context.Context, layout lab.Layout, units []lab.UnitSpec) (err error) {
	all := slices.Concat(units, layout.Prepare)
	t.Wanted = links.Of(layout.Links, all)
	if t.places, err = containers.Places(private.Names(), all, layout.Links); err != nil {
		return err
	}
	next := firstPublished
	for _, spec := range all {
		for range portsOf(spec) {
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

// host returns the host of the node which a node of the layout is.
func (t *ownTrial) host(name string) *hosts.Host { return t.cluster.Named(t.places[name]).Host }

// trialOf returns the trial as a unit sees it.
func (t *ownTrial) trialOf(spec lab.UnitSpec) containers.Trial {
	seen := t.trial
	seen.Endpoints = t.Wanted.SeenBy(spec, seen.Endpoints, func(unit string) string {
		_, port, _ := net.SplitHostPort(t.trial.Endpoints[unit].Bind) // made by us
		return net.JoinHostPort(unit, port)
	})
	return seen
}

func (t *ownTrial) tasks(ctx context.Context, service string) ([]engine.Task, error) {
	return t.manager.Tasks(ctx, "service", service)
}

// place has a unit where it was, or where the layout wants it. A foreign one waits for no conductor.
func (t *ownTrial) place(spec lab.UnitSpec) (engine.Placement, []engine.PublishedPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var published []engine.PublishedPort
	for i, port := range portsOf(spec) {
		if i > 0 || !spec.Foreign {
			published = append(published, engine.PublishedPort{Protocol: "tcp", TargetPort: port,
				PublishedPort: t.ports[spec.Name][i], PublishMode: "host"})
		}
	}
	if n := t.latest[spec.Name]; n != nil {
		return on(n), published
	}
	return t.wanted(spec), published
}

// on has a unit on a node and nowhere else.
func on(n *private.Node) engine.Placement {
	return engine.Placement{Constraints: []string{"node.id==" + n.ID}}
}

// wanted says where the layout wants the unit.
func (t *ownTrial) wanted(spec lab.UnitSpec) engine.Placement {
	if place := t.places[spec.Node]; place != "" {
		return onNamed(place)
	}
	if spec.Name == t.lead {
		return on(t.cluster.Nodes[0])
	}
	return engine.Placement{}
}

// onNamed has a unit on the node of a name.
func onNamed(name string) engine.Placement {
	return engine.Placement{Constraints: []string{"node.hostname==" + name}}
}

// recordNode records the node of a unit, where it stays until the node is emptied, and so its
// addresses for this host.
func (t *ownTrial) recordNode(spec lab.UnitSpec, n *private.Node) {
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

// dialOf returns where this host reaches a unit itself, which has a node.
func (t *ownTrial) dialOf(unit string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Relays.Behind(unit, t.outside[unit].Dial)
}

// dial returns where this host calls a unit.
func (t *ownTrial) dial(endpoint string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outside[endpoint].Dial
}

// reachPublished has the peers of units that shall be called so call their nodes.
func (t *ownTrial) reachPublished(_ context.Context, specs []lab.UnitSpec) error {
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

// awaitKnown waits until units are known by name on every node, or one of them has failed.
// Nodes hear of each other's a moment late, and foreign programs look names up but once.
func (t *ownTrial) awaitKnown(ctx context.Context, specs []lab.UnitSpec) error {
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

// untilFinished waits for something of a service that is there until its part is done. The wait fails if the
// service ends otherwise.
func untilFinished(ctx context.Context, s *service, wait func(context.Context) error) error {
	ctx, cancel := fleet.WithEnd(ctx, s.Ended, func() error { return errors.New("it has ended") })
	defer cancel()
	err := wait(ctx)
	if s.HasFinished() {
		return nil
	}
	return err
}

// cut has the network of a unit drop all that comes and goes, or pass it again.
func (t *ownTrial) cut(ctx context.Context, s *service, off bool) error {
	change := "--delete"
	if off {
		change = "--insert"
	}
	for _, rule := range []string{"INPUT ! --in-interface lo", "OUTPUT ! --out-interface lo"} {
		if err := hosts.In(ctx, s.HostPID(), "iptables", "--wait", change, rule, "--jump DROP"); err != nil {
			return fmt.Errorf("filter the network of unit %s: %w", s.Spec.Name, err)
		}
	}
	return nil
}

// next has the swarm run a unit anew that has ended, with its name, environment and volume: where it was,
// or elsewhere, where its scheduler wants it, unless the layout does.
func (t *ownTrial) next(_ context.Context, ended *service, elsewhere bool) (*service, error) {
	s := t.newService(ended.Spec)
	s.id, s.made, s.former, s.token = ended.id, ended.made, ended.former, ended.token
	s.made.TaskTemplate.Placement = on(t.life(ended).node)
	if elsewhere {
		s.made.TaskTemplate.Placement = t.wanted(ended.Spec)
	}
	return s, nil
}

// clear removes what the swarm has of the trial, its containers at once: none of them has anything to put in
// order but what is asked first. It leaves links and ports as they were.
func (t *ownTrial) clear() error {
	lifted := t.Wanted.Lift(t.Watching)
	ctx, cancel := context.WithTimeoutCause(t.Watching, removePatience,
		fmt.Errorf("not removed after %v", removePatience))
	defer cancel()
	_ = fleet.ForAll(ctx, atOnce, t.All(), func(ctx context.Context, s *service) error {
		_ = t.Doom(s.Unit) // it may have ended
		if s.Spec.Foreign && s.Spec.Server == nil && t.life(s).Container != "" {
			_ = s.End(ctx)
		}
		return nil
	})
	err := errors.Join(t.removeAll(ctx), fleet.ForAll(ctx, atOnce, t.cluster.Nodes, removeContainers))
	if err != nil {
		err = fmt.Errorf("the swarm still has something of the trial: %w", err)
	}
	return errors.Join(lifted, err, t.straighten(t.Watching))
}

// removeContainers removes those of a node. The swarm may be about to do the same.
func removeContainers(ctx context.Context, n *private.Node) error {
	return fleet.Until(ctx, 20*time.Millisecond, func() (bool, error) {
		things, err := n.Units(ctx)
		if err != nil {
			return true, fmt.Errorf("containers on %s: %w", n.Name, err)
		}
		for _, thing := range things {
			_ = n.Engine.Remove(ctx, thing.ID) // looked at again
		}
		if len(things) > 0 {
			return false, fmt.Errorf("%d containers are left on %s", len(things), n.Name)
		}
		return true, nil
	})
}
