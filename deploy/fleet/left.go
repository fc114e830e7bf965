package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// EndForeign implements lab.Deployment.
func (f *Fleet[L]) EndForeign(ctx context.Context) error {
	f.expectEnds()
	units := slices.DeleteFunc(f.All(), func(life L) bool {
		spec := life.unit().Spec
		return !spec.Foreign || spec.Server != nil
	})
	var problems []error
	for _, life := range units {
		if f.Doom(life.unit()) == nil { // otherwise it has ended, and its end was judged
			problems = append(problems, life.End(ctx))
		}
	}
	for _, life := range units {
		problems = append(problems, life.unit().AwaitEnd(ctx))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for _, life := range units {
		spec := life.unit().Spec
		if spec.Leaves == "" {
			continue
		}
		if err := f.takeLeft(spec, f.Volume(spec)); err != nil {
			return fmt.Errorf("take what unit %s has left: %w", spec.Name, err)
		}
	}
	return nil
}

// takeLeft moves the regular files that a unit left in its volume to the files handed over. It fails if a
// link of the unit leads out of the volume.
func (s *Supervisor) takeLeft(spec lab.UnitSpec, volume string) (err error) {
	folder, err := os.OpenInRoot(volume, spec.Leaves)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.handed.folder, 0o700); err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		to := filepath.Join(s.handed.folder, spec.Name+"."+entry.Name())
		if err := moveFile(folder, entry.Name(), to); err != nil {
			return fmt.Errorf("move %s: %w", entry.Name(), err)
		}
	}
	return nil
}

// moveFile moves a file of a folder to a path. If the two are on different file systems, as with a volume
// that can be filled, it copies the file, and the end of the trial removes the original.
func moveFile(folder *os.File, name, to string) error {
	err := unix.Renameat(int(folder.Fd()), name, unix.AT_FDCWD, to)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	descriptor, err := unix.Openat(int(folder.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	from := os.NewFile(uintptr(descriptor), name)
	defer func() { _ = from.Close() }() // only read
	file, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
