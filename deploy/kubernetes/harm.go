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
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultCut}
}

// Harm implements lab.Harmer: every process of the pod has the fault.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	p := d.named(f.Target)
	switch {
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
	connection, err := net.DialTimeout("tcp", endpoint.Dial, cutProof)
	if err == nil {
		return "", errors.Join(fmt.Errorf("%s still answers", endpoint.Dial), connection.Close())
	}
	return "from this host: " + err.Error(), nil
}

// cutProof is how long a pod that was cut off is tried to be reached.
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
