package swarm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// lacks returns what a service of a swarm cannot have of a container that its spec describes.
func lacks(spec lab.UnitSpec) (all []containers.Lack) {
	c := spec.Container
	for _, option := range c.SecurityOpt { // all others are refused everywhere
		all = append(all, containers.Lack{Asked: strings.HasPrefix(option, "no-new-privileges"),
			What: "the security option " + option})
	}
	if h := c.Health; h != nil && h.Port != 0 {
		all = append(all, containers.Lack{Asked: !spec.Listens || h.Port != spec.Port,
			What: fmt.Sprintf("a health check at port %d, which its node does not lead to", h.Port)})
	}
	return all
}

// describe makes the container of a service what the description of a unit says beside its image.
func (s *service) describe(made *engine.ServiceContainer) error {
	c := s.Spec.Container
	made.Command = c.Entrypoint
	if len(c.Entrypoint) == 1 && c.Entrypoint[0] == "" {
		made.Command, made.Args = made.Args, nil
	}
	made.User, made.Dir, made.Hostname, made.TTY = c.User, c.Dir, plain(c.Hostname), c.Terminal
	made.StopSignal, made.ReadOnly, made.Init = c.StopSignal, c.ReadOnly, &c.Init
	made.CapabilityAdd, made.CapabilityDrop, made.Sysctls = c.CapAdd, c.CapDrop, c.Sysctls
	made.Healthcheck = engine.HealthcheckOf(c.Health)
	for _, u := range c.Ulimits {
		made.Ulimits = append(made.Ulimits, engine.Ulimit(u))
	}
	for _, entry := range c.Hosts {
		name, address, _ := strings.Cut(entry, ":")
		made.Hosts = append(made.Hosts, address+" "+name)
	}
	mounts, err := containers.MountsInFolders(s.deployment.trial.Dir, s.Spec)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		mount := engine.Mount{Type: string(m.Kind), Source: plain(m.Source), Target: m.Target, ReadOnly: m.ReadOnly}
		switch m.Kind {
		case lab.MountVolume:
			mount = engine.FolderAt(m.Target, m.Source, m.ReadOnly)
		case lab.MountMemory:
			size, err := containers.SizeOf(m)
			if err != nil {
				return err
			}
			mount.TmpfsOptions = &engine.TmpfsOptions{SizeBytes: size}
		}
		made.Mounts = append(made.Mounts, mount)
	}
	return nil
}

// plain returns a text in which Swarm finds no template to carry out.
func plain(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// aliases returns the names by which others find a unit.
func aliases(spec lab.UnitSpec) []string {
	all := append([]string{spec.Name}, containers.Aliases(spec)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// awaitHealthy waits until the health check of the container says that it is healthy.
func (s *service) awaitHealthy(ctx context.Context) error {
	if check := s.Spec.Container.Health; check != nil && check.Port != 0 {
		return fleet.AwaitVisit(ctx, s.Unit, s.deployment.dialOf(s.Spec.Name), fleet.PortVisit(check))
	}
	if err := s.Engine.AwaitHealthy(ctx, s.Container, s.Ended); err != nil {
		return fmt.Errorf("%v %w%s", s, err, s.Log.LastWords())
	}
	return nil
}

// begun reports whether the container of a task runs, or has run, that the swarm takes for starting: one with
// a health check is that until it is healthy.
func (s *service) begun(ctx context.Context) bool {
	state, err := s.Engine.Inspect(ctx, s.Container)
	return err == nil && (state.Pid != 0 || state.Status == "exited")
}
