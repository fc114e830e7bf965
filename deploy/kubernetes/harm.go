package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/lab"
)

// Can implements lab.Deployer. This host reaches all services through the first node, which has the unit that
// leads the trial.
func (d *Deployer) Can() lab.Capabilities {
	if d.users != nil {
		return lab.Capabilities{Faults: fleet.StarterFaults(), Links: d.links, Autoscale: d.autoscales}
	}
	return lab.Capabilities{Faults: containers.Faults(), Links: d.links, Autoscale: d.autoscales,
		Nodes: func(layout lab.Layout) []lab.Node { return containers.Nodes(layout, private.Nodes()) }}
}

// platform returns what is done to pods and nodes. Units of the user's cluster have a starter, which does
// what there nobody else may.
func (d *deployment) platform(layout lab.Layout) fleet.Platform[*pod] {
	p := fleet.Platform[*pod]{
		Name: d.deployer.Name(), Faults: d.deployer.Can().Faults, SharesMemory: layout.SharedMemory > 0,
		AtOnce: atOnce, Span: lab.SpanContainer, New: d.newPod, Reach: d.reach,
		Skip: isScaled, Started: d.started, Further: d.onStandby,
		Discard: func(ctx context.Context, p *pod) error { return p.remove(ctx) },
		Next:    d.next, NodeOf: d.nodeOf, Clear: d.clear,
		OwnClocks: true, Made: &d.deployer.made, Daemons: d.daemons,
	}
	if d.deployer.users != nil {
		p.SetsUp, p.Dial = true, d.reach // in the server's own pod
		return p
	}
	p.Refuse, p.Cut, p.Gone, p.Nodes = refuse, cut, gone, d.nodes()
	p.Vacate = func(ctx context.Context, p *pod) error { return p.leave(ctx, p.End) }
	p.Describe = func(p *pod) string { return "pod " + p.name + " on " + p.nodeName }
	return p
}

// daemons returns the processes of a private cluster.
func (d *deployment) daemons() ([]lab.Unit, string) {
	if d.cluster.private == nil {
		return nil, "the cluster is the user's, of whose nodes nothing is read"
	}
	return d.cluster.private.Units(), ""
}

// refuse refuses faults of units of which Kubernetes makes the pods.
func refuse(p *pod) error {
	if p.scaled {
		return errors.New("its pod was made by Kubernetes, which would itself start it again, unknown to its " +
			"conductor: give it a number of replicas")
	}
	return nil
}

// Kill implements fleet.Instance. That nothing of a pod runs any more is seen here; that the cluster knows,
// too, comes later.
func (p *pod) Kill(ctx context.Context) (proof string, err error) {
	if p.deployment.deployer.users == nil {
		return "the container has ended", p.kill(ctx)
	}
	proof, err = p.starter.Tell(ctx, lab.StarterEnd)
	if err == nil {
		p.over()
	}
	return proof, err
}

// Pause implements fleet.Instance.
func (p *pod) Pause(ctx context.Context) (proof string, err error) {
	if p.deployment.deployer.users != nil {
		return p.starter.Pause(ctx)
	}
	p.paused = true
	return "its processes are frozen", p.node.Pause(ctx, p.container)
}

// Resume implements fleet.Instance.
func (p *pod) Resume(ctx context.Context) error {
	if p.deployment.deployer.users != nil {
		return p.starter.Resume(ctx)
	}
	return p.node.Resume(ctx, p.container)
}

// cut takes a pod off its node's network, or puts it back.
func cut(ctx context.Context, p *pod, off bool) error { return p.node.Cut(ctx, p.HostPID(), off) }

// gone fails when something of a pod runs.
func gone(_ context.Context, p *pod) error {
	if p.runs() {
		return fmt.Errorf("process %d of unit %s still runs on %s", p.HostPID(), p.Spec.Name, p.nodeName)
	}
	return nil
}

// leave has the pod end in a way, and proves that nothing of it runs any more.
func (p *pod) leave(ctx context.Context, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removePatience,
		fmt.Errorf("the pod of unit %s is not gone after %v", p.Spec.Name, removePatience))
	defer cancel()
	if err := end(ctx); err != nil {
		return err
	}
	if err := gone(ctx, p); err != nil {
		return err
	}
	return p.AwaitEnd(ctx)
}

// next returns the next life of a unit, with its address, environment and volume: in a pod of its own, or, on
// the user's cluster, in that of its former life.
func (d *deployment) next(ctx context.Context, ended *pod, _ bool) (*pod, error) {
	if d.deployer.users == nil {
		return d.newPod(ended.Spec), ended.remove(ctx)
	}
	p := *ended
	p.Unit, p.again = fleet.NewUnit(ended.Spec), true
	p.lives, p.over = context.WithCancel(d.Watching)
	return &p, nil
}

// AwaitOpen implements fleet.Instance. A starter has seen before that its unit listens.
func (p *pod) AwaitOpen(ctx context.Context) error {
	if p.deployment.deployer.users != nil {
		return nil
	}
	return p.AwaitListening(ctx, p.deployment.reach(p.Spec.Name), upPatience)
}

// literals returns texts in which Kubernetes finds no variable to replace.
func literals(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = strings.ReplaceAll(text, "$(", "$$(")
	}
	return all
}
