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
	Command []string // what it runs; of an image of the user's, what that is told
	Env     []string // "NAME=value", in the order of the names
	Token   string   // by which its unit knows the conductor
	Dir     string   // where it runs; empty: its image says that
	// Writes and Reads are folders of this host that it has at the same path; see Trial.Folders.
	Writes, Reads []string
	// ReadOnly containers cannot write to their root file system, and have a /tmp of their own.
	ReadOnly bool
	// Confined containers have no capabilities but these, and get no new privileges; others have what Docker
	// gives to every container.
	Confined     bool
	Capabilities []string
	User         *User // nil: its image says that
}

// User is a user of this host, by numbers.
type User struct{ UID, GID int }

// String returns "UID:GID"; of a nil User "".
func (u *User) String() string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", u.UID, u.GID)
}

// Describe returns what the container of a unit is made of, which waits for its conductor at the address
// control; "": it does not. Its Token must be in no description that others can read.
func (t Trial) Describe(spec lab.UnitSpec, control string) (c Container, err error) {
	c.ReadOnly = spec.Image == "" // nobody knows what an image of the user's needs
	switch {
	case Unprivileged(spec):
		uid, gid := ServerUser()
		c.Confined, c.User = true, &User{uid, gid}
	case spec.Foreign && spec.Image == "": // nor what a program of the user's does, which writes into its folder
		c.User = &User{os.Geteuid(), os.Getegid()}
	case spec.Image == "":
		c.Confined, c.Capabilities = true, []string{"DAC_OVERRIDE"}
	}
	c.Writes, c.Reads = t.Folders(spec)
	if spec.Foreign && spec.Image == "" {
		c.Dir = cmp.Or(spec.Dir, fleet.Volume(t.Dir, spec))
	}
	if c.Command, err = t.Command(spec); err == nil && t.Binds && spec.Image == "" {
		c.Command, err = bound(spec, c.Command)
	}
	if err != nil {
		return c, err
	}
	environment, token, err := t.Given(spec, control)
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		c.Env = append(c.Env, name+"="+environment[name])
	}
	c.Token = token
	return c, err
}

// bound has the command of a container begin on the processors of its unit: runtimes ask how many there are
// when they begin, and must find these alone.
func bound(spec lab.UnitSpec, command []string) ([]string, error) {
	processors, err := launch.Processors(spec.Cores)
	if err != nil || len(processors) == 0 {
		return command, err
	}
	binder, err := ProgramOf(lab.UnitSpec{
		Runnable: lab.Runnable{Program: "taskset", Install: lab.AptInstall("util-linux")},
	})
	if err != nil {
		return nil, fmt.Errorf("bind unit %s to the processors %v: %w", spec.Name, spec.Cores, err)
	}
	return append([]string{binder, "--cpu-list", launch.List(processors)}, command...), nil
}
