package process

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

// startServers starts the servers of a layout, all at once since they spend most of
// their start waiting, and returns when all can be used.
func (d *Deployer) startServers(ctx context.Context, layout lab.Layout, running *deployment) error {
	problems := make([]error, len(layout.Units))
	var starts sync.WaitGroup
	for i, spec := range layout.Units {
		if spec.Server != nil {
			starts.Go(func() {
				if err := d.startServer(ctx, spec, running); err != nil {
					problems[i] = fmt.Errorf("start %s (%s): %w", spec.Name, spec.Server.Kind, err)
				}
			})
		}
	}
	starts.Wait()
	return errors.Join(problems...)
}

func (d *Deployer) startServer(ctx context.Context, spec lab.UnitSpec, running *deployment) error {
	for _, setup := range spec.Server.Setup {
		preparing := spec
		preparing.Program, preparing.Args = setup.Program, setup.Args
		if err := d.prepare(ctx, running, preparing, setup.Visit); err != nil {
			return err
		}
	}
	if err := d.startUnit(spec, nil, running); err != nil {
		return err
	}
	return running.awaitServer(ctx, running.named(spec.Name))
}

func (d *deployment) awaitServer(ctx context.Context, u *unit) error {
	return supervise.AwaitVisit(ctx, u.Unit, d.endpoints[u.Spec.Name].Dial, u.Spec.Server.Ready)
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
