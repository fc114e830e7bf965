package containers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/cleave-lab/cleave/inputfile"
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
// fails if they are too many or too large, as soon as that is known: a mount could be a whole file system.
func CopyMounts(spec lab.UnitSpec) (all []FileCopy, err error) {
	size, files := 0, 0
	add := func(one FileCopy) error {
		if !one.Folder {
			size, files = size+len(one.Data), files+1
		}
		if size > maxCopied || files > maxCopiedFiles {
			return fmt.Errorf("at most %d files with %d KiB in all are brought to nodes", maxCopiedFiles,
				maxCopied>>10)
		}
		all = append(all, one)
		return nil
	}
	for _, m := range spec.Container.Mounts {
		switch {
		case m.Kind == lab.MountFiles && m.Source != "":
			err = add(FileCopy{Path: m.Target, Executable: m.Executable, Data: []byte(m.Files[m.Source])})
		case m.Kind == lab.MountFiles:
			err = add(FileCopy{Path: m.Target, Folder: true})
			for _, name := range slices.Sorted(maps.Keys(m.Files)) {
				if err == nil {
					err = add(FileCopy{Path: path.Join(m.Target, name), Executable: m.Executable,
						Data: []byte(m.Files[name])})
				}
			}
		case m.Kind == lab.MountBind:
			err = readMount(m, add)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readMount calls add with copies of the files and folders in a mount, until add fails.
func readMount(m lab.ContainerMount, add func(FileCopy) error) error {
	source, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return err
	}
	return filepath.WalkDir(source, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(source, at)
		if err != nil {
			return err
		}
		one := FileCopy{Path: path.Join(m.Target, filepath.ToSlash(below)), Folder: entry.IsDir()}
		if one.Folder {
			return add(one)
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", at)
		}
		one.Executable = info.Mode()&0o100 != 0
		if one.Data, err = inputfile.Read(at, maxCopied); err != nil {
			return err
		}
		return add(one)
	})
}

// Packed returns the orders of a starter as JSON, compressed by gzip. It fails if that has more than most
// bytes, the size of the largest secret.
func Packed(orders lab.StarterOrders, most int) ([]byte, error) {
	var into bytes.Buffer
	writer := gzip.NewWriter(&into)
	err := json.NewEncoder(writer).Encode(orders)
	err = errors.Join(err, writer.Close())
	if err == nil && into.Len() > most {
		err = fmt.Errorf("its files have %d bytes when they are compressed, and a secret holds %d: "+
			"give it less to begin with, such as fewer operations", into.Len(), most)
	}
	return into.Bytes(), err
}
