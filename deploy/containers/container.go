package containers

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// Container describes the container of a unit, except its image, for any platform.
type Container struct {
	// ContainerSpec is that of a described unit (UnitSpec.Container), with its mounts resolved. For any other
	// unit Trial.Describe makes it.
	lab.ContainerSpec
	Token string // by which its unit authenticates the conductor
}

// Run returns the command that replaces the image's entrypoint, or none to keep that, and the arguments.
func (c Container) Run() (command, args []string) {
	if len(c.Entrypoint) == 1 && c.Entrypoint[0] == "" { // [""] clears the image's entrypoint in Docker
		return c.Command, nil
	}
	return c.Entrypoint, c.Command
}

// Describe returns the description of a unit's container. control is the address at which the unit waits for
// its conductor; "" if it does not. Callers must keep the Token out of descriptions that others can read.
func (t Trial) Describe(spec lab.UnitSpec, control string) (c Container, err error) {
	if spec.Container != nil {
		c.ContainerSpec = *spec.Container
		c.Mounts, err = t.describedMounts(spec)
		return c, err
	}
	c.ReadOnly = spec.Image == "" // a user's image may need to write anywhere
	switch {
	case Unprivileged(spec):
		uid, gid := serverUser()
		c.confine()
		c.User = user(uid, gid)
	case spec.Foreign && spec.Image == "": // a user's program keeps its capabilities, and writes into its folder
		c.User = user(os.Geteuid(), os.Getegid())
	case spec.Image == "": // a unit of ours runs as root
		c.confine("DAC_OVERRIDE") // without it root could not use the folders of a conductor that is not root
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

// confine drops all capabilities of a container except these, and denies it new privileges.
func (c *Container) confine(capabilities ...string) {
	c.CapDrop = []string{"ALL"}
	c.CapAdd = capabilities
	c.SecurityOpt = []string{"no-new-privileges"}
}

// user returns a user in the form that container engines read, such as "1000:1000".
func user(uid, gid int) string { return fmt.Sprintf("%d:%d", uid, gid) }

// mounts returns the mounts of a unit's container: folders of this host at the same paths, which are its
// volume, those that it shares with others and those that it may only read, and a /tmp in memory if its
// root is read-only.
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
	case len(spec.Cores) > 0: // for taskset, with which bound starts it if t.Binds is true
		add(true, "/usr")
	}
	return append(all, lab.ContainerMount{Kind: lab.MountMemory, Target: "/tmp"})
}

// bound returns a command that binds itself to the processors of a unit and then runs the given one. The
// binding must come first: runtimes count their processors once, at their start.
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

// Ports of a unit in a container that has an address of its own, so that all units may use the same ones.
const (
	ControlPort = 8080            // where the unit waits for its conductor
	StarterPort = ControlPort - 1 // where its starter, if it has one, waits for the conductor
	FirstPort   = ControlPort + 1 // of its endpoints
)

// PortsOf returns the ports of a unit's endpoints, in the order of lab.UnitSpec.Endpoints.
func PortsOf(spec lab.UnitSpec) (ports []int) {
	names := spec.Endpoints()
	for i, name := range names {
		port := FirstPort + i
		switch {
		case name == spec.Name && spec.Port != 0:
			port = spec.Port
		case port == spec.Port: // it is taken
			port = FirstPort + len(names)
		}
		ports = append(ports, port)
	}
	return ports
}

// AnyAddress returns the address to bind for listening on all interfaces of a container, whose own address is
// not known in advance.
func AnyAddress(port int) string { return net.JoinHostPort("0.0.0.0", strconv.Itoa(port)) }
