package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/lab"
)

// Nodes implements lab.Clustered. The first node is not among them: this host reaches all
// services through it.
func (d *Deployer) Nodes(lab.Layout) []lab.Node {
	if d.users != nil {
		return nil // they are not ours to harm
	}
	return lab.Nodes(private.Nodes()[1:], lab.FaultCut, lab.FaultKill)
}

// longestCut is how long a node can be cut off: units that hear nothing of their conductor
// for longer end, and Kubernetes takes a node for lost that has not renewed its lease for
// 50 seconds, which it does every ten. One that was killed has units to be started again, and
// its pods may not have been moved to another before.
const longestCut = 30 * time.Second

// harmNode takes the link of a node down, or kills all that runs on it.
func (d *deployment) harmNode(ctx context.Context, f lab.Fault) (proof string, err error) {
	node, lead := d.cluster.Named(f.Target), d.named(d.lead)
	switch {
	case f.Heal > longestCut.Seconds():
		err = fmt.Errorf("%g s are longer than %v, after which units take their conductor for dead", f.Heal, longestCut)
	case lead != nil && lead.node == node:
		err = fmt.Errorf("unit %s leads the trial from there: give it another node", d.lead)
	case f.Kind == lab.FaultCut:
		err = node.Link(ctx, false)
	default:
		err = d.killNode(ctx, node)
	}
	if err != nil {
		return "", fmt.Errorf("%s node %s: %w", f.Kind, f.Target, err)
	}
	return unreached(node.KubeletAddress())
}

// UnitsOn implements lab.Placed.
func (d *deployment) UnitsOn(name string) (units []string, known bool) {
	node := d.cluster.Named(name)
	for _, p := range d.all() {
		if p.node == node {
			units = append(units, p.Spec.Name)
		}
	}
	return units, node != nil
}

// killNode kills a node. Connections to what was there hear nothing of it: there is nobody
// who could tell them.
func (d *deployment) killNode(ctx context.Context, node *private.Node) error {
	var lost []*pod
	for _, p := range d.all() {
		if p.node != node {
			continue
		}
		if d.memory != "" {
			return fmt.Errorf("unit %s shares memory with others, which it would not find as it was when it is started again", p.Spec.Name)
		}
		if p.scaled {
			return fmt.Errorf("unit %s runs there, whose pods Kubernetes itself starts again, unknown to their conductor: give it a number of replicas", p.Spec.Name)
		}
		lost = append(lost, p)
	}
	for _, p := range lost {
		if err := d.Doom(p.Unit); err != nil {
			return err
		}
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

// healNode puts a node back and waits until its pods are reached.
func (d *deployment) healNode(ctx context.Context, f lab.Fault) error {
	node := d.cluster.Named(f.Target)
	there := slices.DeleteFunc(d.all(), func(p *pod) bool { return p.node != node })
	if f.Kind == lab.FaultKill {
		if err := node.Boot(ctx); err != nil {
			return fmt.Errorf("boot node %s: %w", f.Target, err)
		}
		servers := slices.DeleteFunc(slices.Clone(there), func(p *pod) bool { return p.Spec.Server == nil })
		units := slices.DeleteFunc(there, func(p *pod) bool { return p.Spec.Server != nil })
		if err := sideBySide(ctx, servers, d.startAgain); err != nil {
			return err
		}
		return sideBySide(ctx, units, d.startAgain)
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
