package containers

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// Container describes the container of a unit beside its image, in the terms of no platform.
type Container struct {
	// ContainerSpec describes the container: as the unit does itself, or, for units of ours and programs of this
	// host, as Trial.Describe does. Trial also says where its volumes and files come from.
	lab.ContainerSpec
	Token string // by which its unit knows the conductor
}

// Run returns the command of the container, in the place of the image's, and its arguments.
func (c Container) Run() (command, args []string) {
	if len(c.Entrypoint) == 1 && c.Entrypoint[0] == "" {
		return c.Command, nil
	}
	return c.Entrypoint, c.Command
}

// Describe returns the description of a unit's container. control is the address at which the unit waits for
// its conductor; "" if it does not. The Token must be in no description that others can read.
func (t Trial) Describe(spec lab.UnitSpec, control string) (c Container, err error) {
	if spec.Container != nil {
		c.ContainerSpec = *spec.Container
		c.Mounts, err = t.describedMounts(spec)
		return c, err
	}
	c.ReadOnly = spec.Image == "" // nobody knows what an image of the user's needs
	switch {
	case Unprivileged(spec):
		uid, gid := serverUser()
		c.confine()
		c.User = user(uid, gid)
	case spec.Foreign && spec.Image == "": // nor what a program of the user's does, which writes into its folder
		c.User = user(os.Geteuid(), os.Getegid())
	case spec.Image == "":
		c.confine("DAC_OVERRIDE")
	}
	c.Mounts = t.mounts(spec)
	if spec.Foreign && spec.Image == "" {
		c.Dir = cmp.Or(spec.Dir, fleet.Volume(t.Dir, spec))
	}
	if spec.Image != "" {
		c.Command, err = t.Command(spec)
	} else if c.Entrypoint, err = t.Command(spec); err == nil && t.Binds {
		c.Entrypoint, err = bound(spec, c.Entrypoint)
	}
	if err != nil {
		return c, err
	}
	environment, token, err := t.visibleEnvironment(spec, control)
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		c.Env = append(c.Env, name+"="+environment[name])
	}
	c.Token = token
	return c, err
}

// confine takes all capabilities but these from a container, and forbids it to get new privileges.
func (c *Container) confine(capabilities ...string) {
	c.CapDrop, c.CapAdd, c.SecurityOpt = []string{"ALL"}, capabilities, []string{"no-new-privileges"}
}

func user(uid, gid int) string { return fmt.Sprintf("%d:%d", uid, gid) }

// mounts returns what the container of a unit has of this host, at the same paths: its volume, what it shares
// with others, and what it may only read. A container with a read-only root has a /tmp of its own.
func (t Trial) mounts(spec lab.UnitSpec) (all []lab.ContainerMount) {
	add := func(readOnly bool, paths ...string) {
		for _, path := range paths {
			all = append(all, lab.ContainerMount{Kind: lab.MountBind, Source: path, Target: path,
				ReadOnly: readOnly})
		}
	}
	add(false, fleet.Volume(t.Dir, spec))
	if t.Memory != "" {
		add(false, t.Memory)
	}
	add(false, spec.Mounts...)
	if spec.Image != "" {
		return all
	}
	switch {
	case spec.Foreign:
		add(true, append([]string{"/usr", "/etc"}, spec.Reads...)...)
	case len(spec.Cores) > 0: // a program of this host begins it: bound
		add(true, "/usr")
	}
	return append(all, lab.ContainerMount{Kind: lab.MountMemory, Target: "/tmp"})
}

// bound returns the command that starts a container's command on the processors of its unit: at their start
// runtimes ask how many processors there are, and must find these alone.
func bound(spec lab.UnitSpec, command []string) ([]string, error) {
	processors, err := launch.Processors(spec.Cores)
	if err != nil || len(processors) == 0 {
		return command, err
	}
	binder, err := programOf(lab.UnitSpec{
		Runnable: lab.Runnable{Program: "taskset", Install: lab.AptInstall("util-linux")},
	})
	if err != nil {
		return nil, fmt.Errorf("bind unit %s to the processors %v: %w", spec.Name, spec.Cores, err)
	}
	return append([]string{binder, "--cpu-list", launch.List(processors)}, command...), nil
}
