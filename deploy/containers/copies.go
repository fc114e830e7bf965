package containers

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// FileCopy is a copy of a file or a folder of this host for a container on a node of a user's cluster.
type FileCopy struct {
	Path       string // in the container
	Folder     bool   // it is a folder; its files are copies of their own
	Executable bool
	Data       []byte
}

// Limits of what is copied to nodes for a container. In a swarm each file is a secret, of a little less than
// 500 KiB at most. In Kubernetes all files are in one secret, of 1 MiB at most.
const (
	maxCopied      = 480 << 10 // bytes of all files
	maxCopiedFiles = 64
)

// CopyMounts returns copies of the files and folders of this host that a described container mounts. It
// fails if they are too many or too large.
func CopyMounts(spec lab.UnitSpec) ([]FileCopy, error) {
	var all []FileCopy
	for _, m := range spec.Container.Mounts {
		switch {
		case m.Kind == lab.MountFiles && m.Source != "":
			all = append(all, FileCopy{Path: m.Target, Executable: m.Executable, Data: []byte(m.Files[m.Source])})
		case m.Kind == lab.MountFiles:
			all = append(all, FileCopy{Path: m.Target, Folder: true})
			for _, name := range slices.Sorted(maps.Keys(m.Files)) {
				all = append(all, FileCopy{Path: path.Join(m.Target, name), Executable: m.Executable,
					Data: []byte(m.Files[name])})
			}
		case m.Kind == lab.MountBind:
			found, err := readMount(m)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	size, files := 0, 0
	for _, one := range all {
		if !one.Folder {
			size, files = size+len(one.Data), files+1
		}
	}
	if size > maxCopied || files > maxCopiedFiles {
		return nil, errTooMuch
	}
	return all, nil
}

// readMount returns copies of the files and folders in a mount. It stops at the limits: the mount could be a
// whole file system.
func readMount(m lab.ContainerMount) (all []FileCopy, err error) {
	source, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return nil, err
	}
	size, files := int64(0), 0
	err = filepath.WalkDir(source, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(source, at)
		if err != nil {
			return err
		}
		one := FileCopy{Path: path.Join(m.Target, filepath.ToSlash(below)), Folder: entry.IsDir()}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case !one.Folder && !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", at)
		case !one.Folder:
			size, files = size+info.Size(), files+1
			if size > maxCopied || files > maxCopiedFiles {
				return errTooMuch
			}
			one.Executable = info.Mode()&0o100 != 0
			one.Data, err = os.ReadFile(at)
		}
		all = append(all, one)
		return err
	})
	return all, err
}

// errTooMuch is the error for mounts with more than maxCopied bytes or maxCopiedFiles files.
var errTooMuch = fmt.Errorf("at most %d files with %d KiB in all are brought to nodes", maxCopiedFiles,
	maxCopied>>10)
