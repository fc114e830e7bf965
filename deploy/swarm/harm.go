package swarm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

// Faults implements lab.Deployer.
func (d *Deployer) Faults() []lab.FaultKind {
	return []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultCut}
}

// Nodes implements lab.Clustered. The first node is not among them: it manages the others,
// and the unit is there that leads the trial.
func (d *Deployer) Nodes(lab.Layout) []lab.Node {
	return lab.Nodes(nodeNames()[1:], lab.FaultCut)
}

// Harm implements lab.Harmer: every process of the unit has the fault. A node can be cut
// off, with all units on it.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	s := d.named(f.Target)
	switch {
	case s == nil && d.cluster.named(f.Target) != nil:
		return d.cutNode(ctx, f)
	case s == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case f.Kind == lab.FaultPause:
		proof, err = s.pause(ctx)
	case f.Kind == lab.FaultCut:
		proof, err = s.cut(ctx)
	case !f.Kind.Ends():
		err = errors.New("the deployment swarm cannot do it")
	case d.trial.Memory != "":
		err = errors.New("it shares memory with others, which it would not find as it was when it is started again")
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
	s := d.named(f.Target)
	switch {
	case s == nil && d.cluster.named(f.Target) != nil:
		return d.reconnectNode(ctx, f.Target)
	case s == nil:
		return d.processes.(lab.Harmer).Heal(ctx, f)
	case f.Kind == lab.FaultPause:
		return s.node.engine.Unpause(ctx, s.container)
	case f.Kind == lab.FaultCut:
		return errors.Join(s.filter(ctx, "--delete"), s.awaitListening(ctx))
	}
	return d.startAgain(ctx, s)
}

func (s *service) kill(ctx context.Context) (proof string, err error) {
	if err := s.deployment.Doom(s.Unit); err != nil {
		return "", err
	}
	if err := s.node.engine.Kill(ctx, s.container); err != nil {
		return "", err
	}
	if err := s.AwaitEnd(ctx); err != nil {
		return "", err
	}
	return "its container on " + s.node.Name + " has ended", nil
}

func (s *service) pause(ctx context.Context) (proof string, err error) {
	if err := s.node.engine.Pause(ctx, s.container); err != nil {
		return "", err
	}
	state, err := s.node.engine.Inspect(ctx, s.container)
	if err == nil && state.Status != "paused" {
		err = fmt.Errorf("its state is %q", state.Status)
	}
	return "its container on " + s.node.Name + " is paused", err
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
	for _, rule := range [][]string{{"INPUT", "!", "--in-interface", "lo"}, {"OUTPUT", "!", "--out-interface", "lo"}} {
		args := append([]string{"--target=" + strconv.Itoa(s.hostPID), "--net", "iptables", "--wait", change}, rule...)
		text, err := exec.CommandContext(ctx, "nsenter", append(args, "--jump", "DROP")...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("filter the network of unit %s: %w: %s", s.Spec.Name, err, strings.TrimSpace(string(text)))
		}
	}
	return nil
}

// longestCut is how long a node can be cut off: units that hear nothing of their conductor
// for longer end, and a swarm gives up a node that it has not heard from for three
// heartbeats.
const longestCut = 30 * time.Second

// cutNode takes the link of a node down.
func (d *deployment) cutNode(ctx context.Context, f lab.Fault) (proof string, err error) {
	n := d.cluster.named(f.Target)
	switch {
	case f.Kind != lab.FaultCut:
		err = fmt.Errorf("a node can only be cut off: %s:%s", lab.FaultCut, f.Target)
	case f.Heal > longestCut.Seconds():
		err = fmt.Errorf("%g s are longer than %v, after which units take their conductor for dead", f.Heal, longestCut)
	default:
		err = n.Link(ctx, false)
	}
	if err != nil {
		return "", fmt.Errorf("%s node %s: %w", f.Kind, f.Target, err)
	}
	return hosts.Unreached(net.JoinHostPort(n.Address, "2377"))
}

// reconnectNode takes the link up and waits until the units of the node are reached.
func (d *deployment) reconnectNode(ctx context.Context, name string) error {
	n := d.cluster.named(name)
	if err := n.Link(ctx, true); err != nil {
		return err
	}
	for _, s := range d.all() {
		if s.node == n {
			if err := s.awaitListening(ctx); err != nil {
				return fmt.Errorf("node %s is connected again: %w", name, err)
			}
		}
	}
	return nil
}

// startAgain has the swarm run a unit anew that was killed, on its node, with its address,
// environment and volume.
func (d *deployment) startAgain(ctx context.Context, old *service) error {
	if !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", old.Spec.Name)
	}
	s := d.newService(old.Spec)
	s.Log, s.id, s.made, s.former, s.token, s.node = old.Log, old.id, old.made, old.former, old.token, old.node
	d.add(s)
	if err := s.start(ctx); err != nil {
		return err
	}
	switch {
	case s.Spec.Server != nil:
		return s.awaitServer(ctx)
	case s.Spec.Ready != nil:
		return d.awaitReady(ctx, []lab.UnitSpec{s.Spec})
	}
	return s.awaitListening(ctx)
}

// awaitListening waits until the unit accepts connections, where it listens at all.
func (s *service) awaitListening(ctx context.Context) error {
	address := s.deployment.dialOf(s.Spec.Name)
	if address == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("it does not listen after %v", upPatience))
	defer cancel()
	for {
		dialer := net.Dialer{Timeout: time.Second}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-s.Ended:
			return fmt.Errorf("unit %s ended at once%s", s.Spec.Name, s.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("unit %s: %w", s.Spec.Name, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
