// Package containers has what all deployers of containers share, whatever runs them:
// which units of a layout are containers, the image of a unit program, the programs of
// this host that a container can run, and the environment of a container.
//
// It speaks to no daemon and no cluster.
//
// Entry points: Split, Trial.Describe, Archive.
package containers

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// Split splits a layout into units that run in containers (servers, and containers for the others) and the
// rest: the conductor's programs, which are processes of this host.
func Split(layout lab.Layout) (servers, containers []lab.UnitSpec, rest lab.Layout) {
	rest = layout
	rest.Units = nil
	// Preparations and links belong to the containers.
	rest.Prepare = nil
	rest.Links = nil
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

// Parts splits a layout for fleet. On nodes that are not ours (isRemote) the conductor's programs run in
// containers, too, and start last.
func Parts(layout lab.Layout, isRemote bool) fleet.Parts {
	servers, contained, rest := Split(layout)
	p := fleet.Parts{Units: append(servers, contained...), Prepare: layout.Prepare, Rest: rest}
	if isRemote {
		p.Last = rest.Units
		p.Rest.Units = nil
	}
	return p
}

// CheckBeside refuses to place units of rest on a node. They are processes of this host, and a node for
// processes is a network namespace from which containers cannot be reached.
func CheckBeside(rest lab.Layout) error {
	var problems []error
	for _, spec := range rest.Units {
		if spec.Node != "" {
			problems = append(problems, fmt.Errorf("unit %s is placed on %s, and runs on this host beside the "+
				"others here: leave it out of the nodes, or deploy with process", spec.Name, spec.Node))
		}
	}
	return errors.Join(problems...)
}

// CheckServices refuses services that units outside the network of this host cannot reach. able names the
// deployments whose units can reach them.
func CheckServices(services []lab.ServiceSpec, able string) error {
	var problems []error
	for _, spec := range services {
		if spec.Loopback {
			problems = append(problems, fmt.Errorf("the backing service %s (%s) listens on this host's loopback, "+
				"which units on a bridge network or on nodes do not reach: deploy with %s, or use an embedded "+
				"one", spec.Name, spec.Kind, able))
		}
	}
	return errors.Join(problems...)
}

// CheckFolders refuses services that are folders of this host; places names the nodes that lack these
// folders.
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

// Nobody is the ID of a user and group that every Linux has and that owns nothing.
const Nobody = 65534

// Unprivileged reports whether a unit is a program of this host that runs as serverUser without capabilities.
// Its container mounts this host's /etc, whose secrets it must not read. A user's command, which has a folder
// (spec.Dir), runs as the conductor's user instead, so that it can write to that folder.
func Unprivileged(spec lab.UnitSpec) bool {
	if spec.Server != nil {
		return true
	}
	isUsers := spec.Image != "" || spec.Dir != ""
	return spec.Foreign && !isUsers
}

// serverUser returns the user of servers and other programs of this host in containers. It is the conductor's
// user, or Nobody if the conductor is root: some servers refuse to run as root.
func serverUser() (uid, gid int) {
	if os.Geteuid() != 0 {
		return os.Geteuid(), os.Getegid()
	}
	return Nobody, Nobody
}

// chownToServer makes serverUser the owner of a volume. Other users cannot reach the volume, because the
// trial's folder above it stays ours.
func chownToServer(volume string) error {
	uid, gid := serverUser()
	return filepath.WalkDir(volume, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, gid))
	})
}

// MakeVolume makes the folder of a unit, and gives the user of its container access. endpoints replace the
// placeholders in the unit's files.
func MakeVolume(dir string, spec lab.UnitSpec, endpoints map[string]lab.Endpoint) error {
	err := fleet.MakeVolume(dir, spec, endpoints)
	switch {
	case err != nil:
		return err
	case Unprivileged(spec):
		return chownToServer(fleet.Volume(dir, spec))
	case spec.Container != nil:
		return writeMounts(dir, spec)
	case spec.Image != "": // the image chooses the user; the trial's folder above keeps others out
		return os.Chmod(fleet.Volume(dir, spec), 0o777)
	}
	return nil
}

// MakeMemory makes the memory that all units share, and returns its path; "" if size is 0. The memory is a
// file in the trial's folder, because containers inherit no descriptors.
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
	Label  string // of the conductor; CLEAVE_RUN of the units
	Dir    string // the trial's folder; containers see their parts of it at the same path
	Memory string // see MakeMemory
	Binds  bool   // commands bind themselves to their processors, because the platform cannot
	// VolumesInDir: all nodes see Dir, and volumes of described units (UnitSpec.Container) are folders in it.
	VolumesInDir bool
	// Apart: the nodes see nothing of Dir. Volumes of described units are the containers' own, and CopyMounts
	// copies files of this host.
	Apart bool
	// Endpoints are the addresses as the containers see them.
	Endpoints map[string]lab.Endpoint
}

// Environment returns the complete environment of a unit, values by name.
func (t Trial) Environment(spec lab.UnitSpec) map[string]string {
	all := map[string]string{}
	if t.Memory != "" {
		all[lab.MemoryVariable] = t.Memory
	}
	for _, variable := range fleet.Environment(spec, t.Label, t.Dir, t.Endpoints) {
		name, value, _ := strings.Cut(variable, "=")
		all[name] = value
	}
	return all
}

// visibleEnvironment returns the environment in the description of a container. A foreign unit has its whole
// environment there. A unit of ours reads its environment from a file in its volume, so that no description
// shows it. Only the file's path and the variables that Go's runtime reads at its start are visible.
//
// control is the address at which a unit of ours waits for its conductor; "" if it does not. If it waits,
// visibleEnvironment makes the token, adds it to the file and returns it.
func (t Trial) visibleEnvironment(
	spec lab.UnitSpec, control string,
) (environment map[string]string, token string, err error) {
	all := t.Environment(spec)
	if spec.Foreign {
		return all, "", nil
	}
	volume := fleet.Volume(t.Dir, spec)
	file := spec.Name + ".environment"
	environment = map[string]string{lab.EnvironmentVariable: filepath.Join(volume, file)}
	for _, name := range []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT"} {
		if value, set := all[name]; set {
			environment[name] = value
		}
	}
	if control != "" {
		token = rand.Text()
		all[lab.ControlVariable] = control
		all[lab.TokenVariable] = token
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, "", err
	}
	return environment, token, fleet.WriteToVolume(volume, file, text)
}

// Command returns the command line of a unit's container. For a unit of an image it is only the arguments of
// the image's entrypoint; without any, the image's own are used. A foreign unit with neither image nor
// program runs our unit program.
func (t Trial) Command(spec lab.UnitSpec) ([]string, error) {
	volume := fleet.Volume(t.Dir, spec)
	command := []string{programInImage}
	if !spec.Foreign {
		for _, argument := range spec.Args {
			command = append(command, strings.ReplaceAll(argument, "{dir}", volume))
		}
		return command, nil
	}
	switch {
	case spec.Image != "":
		command = nil // the image has an entrypoint
	case spec.Program != "":
		var err error
		if command[0], err = programOf(spec); err != nil {
			return nil, err
		}
	}
	fill := fleet.Placeholders(spec, t.Dir, t.Endpoints)
	for _, argument := range spec.Args {
		command = append(command, fill.Replace(argument))
	}
	return command, nil
}

// Daemons returns the processes of Docker on this host, with those that serve containers of others: the usage
// of a daemon cannot be divided by container. The second value, the reason why there are none, is always "".
func Daemons() ([]lab.Unit, string) {
	// With this span, PID only names a host: the unit is all these programs on the host of that process.
	programs := lab.SpanPrograms("dockerd", "containerd", "containerd-shim", "docker-proxy", "runc")
	return []lab.Unit{{Name: "Docker", Role: "Docker", PID: os.Getpid(), Span: programs}}, ""
}
