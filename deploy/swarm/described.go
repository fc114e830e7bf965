package swarm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/lab"
)

// lacks returns the options of a described container that a service of a swarm cannot have.
func lacks(spec lab.UnitSpec) (all []containers.Lack) {
	c := spec.Container
	for _, option := range c.SecurityOpt { // containers.CheckDescribed itself refuses the others
		all = append(all, containers.Lack{Asked: containers.DeniesPrivileges(option),
			What: "the security option " + option})
	}
	if h := c.Health; h != nil && h.Port != 0 {
		all = append(all, containers.Lack{Asked: !spec.Listens || h.Port != spec.Port,
			What: fmt.Sprintf("a health check at port %d, which its node does not publish", h.Port)})
	}
	return all
}

// escape returns a text that Swarm takes as it is: Swarm would evaluate templates in it.
func escape(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// aliases returns the names by which other units find a unit in their network.
func aliases(spec lab.UnitSpec) []string {
	all := append([]string{spec.Name}, containers.Aliases(spec)...)
	for i := range all {
		all[i] = escape(all[i])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stopGrace is the time between SIGTERM and SIGKILL for proxies, our own units and servers on a swarm of the
// user's. Only the removal of their service ends them, and they have nothing to clean up.
const stopGrace = time.Second

// container converts the container of a unit to the form that Swarm takes.
func (d *deployment) container(
	spec lab.UnitSpec, wanted containers.Container,
) (made engine.ServiceContainer, err error) {
	made = engine.ServiceContainer{
		Image: d.deployer.images.Of(spec), Labels: d.deployer.labels(),
		StopGracePeriod: engine.StopGrace, StopSignal: wanted.StopSignal, Init: &wanted.Init,
		Dir: wanted.Dir, User: wanted.User, Hostname: escape(wanted.Hostname), TTY: wanted.Terminal,
		ReadOnly:      wanted.ReadOnly,
		CapabilityAdd: wanted.CapAdd, CapabilityDrop: wanted.CapDrop, Sysctls: wanted.Sysctls,
		Healthcheck: engine.HealthcheckOf(wanted.Health),
		// Docker asks an outside server, which may not answer, for names that the node does not know yet. The
		// resolver would wait for it for 5 s by default.
		DNSConfig: engine.DNSConfig{Options: []string{"timeout:1", "attempts:1"}},
	}
	if d.deployer.images.IsRemote && !spec.IsUsersProgram() { // it has nothing to clean up
		made.StopGracePeriod = stopGrace
	}
	made.Command, made.Args = wanted.Run()
	for _, variable := range wanted.Env {
		made.Env = append(made.Env, escape(variable))
	}
	for _, u := range wanted.Ulimits {
		made.Ulimits = append(made.Ulimits, engine.Ulimit(u))
	}
	for _, entry := range wanted.Hosts {
		name, address, _ := strings.Cut(entry, ":")
		made.Hosts = append(made.Hosts, address+" "+name)
	}
	for _, m := range wanted.Mounts {
		mount := engine.Mount{Type: string(m.Kind), Source: escape(m.Source),
			Target: escape(m.Target), ReadOnly: m.ReadOnly}
		switch {
		case m.Kind == lab.MountVolume && m.Source != "": // without a source Docker makes a volume for the service
			mount = engine.FolderAt(mount.Target, mount.Source, m.ReadOnly)
		case m.Kind == lab.MountMemory:
			size, err := containers.SizeOf(m)
			if err != nil {
				return made, err
			}
			mount.TmpfsOptions = &engine.TmpfsOptions{SizeBytes: size}
		}
		made.Mounts = append(made.Mounts, mount)
	}
	return made, nil
}
