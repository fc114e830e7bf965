package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// Faults implements lab.Deployer.
func (d *Deployer) Faults() []lab.FaultKind {
	if d.users != nil {
		return nil // they need powers on nodes
	}
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultCut}
}

// Harm implements lab.Harmer: every process of the pod has the fault. A node has it with all
// pods on it.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	p := d.named(f.Target)
	switch {
	case p != nil && d.deployer.users != nil:
		return "", fmt.Errorf("%s unit %s: on %s Cleave has no powers over nodes and their containers", f.Kind, f.Target, d.deployer.users.Context)
	case p == nil && d.cluster.Named(f.Target) != nil:
		return d.harmNode(ctx, f)
	case p == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case p.scaled:
		return "", fmt.Errorf("%s unit %s: Kubernetes has made its pod and would itself start it again, unknown to its conductor: give it a number of replicas", f.Kind, f.Target)
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
	case p == nil && d.cluster.Named(f.Target) != nil:
		return d.healNode(ctx, f)
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
		return supervise.AwaitVisit(ctx, p.Unit, d.reach(p.Spec.Name), p.Spec.Server.Ready)
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
	return p.awaitListeningAt(ctx, endpoint.Dial)
}

func (p *pod) awaitListeningAt(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("it does not listen after %v", upPatience))
	defer cancel()
	for {
		dialer := net.Dialer{Timeout: time.Second}
		connection, err := dialer.DialContext(ctx, "tcp", address)
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
