package containers

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// Aliases returns the names by which others find a described unit, one with a Container. Replicas of a unit
// have the same names.
func Aliases(spec lab.UnitSpec) []string {
	if spec.Container == nil {
		return nil
	}
	return append([]string{cmp.Or(spec.Group, spec.Name)}, spec.Container.Names...)
}

// Lack is something that a platform cannot give to a container.
type Lack struct {
	Asked bool   // whether the container asks for it
	What  string // completes "unit web has ..."
}

// CheckDescribed returns an error that lists, for each described unit, what its container asks for and the
// platform cannot give it. lacks returns what the platform lacks.
func CheckDescribed(platform string, units []lab.UnitSpec, lacks func(lab.UnitSpec) []Lack) error {
	var problems []error
	for _, spec := range units {
		if spec.Container == nil {
			continue
		}
		var asked []string
		for _, lack := range append(lacks(spec), lackedAlways(spec)...) {
			if lack.Asked {
				asked = append(asked, lack.What)
			}
		}
		if len(asked) > 0 {
			problems = append(problems, &lab.Incapable{Why: fmt.Sprintf("unit %s has %s, which %s cannot give it: "+
				"leave that out, or deploy with docker-bridge", spec.Name, strings.Join(asked, ", "), platform)})
		}
	}
	return errors.Join(problems...)
}

// CheckPorts refuses described units that are called at other ports than they listen on.
func CheckPorts(units []lab.UnitSpec) error {
	var problems []error
	for _, spec := range units {
		if spec.Container == nil {
			continue
		}
		for _, port := range spec.Container.Ports {
			if port.Port != port.Target {
				problems = append(problems, &lab.Incapable{Why: fmt.Sprintf("unit %s is called at port %d, and listens "+
					"on %d, to which nothing leads here: deploy with docker-bridge, kubernetes or the private swarm, or "+
					"give its Service the port that it listens on", spec.Name, port.Port, port.Target)})
			}
		}
	}
	return errors.Join(problems...)
}

// lackedAlways returns what no cluster, private or the user's, can give to a container.
func lackedAlways(spec lab.UnitSpec) (lacks []Lack) {
	c := spec.Container
	lacks = []Lack{{c.Privileged, "privileged"}, {c.HostPID, "the processes of this host (pid: host)"}}
	for _, option := range c.SecurityOpt {
		if DeniesPrivileges(option) {
			continue
		}
		lacks = append(lacks, Lack{true, "the security option " + option})
	}
	for _, m := range c.Mounts {
		if _, err := SizeOf(m); err != nil {
			lacks = append(lacks, Lack{true, fmt.Sprintf("a file system in memory with the options %q", m.Options)})
		}
		if m.Kind == lab.MountBind && differsOnNodes(filepath.Clean(m.Source)) {
			lacks = append(lacks, Lack{true, m.Source + " of this host"})
		}
	}
	return lacks
}

// DeniesPrivileges reports whether a security option denies a container new privileges. Pods may have
// no other option, and services of a swarm have none.
func DeniesPrivileges(option string) bool {
	return strings.HasPrefix(option, "no-new-privileges") && !strings.HasSuffix(option, "false")
}

// differsOnNodes reports whether a path of this host is in, or holds, a folder in whose place a node can have
// its own.
func differsOnNodes(path string) bool {
	return slices.ContainsFunc([]string{"/run", "/var/run", "/var/lib", "/var/log", "/proc", "/sys", "/dev"},
		func(folder string) bool { return isWithin(path, folder) || isWithin(folder, path) })
}

// isWithin reports whether a clean path is a folder or below it.
func isWithin(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// SizeOf returns the size of a file system in memory, in bytes; 0 if the mount gives none. It is an error
// if the mount has other options.
func SizeOf(m lab.ContainerMount) (int64, error) {
	if m.Kind != lab.MountMemory || m.Options == "" {
		return 0, nil
	}
	size, isSize := strings.CutPrefix(m.Options, "size=")
	if !isSize {
		return 0, fmt.Errorf("%q is no size", m.Options)
	}
	if strings.ContainsAny(size, "kmgKMG") {
		size += "ib" // to the kernel 1k are 1024
	}
	bytes, err := humanize.ParseBytes(size)
	return int64(bytes), err
}

// pathOfFiles returns the path on this host of the folder, or the single file, that writeMounts writes for a
// mount with files. mount is its index.
func pathOfFiles(dir string, spec lab.UnitSpec, mount int) string {
	folder := filepath.Join(fleet.Volume(dir, spec), "mount-"+strconv.Itoa(mount))
	return filepath.Join(folder, spec.Container.Mounts[mount].Source)
}

// describedMounts returns the mounts of a described container. Files that the spec contains become files of
// this host; on nodes apart they are left out, as are mounts of this host's folders, since CopyMounts copies
// them. It makes the folders of volumes.
func (t Trial) describedMounts(spec lab.UnitSpec) (all []lab.ContainerMount, err error) {
	for i, m := range spec.Container.Mounts {
		isCopied := m.Kind == lab.MountFiles || m.Kind == lab.MountBind
		switch {
		case t.Apart && isCopied:
			continue
		case t.Apart && m.Kind == lab.MountVolume:
			m.Source = ""
		case m.Kind == lab.MountFiles:
			m = lab.ContainerMount{Kind: lab.MountBind, Source: pathOfFiles(t.Dir, spec, i), Target: m.Target,
				ReadOnly: true}
		case m.Kind == lab.MountLeaves:
			m = lab.ContainerMount{Kind: lab.MountBind, Target: m.Target,
				Source: filepath.Join(fleet.Volume(t.Dir, spec), spec.Leaves)}
			err = makeFolder(m.Source)
		case m.Kind == lab.MountVolume && t.VolumesInDir:
			// No unit has a "+" in its name, so no unit's folder is in the way.
			m.Source = filepath.Join(t.Dir, "volumes+", cmp.Or(m.Source, spec.Name+"+"+strconv.Itoa(i)))
			err = makeFolder(m.Source)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	isOnCluster := t.VolumesInDir || t.Apart // clusters have no option for the size of /dev/shm
	if size := spec.Container.ShmSize; size > 0 && isOnCluster {
		all = append(all, lab.ContainerMount{Kind: lab.MountMemory, Target: "/dev/shm",
			Options: fmt.Sprintf("size=%d", size)})
	}
	return all, nil
}

// makeFolder makes the folder of a volume, unless it is there. Everybody may write to it, because the image
// chooses the user of its processes.
func makeFolder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, os.Chmod(path, 0o777))
}

// writeMounts writes the files that mounts contain to a unit's folder, for everybody to read: the image
// chooses the user of its processes.
func writeMounts(dir string, spec lab.UnitSpec) error {
	dir = fleet.Volume(dir, spec)
	for i, m := range spec.Container.Mounts {
		mode := fs.FileMode(0o644)
		if m.Executable {
			mode = 0o755
		}
		folder := "mount-" + strconv.Itoa(i)
		if m.Kind == lab.MountFiles && len(m.Files) == 0 {
			if err := makeFolder(filepath.Join(dir, folder)); err != nil {
				return fmt.Errorf("make a folder of unit %s: %w", spec.Name, err)
			}
		}
		for name, text := range m.Files {
			path := filepath.Join(dir, folder, name)
			err := fleet.WriteToVolume(dir, filepath.Join(folder, name), []byte(text))
			if err == nil {
				err = errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chmod(path, mode))
			}
			if err != nil {
				return fmt.Errorf("write a file of unit %s: %w", spec.Name, err)
			}
		}
	}
	return nil
}
