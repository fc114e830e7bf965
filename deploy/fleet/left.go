package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// EndForeign has end do with every foreign unit that is no server what ends it, waits until
// they have ended, and takes what they leave (lab.UnitSpec.Leaves), which is below dir.
func (s *Supervisor) EndForeign(ctx context.Context, dir string, end func(*Unit) error) error {
	s.MayEnd()
	var units []*Unit
	for _, u := range s.All() {
		if u.Spec.Foreign && u.Spec.Server == nil {
			units = append(units, u)
		}
	}
	var problems []error
	for _, u := range units {
		if s.Doom(u) == nil { // else it has ended, and was judged
			problems = append(problems, end(u))
		}
	}
	for _, u := range units {
		problems = append(problems, u.AwaitEnd(ctx))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for _, u := range units {
		if u.Spec.Leaves == "" {
			continue
		}
		if err := s.takeLeft(u.Spec, Volume(dir, u.Spec)); err != nil {
			return fmt.Errorf("take what unit %s has left: %w", u.Spec.Name, err)
		}
	}
	return nil
}

// takeLeft moves the regular files that a unit left in its volume to what was handed over. It fails where a
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
		if err := unix.Renameat(int(folder.Fd()), entry.Name(), unix.AT_FDCWD, to); err != nil {
			return fmt.Errorf("move %s: %w", entry.Name(), err)
		}
	}
	return nil
}
