package swarm

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
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

// described returns what the container of the service is made of. Nothing secret is in it: it can be
// read by whoever may ask the swarm.
func (s *service) described() (made engine.ServiceContainer, err error) {
	d, spec := s.deployment, s.Spec
	control := ""
	if !s.Prepares {
		control = net.JoinHostPort("0.0.0.0", strconv.Itoa(d.ports[spec.Name].inside[0]))
	}
	is, err := d.trialOf(spec).Describe(spec, control)
	if err != nil {
		return made, err
	}
	s.token = is.Token
	made = engine.ServiceContainer{
		Image: d.images[d.deployer.contentOf(spec)], Labels: d.deployer.labels(),
		StopGracePeriod: engine.StopGrace, StopSignal: is.StopSignal, Init: &is.Init,
		Dir: is.Dir, User: is.User, Hostname: plain(is.Hostname), TTY: is.Terminal, ReadOnly: is.ReadOnly,
		CapabilityAdd: is.CapAdd, CapabilityDrop: is.CapDrop, Sysctls: is.Sysctls,
		Healthcheck: engine.HealthcheckOf(is.Health),
		// A name that the node does not know yet is asked for outside, where nobody answers: by default for 5 s.
		DNSConfig: engine.DNSConfig{Options: []string{"timeout:1", "attempts:1"}},
	}
	made.Command, made.Args = is.Run()
	for _, variable := range is.Env {
		made.Env = append(made.Env, plain(variable))
	}
	for _, u := range is.Ulimits {
		made.Ulimits = append(made.Ulimits, engine.Ulimit(u))
	}
	for _, entry := range is.Hosts {
		name, address, _ := strings.Cut(entry, ":")
		made.Hosts = append(made.Hosts, address+" "+name)
	}
	made.Mounts, err = mounts(is.Mounts)
	return made, err
}

// mounts returns mounts in the words of Swarm.
func mounts(of []lab.ContainerMount) (all []engine.Mount, err error) {
	for _, m := range of {
		mount := engine.Mount{Type: string(m.Kind), Source: plain(m.Source), Target: m.Target, ReadOnly: m.ReadOnly}
		switch m.Kind {
		case lab.MountVolume:
			mount = engine.FolderAt(m.Target, m.Source, m.ReadOnly)
		case lab.MountMemory:
			size, err := containers.SizeOf(m)
			if err != nil {
				return nil, err
			}
			mount.TmpfsOptions = &engine.TmpfsOptions{SizeBytes: size}
		}
		all = append(all, mount)
	}
	return all, nil
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
