package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/lab"
)

// Nodes implements lab.Clustered. The first node is not among them: this host reaches all
// services through it, and the unit is there that leads the trial.
func (d *Deployer) Nodes(layout lab.Layout) []lab.Node {
	if d.users != nil {
		return nil // they are not ours to harm
	}
	servers, contained, _ := containers.Part(layout)
	specs := slices.Concat(servers, contained, layout.Prepare)
	places, _ := containers.Places(private.Nodes(), specs, layout.Links) // Preflight says why there can be none
	return containers.Nodes(private.Nodes()[1:], specs, places)
}

// harmNode takes the link of a node down, kills all that runs on it, or empties it.
func (d *deployment) harmNode(ctx context.Context, f lab.Fault) (proof string, err error) {
	node, err := d.cluster.Named(f.Target), containers.CheckNode(f)
	switch {
	case err != nil:
	case f.Kind == lab.FaultDrain:
		proof, err = d.drainNode(ctx, node)
	case f.Kind == lab.FaultKill:
		d.Watch(d.watching, node.Name, node.Lost)
		err = d.killNode(ctx, node)
	case d.NodeOf(d.lead) == node.Name:
		err = fmt.Errorf("unit %s leads the trial from there: give it another node", d.lead)
	default:
		d.Watch(d.watching, node.Name, node.Lost)
		err = node.Link(ctx, false)
	}
	if err == nil && f.Kind != lab.FaultDrain {
		proof, err = hosts.Unreached(node.KubeletAddress())
	}
	if err != nil {
		return "", fmt.Errorf("%s node %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// NodeOf implements lab.Placed.
func (d *deployment) NodeOf(unit string) string {
	p := d.Named(unit)
	d.mu.Lock()
	defer d.mu.Unlock()
	if p != nil {
		return p.nodeName
	}
	return "" // the autoscaler has not added it
}

// killNode kills a node. Connections to what was there hear nothing of it: there is nobody
// who could tell them.
func (d *deployment) killNode(ctx context.Context, node *private.Node) error {
	lost := d.podsOn(node)
	if err := d.doom(lost, d.shared().MayRestart); err != nil {
		return err
	}
	if err := node.Kill(ctx); err != nil {
		return err
	}
	var problems []error
	for _, p := range lost {
		if p.runs() {
			problems = append(problems, fmt.Errorf("unit %s still runs", p.Spec.Name))
		}
		if control, is := p.Commands.(io.Closer); is {
			_ = control.Close() // nobody is at its other end
		}
	}
	return errors.Join(problems...)
}

// doom marks pods as those that end on purpose, unless one of them may not.
func (d *deployment) doom(pods []*pod, may func(spec lab.UnitSpec, lead string) error) error {
	for _, p := range pods {
		if err := may(p.Spec, d.lead); err != nil {
			return err
		}
		if p.scaled {
			return fmt.Errorf("unit %s runs there, whose pods Kubernetes itself starts again, unknown to their "+
				"conductor: give it a number of replicas", p.Spec.Name)
		}
	}
	for _, p := range pods {
		if err := d.Doom(p.Unit); err != nil {
			return err
		}
	}
	return nil
}

// podsOn returns those of units on a node.
func (d *deployment) podsOn(node *private.Node) []*pod {
	return slices.DeleteFunc(d.All(), func(p *pod) bool { return p.node != node })
}

// healNode puts a node back and waits until its pods are reached.
func (d *deployment) healNode(ctx context.Context, f lab.Fault) error {
	node := d.cluster.Named(f.Target)
	if f.Kind == lab.FaultDrain {
		return d.refill(ctx, node)
	}
	d.Found(node.Name)
	there := d.podsOn(node)
	if f.Kind == lab.FaultKill {
		if err := node.Boot(ctx); err != nil {
			return fmt.Errorf("boot node %s: %w", f.Target, err)
		}
		return d.startAllAgain(ctx, there)
	}
	if err := node.Link(ctx, true); err != nil {
		return err
	}
	for _, p := range there {
		if err := p.awaitListening(ctx); err != nil {
			return fmt.Errorf("node %s is connected again: %w", f.Target, err)
		}
	}
	return nil
}

// startAllAgain starts pods again that ended together, wherever the scheduler wants them.
func (d *deployment) startAllAgain(ctx context.Context, ended []*pod) error {
	return containers.ServersFirst(ended, func(p *pod) lab.UnitSpec { return p.Spec }, func(some []*pod) error {
		return fleet.SideBySide(ctx, atOnce, some, d.startAgain)
	})
}

// drainNode empties a node as `kubectl drain` does, and what was there runs elsewhere: the
// scheduler finds no other place for it. Each pod is one that nobody else would make again.
func (d *deployment) drainNode(ctx context.Context, node *private.Node) (proof string, err error) {
	there := d.podsOn(node)
	if err := d.doom(there, d.shared().MayMove); err != nil {
		return "", err
	}
	d.mu.Lock()
	d.drained = append(d.drained, node)
	d.mu.Unlock()
	if err := node.Cordon(ctx, true); err != nil {
		return "", err
	}
	if err := fleet.SideBySide(ctx, atOnce, there,
		func(ctx context.Context, p *pod) error { return p.leave(ctx, p.evict) }); err != nil {
		return "", err
	}
	if err := d.startAllAgain(ctx, there); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, removePatience, fmt.Errorf("not so after %v", removePatience))
	defer cancel()
	if err := node.AwaitEmpty(ctx); err != nil {
		return "", err
	}
	return containers.Emptied(there, func(p *pod) string { return d.NodeOf(p.Spec.Name) }), nil
}

// refill lets pods come to a node again.
func (d *deployment) refill(ctx context.Context, node *private.Node) error {
	d.mu.Lock()
	d.drained = slices.DeleteFunc(d.drained, func(other *private.Node) bool { return other == node })
	d.mu.Unlock()
	return node.Cordon(ctx, false)
}
