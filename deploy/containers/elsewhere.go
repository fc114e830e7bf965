package containers

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// Elsewhere is a place of the user's in which units run as containers, with nothing of this
// host and without powers on its nodes.
type Elsewhere struct {
	Name    string     // of the place
	Units   string     // what units are there, such as "pods"
	Ours    string     // the place that Cleave makes itself, such as "cluster"
	Cores   string     // why no unit can ask for processors
	Nodes   []string   // by name; none: they are not known
	NoNode  string     // what a place has that has no node of a name
	Largest lab.Limits // most that any node has; 0: not known
	// Registry reports whether a registry is named, from which the nodes pull images.
	Registry bool
}

// CheckLayout returns why a layout cannot be deployed there; programs is the folder of our unit programs, and
// starter the program of that name. Images of described containers are not looked at: the nodes pull them.
func (e Elsewhere) CheckLayout(layout lab.Layout, programs, starter string) error {
	all := slices.Concat(layout.Prepare, layout.Units)
	pulled := func(spec lab.UnitSpec) bool { return spec.Container != nil }
	problems := []error{CheckServices(layout.Services, "process or docker-host"),
		CheckFolders(layout.Services, "the nodes of "+e.Name),
		CheckPrograms(programs, slices.DeleteFunc(slices.Clone(all), pulled)),
		CheckStatic(starter)}
	if !e.Registry {
		problems = append(problems, fmt.Errorf("the nodes of %s need a registry for the images of units: name "+
			"one (--registry HOST/PATH)", e.Name))
	}
	if layout.SharedMemory > 0 {
		problems = append(problems, fmt.Errorf("the units share memory, which %s of %s cannot: deploy them in "+
			"another way", e.Units, e.Name))
	}
	users := map[string]string{} // of volumes
	for _, spec := range all {
		problems = append(problems, e.Check(spec, users), e.checkLimits(spec))
	}
	return errors.Join(problems...)
}

// Check refuses a unit that cannot be there. users are those of volumes by now.
func (e Elsewhere) Check(spec lab.UnitSpec, users map[string]string) error {
	refuse := func(format string, args ...any) error {
		return &lab.Incapable{Why: fmt.Sprintf("unit %s %s: deploy it in another way, or on the private %s",
			spec.Name, fmt.Sprintf(format, args...), e.Ours)}
	}
	if spec.Volume != "" {
		if users[spec.Volume] != "" {
			return refuse("shares the folder %s with %s, and %s of %s have no common folder", spec.Volume,
				users[spec.Volume], e.Units, e.Name)
		}
		users[spec.Volume] = spec.Name
	}
	if spec.Container != nil {
		if err := e.checkDescribed(spec, users); err != nil {
			return err
		}
	}
	switch {
	case spec.Compose != nil:
		return refuse("is a compose file")
	case spec.Server != nil && slices.ContainsFunc(spec.Server.Setup,
		func(s lab.ServerSetup) bool { return s.Visit != nil }):
		return refuse("is prepared by visits of a client, which would need its folder in %s of their own", e.Units)
	case spec.Leaves != "":
		return refuse("shall be profiled, and %s of %s have no folder to leave its profile in", e.Units, e.Name)
	case len(spec.Reads) > 0:
		return refuse("has folders of this host, which the nodes of %s do not have", e.Name)
	case len(spec.Mounts) > 0:
		return refuse("works with the folders %v of this host, which the nodes of %s do not have", spec.Mounts,
			e.Name)
	case spec.Reached == lab.ReachPublished:
		return refuse("shall be called at a port of its node, and those of %s are not ours to take", e.Name)
	case len(spec.Cores) > 0:
		return refuse("asks for the processors %v, and %s", spec.Cores, e.Cores)
	case slices.ContainsFunc(spec.Faults, func(f lab.FaultKind) bool {
		return !slices.Contains(fleet.StarterFaults(), f)
	}):
		return refuse("shall have the faults %v, for some of which Cleave needs powers on the nodes of %s that "+
			"it does not have", spec.Faults, e.Name)
	case spec.Node != "" && len(e.Nodes) > 0 && !slices.Contains(e.Nodes, spec.Node):
		return fmt.Errorf("unit %s names the node %s, and %s has %s", spec.Name, spec.Node, e.Name, e.NoNode)
	}
	return nil
}

// checkLimits refuses limits that would not bite, since no node has that much.
func (e Elsewhere) checkLimits(spec lab.UnitSpec) error {
	switch {
	case e.Largest.CPU > 0 && spec.Limits.CPU > e.Largest.CPU:
		return fmt.Errorf("unit %s cannot be limited to %g processors: the largest node of %s has %g", spec.Name,
			spec.Limits.CPU, e.Name, e.Largest.CPU)
	case e.Largest.Memory > 0 && spec.Limits.Memory > e.Largest.Memory:
		return fmt.Errorf("unit %s cannot be limited to %d bytes: the largest node of %s has %d", spec.Name,
			spec.Limits.Memory, e.Name, e.Largest.Memory)
	}
	return nil
}
