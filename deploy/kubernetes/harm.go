package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// Faults implements lab.Deployer.
func (d *Deployer) Faults() []lab.FaultKind {
	if d.users != nil {
		return fleet.StarterFaults()
	}
	return []lab.FaultKind{
		lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultCut, lab.FaultSlow, lab.FaultFill,
		lab.FaultUpdate,
	}
}

// readyForFaults does what must be there before units start: relays, at an address of this host that
// pods on all nodes reach, volumes, which all nodes see, and links as the layout wants them.
func (d *deployment) readyForFaults(ctx context.Context, units []lab.UnitSpec) (err error) {
	if d.deployer.users != nil {
		return nil // such faults cannot be there
	}
	units = d.links.Relayed(units)
	if d.relays, err = relay.Before(units, d.endpoints, d.cluster.private.Here()); err != nil {
		return err
	}
	if err := volume.Prepare(units, d.volume, d.cluster.private.Show); err != nil {
		return err
	}
	return d.links.Make(ctx, d.host, d.relays)
}

func (d *deployment) volume(spec lab.UnitSpec) string { return fleet.Volume(d.dir, spec) }

// Harm implements lab.Harmer: every process of the pod has the fault. A node has it with all
// pods on it.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	p := d.Named(f.Target)
	switch {
	case p != nil && d.deployer.users != nil:
		return p.starter.Harm(ctx, d.Supervisor, p.Unit, f, d.deployer.users.Context, p.over)
	case p == nil && d.cluster.Named(f.Target) != nil:
		return d.harmNode(ctx, f)
	case p == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case p.scaled:
		return "", fmt.Errorf("%s unit %s: Kubernetes has made its pod and would itself start it again, unknown "+
			"to its conductor: give it a number of replicas", f.Kind, f.Target)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case f.Kind == lab.FaultPause:
		p.paused = true
		proof, err = "its processes are frozen", p.node.Pause(ctx, p.container)
	case f.Kind == lab.FaultCut:
		proof, err = p.cut(ctx)
	case f.Kind == lab.FaultSlow:
		proof, err = d.relays.Slow(ctx, f)
	case f.Kind == lab.FaultFill:
		proof, err = volume.Fill(d.volume(p.Spec))
	case !f.Kind.Ends() && f.Kind != lab.FaultUpdate:
		err = errors.New("no pod can have this fault")
	case d.memory != "":
		err = errors.New("it shares memory with others, which it would not find as it was when it is started again")
	case f.Kind == lab.FaultUpdate:
		proof, err = d.update(ctx, p)
	default:
		proof, err = p.harmfulKill(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s unit %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// Heal implements lab.Harmer.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	p := d.Named(f.Target)
	switch {
	case p == nil && d.cluster.Named(f.Target) != nil:
		return d.healNode(ctx, f)
	case p == nil:
		return d.processes.(lab.Harmer).Heal(ctx, f)
	case d.deployer.users != nil:
		return p.starter.Heal(ctx, d.Supervisor, p.Unit, f, func() error { return d.liveAgain(ctx, p) })
	case f.Kind == lab.FaultPause:
		return p.node.Resume(ctx, p.container)
	case f.Kind == lab.FaultUpdate:
		return nil // it is over when it has taken effect
	case f.Kind == lab.FaultCut:
		if err := p.node.Cut(ctx, p.hostPID, false); err != nil {
			return err
		}
		return p.awaitListening(ctx)
	case f.Kind == lab.FaultSlow:
		d.relays.Heal(f)
		return nil
	case f.Kind == lab.FaultFill:
		return volume.Drain(d.volume(p.Spec))
	}
	return d.startAgain(ctx, p)
}

// harmfulKill kills what runs in the pod. That nothing does any more is seen here; that
// the cluster knows, too, comes later.
func (p *pod) harmfulKill(ctx context.Context) (proof string, err error) {
	return "the container has ended", p.deployment.Kill(ctx, p.Unit, p.kill)
}

// cut takes the pod off its node's network. Who listens must not be reached then.
func (p *pod) cut(ctx context.Context) (proof string, err error) {
	if err := p.node.Cut(ctx, p.hostPID, true); err != nil {
		return "", err
	}
	address := p.deployment.reach(p.Spec.Name)
	if address == "" {
		return "the pod is on no network", nil
	}
	return hosts.Unreached(address)
}

// update puts a new pod in the place of a unit's, which ends first: the two could not both
// have its volume. The scheduler chooses the node, unless the layout does.
func (d *deployment) update(ctx context.Context, old *pod) (proof string, err error) {
	if err := d.Doom(old.Unit); err != nil {
		return "", err
	}
	if err := old.leave(ctx, old.end); err != nil {
		return "", err
	}
	if err := d.startAgain(ctx, old); err != nil {
		return "", err
	}
	now := d.Named(old.Spec.Name)
	return fmt.Sprintf("its pod %s on %s has ended, and %s runs on %s", old.name, old.nodeName, now.name,
		now.nodeName), nil
}

// leave has the pod end in a way, and proves that nothing of it runs any more.
func (p *pod) leave(ctx context.Context, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removePatience,
		fmt.Errorf("the pod of unit %s is not gone after %v", p.Spec.Name, removePatience))
	defer cancel()
	if err := end(ctx); err != nil {
		return err
	}
	if p.runs() {
		return fmt.Errorf("process %d of unit %s still runs on %s", p.hostPID, p.Spec.Name, p.nodeName)
	}
	return p.AwaitEnd(ctx)
}

// startAgain runs a unit that was killed anew, in a pod of its own, with its address,
// environment and volume.
func (d *deployment) startAgain(ctx context.Context, old *pod) error {
	if !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", old.Spec.Name)
	}
	p := d.newPod(old.Spec)
	p.WriteTo(old.Log)
	if err := old.remove(ctx); err != nil {
		return fmt.Errorf("start unit %s again: %w", old.Spec.Name, err)
	}
	d.Add(p)
	if err := p.start(ctx); err != nil {
		return err
	}
	return p.AwaitUsable(ctx, d.reach(p.Spec.Name), p.awaitListening)
}

// awaitListening waits until the unit accepts connections, where it listens at all.
func (p *pod) awaitListening(ctx context.Context) error {
	return p.AwaitListening(ctx, p.deployment.reach(p.Spec.Name), upPatience)
}

// literal returns a text in which Kubernetes finds no variable to replace.
func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }
