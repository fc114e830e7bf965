package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// mount adds a mount to a container.
func (d *deployment) mount(host *engine.HostConfig, m lab.ContainerMount) {
	from := m.Source
	switch {
	case m.Kind == lab.MountMemory:
		if host.Tmpfs == nil {
			host.Tmpfs = map[string]string{}
		}
		host.Tmpfs[m.Target] = m.Options
		return
	case m.Kind == lab.MountVolume && from == "":
		host.Mounts = append(host.Mounts, engine.Mount{Type: "volume", Target: m.Target, ReadOnly: m.ReadOnly})
		return
	case m.Kind == lab.MountVolume:
		from = d.volumeName(from)
	}
	bind := from + ":" + m.Target
	if m.ReadOnly {
		bind += ":ro"
	}
	host.Binds = append(host.Binds, bind)
}

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
		problems = append(problems, d.engine.RemoveVolume(d.Watching, name))
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
