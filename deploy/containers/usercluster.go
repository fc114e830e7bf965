package containers

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// UserCluster describes a cluster that Cleave does not own. Its nodes run units as containers, and have
// nothing of this host; Cleave has no privileges on them.
type UserCluster struct {
	Name    string     // of the cluster
	Units   string     // the cluster's word for units, such as "pods"
	Ours    string     // completes "the private ..." for the cluster of this kind that Cleave makes
	Cores   string     // why no unit can ask for processors
	Nodes   []string   // names; none: they are not known
	NoNode  string     // completes "the cluster has ..." for a node that is missing
	Largest lab.Limits // of the largest node; 0: not known
	// Registry reports whether a registry is named, from which the nodes pull images.
	Registry bool
	// Cuts reports whether units, described ones too, can be cut off. Starters do the other faults.
	Cuts bool
}

// CheckLayout returns why a layout cannot be deployed on the cluster. programs is the folder of our unit
// programs, and starter the path of the starter. Images of described containers are not checked: the nodes
// pull them.
func (u UserCluster) CheckLayout(layout lab.Layout, programs, starter string) error {
	all := slices.Concat(layout.Prepare, layout.Units)
	isDescribed := func(spec lab.UnitSpec) bool { return spec.Container != nil }
	problems := []error{CheckServices(layout.Services, "process or docker-host"),
		CheckFolders(layout.Services, "the nodes of "+u.Name),
		CheckPrograms(programs, slices.DeleteFunc(slices.Clone(all), isDescribed)),
		checkStatic(starter)}
	if !u.Registry {
		problems = append(problems, fmt.Errorf("the nodes of %s need a registry for the images of units: name "+
			"one (--registry HOST/PATH)", u.Name))
	}
	if layout.SharedMemory > 0 {
		problems = append(problems, fmt.Errorf("the units share memory, which %s of %s cannot: deploy them in "+
			"another way", u.Units, u.Name))
	}
	users := map[string]string{} // of volumes
	for _, spec := range all {
		problems = append(problems, u.check(spec, users), u.checkLimits(spec))
	}
	return errors.Join(problems...)
}

// CheckServers returns why a server among units cannot run on the cluster. Layouts have none yet when
// CheckLayout checks them.
func (u UserCluster) CheckServers(units []lab.UnitSpec) error {
	var problems []error
	users := map[string]string{} // of volumes
	for _, spec := range units {
		if spec.Server != nil {
			problems = append(problems, u.check(spec, users))
		}
	}
	return errors.Join(problems...)
}

// forStarter returns the faults of a unit that a starter would have to do.
func (u UserCluster) forStarter(spec lab.UnitSpec) []lab.FaultKind {
	return slices.DeleteFunc(slices.Clone(spec.Faults),
		func(kind lab.FaultKind) bool { return u.Cuts && kind == lab.FaultCut })
}

// check returns why a unit cannot run on the cluster. users maps the volumes seen so far to their units.
func (u UserCluster) check(spec lab.UnitSpec, users map[string]string) error {
	refuse := func(format string, args ...any) error {
		return &lab.Incapable{Why: fmt.Sprintf("unit %s %s: deploy it in another way, or on the private %s",
			spec.Name, fmt.Sprintf(format, args...), u.Ours)}
	}
	if spec.Volume != "" {
		if users[spec.Volume] != "" {
			return refuse("shares the folder %s with %s, and %s of %s have no common folder", spec.Volume,
				users[spec.Volume], u.Units, u.Name)
		}
		users[spec.Volume] = spec.Name
	}
	if spec.Container != nil {
		if err := u.checkDescribed(spec, users); err != nil {
			return err
		}
	}
	switch {
	case spec.Compose != nil:
		return refuse("is a compose file")
	case spec.Server != nil && slices.ContainsFunc(spec.Server.Setup,
		func(s lab.ServerSetup) bool { return s.Visit != nil }):
		return refuse("is prepared by visits of a client, which would need its folder in %s of their own", u.Units)
	case spec.Leaves != "":
		return refuse("shall be profiled, and %s of %s have no folder to leave its profile in", u.Units, u.Name)
	case len(spec.Reads) > 0:
		return refuse("has folders of this host, which the nodes of %s do not have", u.Name)
	case len(spec.Mounts) > 0:
		return refuse("works with the folders %v of this host, which the nodes of %s do not have", spec.Mounts,
			u.Name)
	case spec.Reached == lab.ReachPublished:
		return refuse("shall be called at a port of its node, and those of %s are not ours to take", u.Name)
	case len(spec.Cores) > 0:
		return refuse("asks for the processors %v, and %s", spec.Cores, u.Cores)
	case slices.ContainsFunc(u.forStarter(spec), func(f lab.FaultKind) bool {
		return !slices.Contains(fleet.StarterFaults(), f)
	}):
		return refuse("shall have the faults %v, for some of which Cleave needs powers on the nodes of %s that "+
			"it does not have", u.forStarter(spec), u.Name)
	case spec.Node != "" && !u.mayHave(spec.Node):
		return fmt.Errorf("unit %s names the node %s, and %s has %s", spec.Name, spec.Node, u.Name, u.NoNode)
	}
	return nil
}

// mayHave reports whether the cluster has a node, or does not list its nodes.
func (u UserCluster) mayHave(node string) bool {
	return len(u.Nodes) == 0 || slices.Contains(u.Nodes, node)
}

// checkDescribed returns why a described container cannot run on the cluster's nodes. users maps the volumes
// seen so far to their units.
func (u UserCluster) checkDescribed(spec lab.UnitSpec, users map[string]string) error {
	refuse := func(format string, args ...any) error {
		return &lab.Incapable{Why: fmt.Sprintf("unit %s %s", spec.Name, fmt.Sprintf(format, args...))}
	}
	if faults := u.forStarter(spec); len(faults) > 0 {
		return refuse("shall have the faults %v, for which it would need a first process of Cleave's: on %s leave "+
			"them out, or use the private %s", faults, u.Name, u.Ours)
	}
	var problems []error
	for _, m := range spec.Container.Mounts {
		if m.Kind != lab.MountVolume || m.Source == "" {
			continue
		}
		const named = "volume " // keeps these apart from the folders of units, which have no space
		if other := users[named+m.Source]; other != "" {
			problems = append(problems, refuse("shares the volume %s with %s, and %s of %s have no common folder: "+
				"leave one of them out, or use the private %s", m.Source, other, u.Units, u.Name, u.Ours))
		}
		users[named+m.Source] = spec.Name
	}
	if _, err := CopyMounts(spec); err != nil {
		problems = append(problems, refuse("has files of this host that cannot come to the nodes of %s: %v: put "+
			"them into its image, or use the private %s", u.Name, err, u.Ours))
	}
	return errors.Join(problems...)
}

// checkLimits refuses limits that are larger than every node: they would limit nothing.
func (u UserCluster) checkLimits(spec lab.UnitSpec) error {
	switch {
	case u.Largest.CPU > 0 && spec.Limits.CPU > u.Largest.CPU:
		return fmt.Errorf("unit %s cannot be limited to %g processors: the largest node of %s has %g", spec.Name,
			spec.Limits.CPU, u.Name, u.Largest.CPU)
	case u.Largest.Memory > 0 && spec.Limits.Memory > u.Largest.Memory:
		return fmt.Errorf("unit %s cannot be limited to %d bytes: the largest node of %s has %d", spec.Name,
			spec.Limits.Memory, u.Name, u.Largest.Memory)
	}
	return nil
}
