package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// handedOverFolder is the name of the folder in the trial's folder for files that units hand over.
const handedOverFolder = "handed-over"

// HandedOver returns the path of the handedOverFolder in dir, the trial's folder.
func HandedOver(dir string) string { return filepath.Join(dir, handedOverFolder) }

// Volume returns the path of a unit's folder in dir, the trial's folder. Units may share one.
func Volume(dir string, spec lab.UnitSpec) string {
	return filepath.Join(dir, cmp.Or(spec.Volume, spec.Name))
}

// Placeholders returns a replacer of the placeholders in arguments and variables of a foreign unit: its
// folder and its own addresses.
func Placeholders(spec lab.UnitSpec, dir string, endpoints map[string]lab.Endpoint) *strings.Replacer {
	pairs := []string{"{dir}", Volume(dir, spec)}
	if host, port, err := net.SplitHostPort(endpoints[spec.Name].Bind); err == nil {
		pairs = append(pairs, "{host}", host, "{port}", port)
	}
	for _, name := range spec.Ports {
		_, port, _ := net.SplitHostPort(endpoints[lab.PortOf(spec.Name, name)].Bind) // it has an endpoint
		pairs = append(pairs, "{port:"+name+"}", port)
	}
	return strings.NewReplacer(pairs...)
}

// fillFile replaces the placeholders in a file of a foreign unit. These include the addresses of peers, which
// some programs read only from files. A placeholder of the unit's own takes precedence: {port:NAME} means its
// further port NAME, and a peer only if it has no such port.
func fillFile(text string, spec lab.UnitSpec, dir string, endpoints map[string]lab.Endpoint) string {
	var pairs []string
	for _, peer := range spec.Peers {
		pairs = append(pairs, lab.AddressOf(peer), endpoints[peer].Dial)
		if host, port, err := net.SplitHostPort(endpoints[peer].Dial); err == nil {
			pairs = append(pairs, "{host:"+peer+"}", host, "{port:"+peer+"}", port)
		}
	}
	text = Placeholders(spec, dir, endpoints).Replace(text)
	return strings.NewReplacer(pairs...).Replace(text)
}

// MakeVolume makes the folder of a unit if it does not exist, and writes the unit's files into the folder. A
// former life may have left links in it: MakeVolume follows none that lead out of the folder.
func MakeVolume(dir string, spec lab.UnitSpec, endpoints map[string]lab.Endpoint) error {
	path := Volume(dir, spec)
	if filepath.Dir(path) != dir || filepath.Base(path) == handedOverFolder {
		return fmt.Errorf("unit %s: %q cannot be the name of its folder", spec.Name, filepath.Base(path))
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the folder of unit %s: %w", spec.Name, err)
	}
	for name, data := range spec.Files {
		if spec.Foreign {
			data = []byte(fillFile(string(data), spec, dir, endpoints))
		}
		if err := WriteToVolume(path, name, data); err != nil {
			return fmt.Errorf("write a file of unit %s: %w", spec.Name, err)
		}
	}
	return nil
}

// WriteToVolume writes a file to a unit's folder, and makes the folders above the file. name is its path in
// the unit's folder; if it ends with a slash, WriteToVolume makes a folder instead. WriteToVolume fails if a
// link in the path leads out of the unit's folder.
func WriteToVolume(volume, name string, data []byte) error {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return err
	}
	if file, isFolder := strings.CutSuffix(name, "/"); isFolder {
		err = root.MkdirAll(file, 0o700)
	} else if err = root.MkdirAll(filepath.Dir(name), 0o700); err == nil {
		err = root.WriteFile(name, data, 0o600)
	}
	return errors.Join(err, root.Close())
}

// VolumeFiles returns copies of all files and folders in the folder of a unit, each with its path on this
// host.
func VolumeFiles(volume string) (all []lab.StarterFile, err error) {
	err = filepath.WalkDir(volume, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == volume {
			return err
		}
		file := lab.StarterFile{Path: path, Folder: entry.IsDir()}
		if !file.Folder {
			file.Data, err = os.ReadFile(path)
		}
		all = append(all, file)
		return err
	})
	return all, err
}

// withEnvironment returns copies of the units, with more variables for units that may record spans. A unit's
// own variable of the same name comes later and so takes precedence.
func withEnvironment(units []lab.UnitSpec, more []string) []lab.UnitSpec {
	if len(more) == 0 {
		return units
	}
	units = slices.Clone(units)
	for i, spec := range units {
		if !spec.IsUsersProgram() {
			continue
		}
		units[i].Env = slices.Concat(more, spec.Env)
		if spec.Container != nil {
			container := *spec.Container
			container.Env = slices.Concat(more, container.Env)
			units[i].Container = &container
		}
	}
	return units
}

// Environment returns the environment of a unit, as KEY=value. It has nothing of the conductor's own
// environment, which must not influence the system under test.
func Environment(spec lab.UnitSpec, label, dir string, endpoints map[string]lab.Endpoint) []string {
	environment := []string{"CLEAVE_RUN=" + label, "CLEAVE_UNIT=" + spec.Name, "CLEAVE_DIR=" + Volume(dir, spec)}
	if endpoint, listens := endpoints[spec.Name]; listens {
		environment = append(environment, "CLEAVE_ADDRESS="+endpoint.Bind)
	}
	var pairs []string
	for _, peer := range spec.Peers {
		variable := lab.PeerVariable(peer) + "="
		if !slices.ContainsFunc(spec.Env, func(own string) bool { return strings.HasPrefix(own, variable) }) {
			environment = append(environment, variable+endpoints[peer].Dial)
		}
		pairs = append(pairs, lab.AddressOf(peer), endpoints[peer].Dial)
	}
	peers := strings.NewReplacer(pairs...)
	own := strings.NewReplacer("{dir}", Volume(dir, spec))
	if spec.Foreign {
		own = Placeholders(spec, dir, endpoints)
	}
	for _, variable := range spec.Env {
		environment = append(environment, peers.Replace(own.Replace(variable)))
	}
	return environment
}
