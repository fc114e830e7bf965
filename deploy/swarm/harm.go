package swarm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// Faults implements lab.Deployer.
func (d *Deployer) Faults() []lab.FaultKind {
	return []lab.FaultKind{
		lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultCut, lab.FaultSlow, lab.FaultFill,
		lab.FaultUpdate,
	}
}

// readyForFaults does what must be there before units start: relays, at an address of this host that
// units on all nodes reach, and volumes, which all nodes see.
func (d *deployment) readyForFaults(units []lab.UnitSpec) (err error) {
	if d.relays, err = relay.Ahead(units, d.trial.Endpoints, d.cluster.Hosts.Here()); err != nil {
		return err
	}
	return volume.Prepare(units, d.volume, d.cluster.Hosts.Show)
}

func (d *deployment) volume(spec lab.UnitSpec) string { return fleet.Volume(d.trial.Dir, spec) }

// Nodes implements lab.Clustered. The first node is not among them: it manages the others,
// and the unit is there that leads the trial.
func (d *Deployer) Nodes(layout lab.Layout) []lab.Node {
	servers, contained, _ := containers.Part(layout)
	placed := slices.Concat(servers, contained, layout.Prepare)
	places, _ := containers.Places(private.Names(), placed, layout.Links) // Preflight says why there can be none
	return containers.Nodes(private.Names()[1:], placed, places)
}

// Harm implements lab.Harmer: every process of the unit has the fault. A node can be cut
// off, with all units on it, or emptied.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	s := d.Named(f.Target)
	switch {
	case s == nil && d.cluster.Named(f.Target) != nil:
		return d.harmNode(ctx, f)
	case s == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case f.Kind == lab.FaultPause:
		proof, err = "its container on "+s.node.Name+" is paused", s.node.Engine.Pause(ctx, s.container)
	case f.Kind == lab.FaultCut:
		proof, err = s.cut(ctx)
	case f.Kind == lab.FaultSlow:
		proof, err = d.relays.Slow(ctx, f)
	case f.Kind == lab.FaultFill:
		proof, err = volume.Fill(d.volume(s.Spec))
	case !f.Kind.Ends() && f.Kind != lab.FaultUpdate:
		err = errors.New("the deployment swarm cannot do it")
	case d.trial.Memory != "":
		err = errors.New("it shares memory with others, which it would not find as it was when it is started again")
	case f.Kind == lab.FaultUpdate:
		proof, err = d.update(ctx, s)
	default:
		proof, err = s.kill(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s unit %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// Heal implements lab.Harmer.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	s := d.Named(f.Target)
	switch {
	case s == nil && d.cluster.Named(f.Target) != nil:
		return d.healNode(ctx, f)
	case s == nil:
		return d.processes.(lab.Harmer).Heal(ctx, f)
	case f.Kind == lab.FaultPause:
		return s.node.Engine.Unpause(ctx, s.container)
	case f.Kind == lab.FaultUpdate:
		return nil // it is over when it has taken effect
	case f.Kind == lab.FaultCut:
		return errors.Join(s.filter(ctx, "--delete"), s.awaitListening(ctx))
	case f.Kind == lab.FaultSlow:
		d.relays.Heal(f)
		return nil
	case f.Kind == lab.FaultFill:
		return volume.Drain(d.volume(s.Spec))
	}
	return d.startAgain(ctx, s, on(s.node))
}

func (s *service) kill(ctx context.Context) (proof string, err error) {
	kill := func(ctx context.Context) error { return s.node.Engine.Kill(ctx, s.container) }
	return "its container on " + s.node.Name + " has ended", s.deployment.Kill(ctx, s.Unit, kill)
}

// update has the swarm put a new task in the place of the unit's, which ends first: the two
// could not both have its volume. The scheduler chooses the node, unless the layout does.
func (d *deployment) update(ctx context.Context, old *service) (proof string, err error) {
	if err := d.Doom(old.Unit); err != nil {
		return "", err
	}
	if err := d.startAgain(ctx, old, d.wanted(old.Spec)); err != nil {
		return "", err
	}
	if err := old.AwaitEnd(ctx); err != nil {
		return "", err
	}
	state, err := old.node.Engine.Inspect(ctx, old.container)
	if err != nil || state.Pid != 0 {
		return "", errors.Join(fmt.Errorf("the container before it on %s is %q", old.node.Name, state.Status), err)
	}
	now := d.Named(old.Spec.Name)
	return fmt.Sprintf("its container %.12s on %s has ended, and %.12s runs on %s", old.container, old.node.Name,
		now.container, now.node.Name), nil
}

// cut has the network of the unit drop all that comes and goes.
func (s *service) cut(ctx context.Context) (proof string, err error) {
	if err := s.filter(ctx, "--insert"); err != nil {
		return "", err
	}
	address := s.deployment.dialOf(s.Spec.Name)
	if address == "" {
		return "its network lets nothing through", nil
	}
	return hosts.Unreached(address)
}

// filter changes the packet filter of the unit's own network.
func (s *service) filter(ctx context.Context, change string) error {
	for _, rule := range [][]string{{"INPUT", "!", "--in-interface", "lo"},
		{"OUTPUT", "!", "--out-interface", "lo"}} {
		args := append([]string{"--target=" + strconv.Itoa(s.hostPID), "--net", "iptables", "--wait", change},
			rule...)
		text, err := exec.CommandContext(ctx, "nsenter", append(args, "--jump", "DROP")...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("filter the network of unit %s: %w: %s", s.Spec.Name, err,
				strings.TrimSpace(string(text)))
		}
	}
	return nil
}

// harmNode takes the link of a node down, kills all that runs on it, or has the swarm empty it.
func (d *deployment) harmNode(ctx context.Context, f lab.Fault) (proof string, err error) {
	n, err := d.cluster.Named(f.Target), containers.CheckNode(f)
	switch {
	case err != nil:
	case f.Kind == lab.FaultDrain:
		proof, err = d.drainNode(ctx, n)
	case f.Kind == lab.FaultKill:
		d.watch(n)
		err = d.killNode(ctx, n)
	default:
		d.watch(n)
		err = n.Link(ctx, false)
	}
	if err == nil && f.Kind != lab.FaultDrain {
		proof, err = hosts.Unreached(net.JoinHostPort(n.Address, "2377"))
	}
	if err != nil {
		return "", fmt.Errorf("%s node %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// healNode undoes it.
func (d *deployment) healNode(ctx context.Context, f lab.Fault) error {
	n := d.cluster.Named(f.Target)
	if f.Kind == lab.FaultDrain {
		return d.refill(ctx, n)
	}
	d.Found(n.Name)
	if f.Kind == lab.FaultKill {
		return d.bootNode(ctx, n)
	}
	return d.reconnect(ctx, n)
}

// reconnect takes the link up and waits until the units of the node are reached.
func (d *deployment) reconnect(ctx context.Context, n *private.Node) error {
	if err := n.Link(ctx, true); err != nil {
		return err
	}
	for _, s := range d.unitsOn(n) {
		if err := s.awaitListening(ctx); err != nil {
			return fmt.Errorf("node %s is connected again: %w", n.Name, err)
		}
	}
	return nil
}

// startAgain has the swarm run a unit anew that was ended on purpose, with its name,
// environment and volume.
func (d *deployment) startAgain(ctx context.Context, old *service, where engine.Placement) error {
	if !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", old.Spec.Name)
	}
	s := d.newService(old.Spec)
	s.WriteTo(old.Log)
	s.id, s.made, s.former, s.token = old.id, old.made, old.former, old.token
	s.made.TaskTemplate.Placement = where
	d.Add(s)
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := d.redirect(ctx, s); err != nil {
		return err
	}
	return s.AwaitUsable(ctx, d.dialOf(s.Spec.Name), s.awaitListening)
}

// awaitListening waits until the unit accepts connections, where it listens at all.
func (s *service) awaitListening(ctx context.Context) error {
	return s.AwaitListening(ctx, s.deployment.dialOf(s.Spec.Name), upPatience)
}
