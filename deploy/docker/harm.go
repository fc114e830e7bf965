package docker

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/lab"
)

// Can implements lab.Deployer. Only on a network of its own can a container be cut off.
func (d *Deployer) Can() lab.Capabilities {
	faults := []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill}
	if d.network == Bridge {
		faults = append(faults, lab.FaultCut)
	}
	return lab.Capabilities{Faults: faults}
}

// Kill implements fleet.Instance.
func (c *container) Kill(ctx context.Context) (proof string, err error) {
	return "the container has ended", c.deployment.engine.Kill(ctx, c.name)
}

// Pause implements fleet.Instance.
func (c *container) Pause(ctx context.Context) (proof string, err error) {
	return "the container is paused", c.deployment.engine.Pause(ctx, c.name)
}

// Resume implements fleet.Instance.
func (c *container) Resume(ctx context.Context) error {
	return c.deployment.engine.Unpause(ctx, c.name)
}

// End implements fleet.Instance.
func (c *container) End(ctx context.Context) error {
	return c.deployment.engine.Stop(ctx, c.name, stopGrace)
}

// gone fails when the container has a process.
func (d *deployment) gone(ctx context.Context, c *container) error {
	state, err := d.engine.Inspect(ctx, c.name)
	if err == nil && state.Pid != 0 {
		err = fmt.Errorf("the container is %q and has process %d", state.Status, state.Pid)
	}
	return err
}

// cut takes a container off the trial's network, or brings it back with the same address.
func (d *deployment) cut(ctx context.Context, c *container, off bool) error {
	if off {
		return d.engine.Disconnect(ctx, d.network, c.name)
	}
	at := engine.In(d.nodes[c.Spec.Name].address, containers.Aliases(c.Spec)...)
	return d.engine.Connect(ctx, d.network, c.name, at)
}

// next returns a container in the place of one that has ended, with its address, environment and volume. One
// that Container describes goes on as it was.
func (d *deployment) next(ctx context.Context, ended *container, _ bool) (*container, error) {
	c := d.newContainer(ended.Spec)
	if ended.Spec.Container != nil {
		c.name = ended.name // with all that it has written into its image
		return c, nil
	}
	return c, ended.remove(ctx)
}

// AwaitOpen implements fleet.Instance.
func (c *container) AwaitOpen(ctx context.Context) error {
	return c.AwaitListening(ctx, c.deployment.reach(c.Spec.Name), upPatience)
}
