package docker

import (
	"context"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/lab"
)

// Can implements lab.Deployer. A container can be cut off only from a network of the trial's own.
func (d *Deployer) Can() lab.Capabilities {
	faults := []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause, lab.FaultSlow, lab.FaultFill}
	if d.network == Bridge {
		faults = append(faults, lab.FaultCut)
	}
	return lab.Capabilities{Faults: faults, Spans: true}
}

// cut disconnects a container from the trial's network if off is true, or connects it again at the same
// address.
func (d *deployment) cut(ctx context.Context, c *container, off bool) error {
	if off {
		return d.engine.Disconnect(ctx, d.network, c.Container)
	}
	at := engine.In(d.addressOf(c.Spec), containers.Aliases(c.Spec)...)
	return d.engine.Connect(ctx, d.network, c.Container, at)
}

// next returns the next life of a unit, with the address, environment and volume of the ended one. A
// described unit keeps its container; that of any other unit is removed.
func (d *deployment) next(ctx context.Context, ended *container, _ bool) (*container, error) {
	c := d.newContainer(ended.Spec)
	if ended.Spec.Container != nil {
		c.Container = ended.Container // with all files that it has written
		return c, nil
	}
	return c, ended.remove(ctx)
}
