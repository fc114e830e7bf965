package docker

import (
	"context"

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
	return lab.Capabilities{Faults: faults, Spans: true}
}

// cut takes a container off the trial's network, or brings it back with the same address.
func (d *deployment) cut(ctx context.Context, c *container, off bool) error {
	if off {
		return d.engine.Disconnect(ctx, d.network, c.Container)
	}
	at := engine.In(d.addressOf(c.Spec), containers.Aliases(c.Spec)...)
	return d.engine.Connect(ctx, d.network, c.Container, at)
}

// next returns a container in the place of one that has ended, with its address, environment and volume. One
// that Container describes goes on as it was.
func (d *deployment) next(ctx context.Context, ended *container, _ bool) (*container, error) {
	c := d.newContainer(ended.Spec)
	if ended.Spec.Container != nil {
		c.Container = ended.Container // with all that it has written into its image
		return c, nil
	}
	return c, ended.remove(ctx)
}
