package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// Faults implements lab.Deployer.
func (d *Deployer) Faults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultCut}
}

// Nodes implements lab.Clustered. The first node is not among them: this host reaches all
// services through it.
func (d *Deployer) Nodes() []string { return private.Nodes()[1:] }

// Harm implements lab.Harmer: every process of the pod has the fault. A node can be cut
// off, with all pods on it.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	p := d.named(f.Target)
	switch {
	case p == nil && slices.Contains(d.deployer.Nodes(), f.Target):
		return d.cutNode(ctx, f)
	case p == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case f.Kind == lab.FaultPause:
		p.paused = true
		proof, err = "its processes are frozen", p.node.Pause(ctx, p.container)
	case f.Kind == lab.FaultCut:
		proof, err = p.cut(ctx)
	case !f.Kind.Ends():
		err = errors.New("no pod can have this fault")
	case d.memory != "":
		err = errors.New("it shares memory with others, which it would not find as it was when it is started again")
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
	p := d.named(f.Target)
	switch {
	case p == nil && slices.Contains(d.deployer.Nodes(), f.Target):
		return d.reconnectNode(ctx, f.Target)
	case p == nil:
		return d.processes.(lab.Harmer).Heal(ctx, f)
	case f.Kind == lab.FaultPause:
		return p.node.Resume(ctx, p.container)
	case f.Kind == lab.FaultCut:
		if err := p.node.Cut(ctx, p.hostPID, false); err != nil {
			return err
		}
		return p.awaitListening(ctx)
	}
	return d.startAgain(ctx, p)
}

// harmfulKill kills what runs in the pod. That nothing does any more is seen here; that
// the cluster knows, too, comes later.
func (p *pod) harmfulKill(ctx context.Context) (proof string, err error) {
	if err := p.deployment.Doom(p.Unit); err != nil {
		return "", err
	}
	if err := p.kill(ctx); err != nil {
		return "", err
	}
	if err := p.AwaitEnd(ctx); err != nil {
		return "", err
	}
	return "the container has ended", nil
}

// cut takes the pod off its node's network. Who listens must not be reached then.
func (p *pod) cut(ctx context.Context) (proof string, err error) {
	if err := p.node.Cut(ctx, p.hostPID, true); err != nil {
		return "", err
	}
	endpoint, listens := p.deployment.endpoints[p.Spec.Name]
	if !listens {
		return "the pod is on no network", nil
	}
	return unreached(endpoint.Dial)
}

// unreached proves that nobody accepts connections at an address.
func unreached(address string) (proof string, err error) {
	connection, err := net.DialTimeout("tcp", address, cutProof)
	if err == nil {
		return "", errors.Join(fmt.Errorf("%s still answers", address), connection.Close())
	}
	return "from this host: " + err.Error(), nil
}

// cutProof is how long what was cut off is tried to be reached.
const cutProof = 500 * time.Millisecond

// longestCut is how long a node can be cut off: units that hear nothing of their conductor
// for longer end, and Kubernetes takes a node for lost that has not renewed its lease for
// 50 seconds, which it does every ten.
const longestCut = 30 * time.Second

// cutNode takes the link of a node down.
func (d *deployment) cutNode(ctx context.Context, f lab.Fault) (proof string, err error) {
	node, lead := d.cluster.Named(f.Target), d.named(d.lead)
	switch {
	case f.Kind != lab.FaultCut:
		err = fmt.Errorf("a node can only be cut off: %s:%s", lab.FaultCut, f.Target)
	case f.Heal > longestCut.Seconds():
		err = fmt.Errorf("%g s are longer than %v, after which units take their conductor for dead", f.Heal, longestCut)
	case lead != nil && lead.node == node:
		err = fmt.Errorf("unit %s leads the trial from there: give it another node", d.lead)
	default:
		err = node.Link(ctx, false)
	}
	if err != nil {
		return "", fmt.Errorf("%s node %s: %w", f.Kind, f.Target, err)
	}
	return unreached(node.KubeletAddress())
}

// reconnectNode takes the link up and waits until the pods of the node are reached.
func (d *deployment) reconnectNode(ctx context.Context, name string) error {
	node := d.cluster.Named(name)
	if err := node.Link(ctx, true); err != nil {
		return err
	}
	for _, p := range d.all() {
		if p.node == node {
			if err := p.awaitListening(ctx); err != nil {
				return fmt.Errorf("node %s is connected again: %w", name, err)
			}
		}
	}
	return nil
}

// startAgain runs a unit that was killed anew, in a pod of its own, with its address,
// environment and volume.
func (d *deployment) startAgain(ctx context.Context, old *pod) error {
	if !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", old.Spec.Name)
	}
	p := d.newPod(old.Spec)
	p.Log = old.Log
	if err := old.remove(ctx); err != nil {
		return fmt.Errorf("start unit %s again: %w", old.Spec.Name, err)
	}
	d.add(p)
	if err := p.start(ctx); err != nil {
		return err
	}
	switch {
	case p.Spec.Server != nil:
		return supervise.AwaitVisit(ctx, p.Unit, d.endpoints[p.Spec.Name].Dial, p.Spec.Server.Ready)
	case p.Spec.Ready != nil:
		return d.awaitReady(ctx, []lab.UnitSpec{p.Spec})
	}
	return p.awaitListening(ctx)
}

// awaitListening waits until the unit accepts connections, where it listens at all.
func (p *pod) awaitListening(ctx context.Context) error {
	endpoint, listens := p.deployment.endpoints[p.Spec.Name]
	if !listens {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("it does not listen after %v", upPatience))
	defer cancel()
	for {
		dialer := net.Dialer{Timeout: time.Second}
		connection, err := dialer.DialContext(ctx, "tcp", endpoint.Dial)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-p.Ended:
			return fmt.Errorf("unit %s ended at once%s", p.Spec.Name, p.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("unit %s: %w", p.Spec.Name, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// literal is a text in which Kubernetes finds no variable to replace.
func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }
