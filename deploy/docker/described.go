package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// volumeName returns the name, at the daemon, of a volume of the trial.
func (d *deployment) volumeName(of string) string { return d.name("volume-" + of) }

// makeVolumes makes the named volumes of the trial's containers.
func (d *deployment) makeVolumes(ctx context.Context, units []lab.UnitSpec) error {
	d.volumes = map[string]bool{}
	for _, spec := range units {
		if spec.Container == nil {
			continue
		}
		for _, m := range spec.Container.Mounts {
			name := d.volumeName(m.Source)
			if m.Kind != lab.MountVolume || m.Source == "" || d.volumes[name] {
				continue
			}
			d.volumes[name] = true
			if err := withGrace(ctx, func(ctx context.Context) error {
				return d.engine.MakeVolume(ctx, name, d.deployer.labels())
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeVolumes removes the named volumes. No container must be left.
func (d *deployment) removeVolumes() error {
	var problems []error
	for name := range d.volumes {
		problems = append(problems, d.engine.Remove(d.Watching, "volume", name))
	}
	return errors.Join(problems...)
}

// awaitHealthy waits until the health check of the container says that it is healthy.
func (c *container) awaitHealthy(ctx context.Context) error {
	d := c.deployment
	if check := c.Spec.Container.Health; check != nil && check.Port != 0 {
		address := net.JoinHostPort(d.addressOf(c.Spec), strconv.Itoa(check.Port))
		return fleet.AwaitVisit(ctx, c.Unit, address, fleet.PortVisit(check))
	}
	if err := d.engine.AwaitHealthy(ctx, c.Container, c.Ended); err != nil {
		return fmt.Errorf("%v %w%s", c, err, c.Log.LastWords())
	}
	return nil
}
