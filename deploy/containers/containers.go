// Package containers has what all deployers of containers share, whatever runs them:
// which units of a layout are containers, the image of a unit program, the programs of
// this host that a container can run, and what a container is told of its trial.
//
// It speaks to no daemon and no cluster.
//
// Entry points: Part, Trial.Describe, WriteImage.
package containers

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// Part splits a layout into what runs in containers, the servers apart, and the rest.
func Part(layout lab.Layout) (servers, containers []lab.UnitSpec, rest lab.Layout) {
	rest = layout
	rest.Units, rest.Prepare, rest.Links = nil, nil, nil // which are the nodes' of the containers
	for _, spec := range layout.Units {
		switch {
		case spec.Server != nil:
			servers = append(servers, spec)
		case spec.Program == "" || spec.Foreign:
			containers = append(containers, spec)
		default:
			rest.Units = append(rest.Units, spec)
		}
	}
	return servers, containers, rest
}

// Parts splits a layout into parts. If the nodes are not ours (isRemote), the conductor's programs run there,
// too, and start last.
func Parts(layout lab.Layout, isRemote bool) fleet.Parts {
	servers, contained, rest := Part(layout)
	p := fleet.Parts{Units: append(servers, contained...), Prepare: layout.Prepare, Rest: rest}
	if isRemote {
		p.Last, p.Rest.Units = rest.Units, nil
	}
	return p
}

// CheckBeside refuses nodes for units that are processes of this host beside containers: its
// networks of hosts do not lead to these.
func CheckBeside(rest lab.Layout) error {
	var problems []error
	for _, spec := range rest.Units {
		if spec.Node != "" {
			problems = append(problems, fmt.Errorf("unit %s is placed on %s, and runs on this host beside the "+
				"others here: leave it out of the nodes, or deploy with process",
				spec.Name, spec.Node))
		}
	}
	return errors.Join(problems...)
}

// CheckServices refuses services that units outside the network of this host cannot
// reach. than says which deployment can.
func CheckServices(services []lab.ServiceSpec, than string) error {
	var problems []error
	for _, spec := range services {
		if spec.Loopback {
			problems = append(problems, fmt.Errorf("the backing service %s (%s) listens on this host's loopback, "+
				"which units on a bridge network "+
				"or on nodes do not reach: deploy with %s, or use an embedded one", spec.Name, spec.Kind, than))
		}
	}
	return errors.Join(problems...)
}

// CheckFolders refuses services that are folders of this host, for places that do not have these.
func CheckFolders(services []lab.ServiceSpec, places string) error {
	var problems []error
	for _, spec := range services {
		if spec.Files {
			problems = append(problems, fmt.Errorf("the backing service %s (%s) is a folder of this host, which %s "+
				"do not have: choose a server (--backing), such as postgres or, for documents, mongo", spec.Name,
				spec.Kind, places))
		}
	}
	return errors.Join(problems...)
}

// nobody is a user of every Linux who owns nothing.
const nobody = 65534

// Unprivileged reports whether a unit is a program of this host that runs as serverUser, without any power of
// root: its container has this host's /etc. A command of the user's, which has a folder, writes there.
func Unprivileged(spec lab.UnitSpec) bool {
	return spec.Server != nil || spec.Foreign && spec.Image == "" && spec.Dir == ""
}

// serverUser returns the user of servers and other programs of this host in containers: ours, or nobody where
// that is root, which some of them refuse.
func serverUser() (uid, gid int) {
	if os.Geteuid() != 0 {
		return os.Geteuid(), os.Getegid()
	}
	return nobody, nobody
}

// giveTo lets serverUser have a volume. Nobody else gets in: the trial's
// folder above it stays ours.
func giveTo(volume string) error {
	uid, gid := serverUser()
	return filepath.WalkDir(volume, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, gid))
	})
}

// MakeVolume makes the folder that a unit gets, for whoever its container runs as.
func MakeVolume(dir string, spec lab.UnitSpec, endpoints map[string]lab.Endpoint) error {
	err := fleet.MakeVolume(dir, spec, endpoints)
	switch {
	case err != nil:
		return err
	case Unprivileged(spec):
		return giveTo(fleet.Volume(dir, spec))
	case spec.Container != nil:
		return writeMounts(dir, spec)
	case spec.Image != "": // that says it; the trial's folder above is ours
		return os.Chmod(fleet.Volume(dir, spec), 0o777)
	}
	return nil
}

// MakeMemory makes the memory that all units share, as a file of the trial's folder:
// containers inherit no descriptors. It returns its path, or "" where none is asked for.
func MakeMemory(dir string, size int64) (string, error) {
	if size == 0 {
		return "", nil
	}
	path := filepath.Join(dir, "memory")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("make shared memory: %w", err)
	}
	return path, errors.Join(file.Truncate(size), file.Close())
}

// Trial holds what the containers of a trial have in common.
type Trial struct {
	Label  string // of the conductor
	Dir    string // the trial's folder, which they see at the same path
	Memory string // see MakeMemory
	Binds  bool   // whether commands begin on their processors: the platform cannot be told them
	// VolumesInDir: volumes of descriptions are folders below Dir, which all nodes see alike, and a shared
	// memory of its own size is one more mount.
	VolumesInDir bool
	// Apart: the nodes see nothing of Dir. Volumes of descriptions are the containers' own, and files of this
	// host come as Bring returns them.
	Apart bool
	// Endpoints are the addresses as the containers see them.
	Endpoints map[string]lab.Endpoint
}

// Environment returns all that a unit gets.
func (t Trial) Environment(spec lab.UnitSpec) map[string]string {
	all := map[string]string{}
	if t.Memory != "" {
		all[lab.MemoryVariable] = t.Memory
	}
	maps.Copy(all, assigned(fleet.Environment(spec, t.Label, t.Dir, t.Endpoints)))
	return all
}

// assigned returns the values of variables by their names.
func assigned(environment []string) map[string]string {
	all := map[string]string{}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		all[name] = value
	}
	return all
}

// visibleEnvironment returns the environment that a container has itself. Of a foreign unit that is all; a
// unit of ours finds its own in a file of its volume, so that no description of the container shows it,
// but for what Go's runtime reads before the unit can. Where it waits for its conductor, at the
// address control, the file holds the token that is returned, too.
func (t Trial) visibleEnvironment(
	spec lab.UnitSpec, control string,
) (environment map[string]string, token string, err error) {
	all := t.Environment(spec)
	if spec.Foreign {
		return all, "", nil
	}
	volume, file := fleet.Volume(t.Dir, spec), spec.Name+".environment"
	environment = map[string]string{lab.EnvironmentVariable: filepath.Join(volume, file)}
	for _, name := range []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT"} {
		if value, set := all[name]; set {
			environment[name] = value
		}
	}
	if control != "" {
		token = rand.Text()
		all[lab.ControlVariable], all[lab.TokenVariable] = control, token
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, "", err
	}
	return environment, token, fleet.WriteToVolume(volume, file, text)
}

// Command returns what the container of a unit runs.
func (t Trial) Command(spec lab.UnitSpec) ([]string, error) {
	volume, command := fleet.Volume(t.Dir, spec), []string{programInImage}
	if !spec.Foreign {
		for _, argument := range spec.Args {
			command = append(command, strings.ReplaceAll(argument, "{dir}", volume))
		}
		return command, nil
	}
	switch {
	case spec.Image != "":
		command = nil // the image says what it is
	case spec.Program != "":
		var err error
		if command[0], err = programOf(spec); err != nil {
			return nil, err
		}
	}
	fill := fleet.Fill(spec, t.Dir, t.Endpoints)
	for _, argument := range spec.Args {
		command = append(command, fill.Replace(argument))
	}
	return command, nil
}
