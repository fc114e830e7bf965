package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// Faults implements lab.Deployer. Only on a network of its own can a container be cut off.
func (d *Deployer) Faults() []lab.FaultKind {
	can := []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill}
	if d.network == Bridge {
		can = append(can, lab.FaultCut)
	}
	return can
}

// readyForFaults does what must be there before units start: relays and volumes.
func (d *deployment) readyForFaults(units []lab.UnitSpec) (err error) {
	servers, contained, _ := containers.Part(lab.Layout{Units: units})
	if d.relays, err = relay.Before(slices.Concat(servers, contained), d.endpoints, d.host); err != nil {
		return err
	}
	return volume.Prepare(units, d.volume)
}

func (d *deployment) volume(spec lab.UnitSpec) string { return fleet.Volume(d.dir, spec) }

// Harm implements lab.Harmer: every process of the container has the fault.
func (d *deployment) Harm(ctx context.Context, f lab.Fault) (proof string, err error) {
	c := d.Named(f.Target)
	switch {
	case c == nil:
		return d.processes.(lab.Harmer).Harm(ctx, f)
	case f.Target == d.lead:
		return "", fmt.Errorf("unit %s leads the trial and cannot have a fault in it", f.Target)
	case f.Kind == lab.FaultPause:
		proof, err = "the container is paused", d.engine.Pause(ctx, c.name)
	case f.Kind == lab.FaultCut:
		proof, err = c.cut(ctx)
	case f.Kind == lab.FaultSlow:
		proof, err = d.relays.Slow(ctx, f)
	case f.Kind == lab.FaultFill:
		proof, err = volume.Fill(d.volume(c.Spec))
	case !f.Kind.Ends():
		err = errors.New("no container can have this fault")
	case d.memory != "":
		err = errors.New("it shares memory with others, which it would not find as it was when it is started again")
	default:
		proof, err = c.kill(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s unit %s: %w", f.Kind, f.Target, err)
	}
	return proof, nil
}

// Heal implements lab.Harmer.
func (d *deployment) Heal(ctx context.Context, f lab.Fault) error {
	c := d.Named(f.Target)
	switch {
	case c == nil:
		return d.processes.(lab.Harmer).Heal(ctx, f)
	case f.Kind == lab.FaultPause:
		return d.engine.Unpause(ctx, c.name)
	case f.Kind == lab.FaultCut:
		return c.reconnect(ctx)
	case f.Kind == lab.FaultSlow:
		d.relays.Heal(f)
		return nil
	case f.Kind == lab.FaultFill:
		return volume.Drain(d.volume(c.Spec))
	}
	return d.startAgain(ctx, c)
}

func (c *container) kill(ctx context.Context) (proof string, err error) {
	d := c.deployment
	kill := func(ctx context.Context) error { return d.engine.Kill(ctx, c.name) }
	return "the container has ended", d.Kill(ctx, c.Unit, kill)
}

// cut takes the container off the trial's network. Who listens must not be reached then.
func (c *container) cut(ctx context.Context) (proof string, err error) {
	d := c.deployment
	if d.deployer.network == Host {
		return "", errors.New("it is in the network of its host, from which no container can be cut off alone: " +
			"deploy with docker-bridge")
	}
	if err := d.engine.Disconnect(ctx, d.network, c.name); err != nil {
		return "", err
	}
	endpoint, listens := d.endpoints[c.Spec.Name]
	if !listens {
		return "the container is on no network", nil
	}
	connection, err := net.DialTimeout("tcp", endpoint.Bind, cutProof)
	if err == nil {
		return "", errors.Join(fmt.Errorf("%s still answers", endpoint.Bind), connection.Close())
	}
	return "from this host: " + err.Error(), nil
}

// cutProof is how long a container that was cut off is tried to be reached.
const cutProof = 500 * time.Millisecond

// reconnect brings the container back, with the same address.
func (c *container) reconnect(ctx context.Context) error {
	d := c.deployment
	at := engine.In(d.nodes[c.Spec.Name].address, aliases(c.Spec)...)
	if err := d.engine.Connect(ctx, d.network, c.name, at); err != nil {
		return err
	}
	return c.awaitListening(ctx)
}

// startAgain runs a container that was killed anew, with its address, environment and
// volume. One that Container describes goes on as it was.
func (d *deployment) startAgain(ctx context.Context, old *container) error {
	if !d.IsDoomed(old.Unit) {
		return fmt.Errorf("unit %q was not killed, so it is not started again", old.Spec.Name)
	}
	c := d.newContainer(old.Spec)
	c.WriteTo(old.Log)
	if old.Spec.Container != nil {
		c.name = old.name // with all that it has written into its image
	} else if err := old.remove(ctx); err != nil {
		return fmt.Errorf("start unit %s again: %w", old.Spec.Name, err)
	}
	d.Add(c)
	if err := c.start(ctx); err != nil {
		return err
	}
	return c.AwaitUsable(ctx, d.reach(c.Spec.Name), c.awaitListening)
}

// awaitListening waits until the unit accepts connections, where it listens at all.
func (c *container) awaitListening(ctx context.Context) error {
	itself := c.deployment.endpoints[c.Spec.Name].Bind // a relay would accept at once
	return c.AwaitListening(ctx, itself, upPatience)
}
