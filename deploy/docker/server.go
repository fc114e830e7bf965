package docker

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// startServers starts the servers of a layout and returns when all can be used.
func (d *deployment) startServers(ctx context.Context, specs []lab.UnitSpec) error {
	return supervise.SideBySide(ctx, atOnce, specs, func(ctx context.Context, spec lab.UnitSpec) error {
		if err := d.startServer(ctx, spec); err != nil {
			return fmt.Errorf("start %s (%s): %w", spec.Name, spec.Server.Kind, err)
		}
		return nil
	})
}

func (d *deployment) startServer(ctx context.Context, spec lab.UnitSpec) error {
	for _, setup := range spec.Server.Setup {
		preparing := spec
		preparing.Program, preparing.Args = setup.Program, setup.Args
		if err := d.prepare(ctx, preparing, setup.Visit); err != nil {
			return err
		}
	}
	c := d.newContainer(spec)
	d.add(c)
	if err := c.start(ctx); err != nil {
		return err
	}
	return c.awaitServer(ctx)
}

func (c *container) awaitServer(ctx context.Context) error {
	return supervise.AwaitVisit(ctx, c.Unit, c.deployment.endpoints[c.Spec.Name].Dial, c.Spec.Server.Ready)
}

// awaitReady waits until units that say when they are ready are.
func (d *deployment) awaitReady(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if spec.Ready == nil {
			continue
		}
		if err := supervise.AwaitVisit(ctx, d.named(spec.Name).Unit, d.endpoints[spec.Name].Dial, spec.Ready); err != nil {
			return err
		}
	}
	return nil
}
