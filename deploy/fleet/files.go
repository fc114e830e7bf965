package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// maxHandedOver bounds the files that a unit hands over in a trial, in bytes.
const maxHandedOver = 16 << 30

// handedOver writes the files that units hand over into a folder.
type handedOver struct {
	folder string
	mu     sync.Mutex
	owners map[string]string // unit by file
	bytes  map[string]int64  // by unit
}

// take appends a piece, a lab.FilePiece as JSON, to its file. It fails if the name is a path or another
// unit's file.
func (h *handedOver) take(unit string, data json.RawMessage) error {
	var piece lab.FilePiece
	if err := json.Unmarshal(data, &piece); err != nil {
		return err
	}
	if !IsFileName(piece.File) {
		return fmt.Errorf("%q is no plain file name", piece.File)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if owner, taken := h.owners[piece.File]; taken && owner != unit {
		return fmt.Errorf("%s was handed over by unit %s", piece.File, owner)
	}
	if h.bytes[unit] += int64(len(piece.Data)); h.bytes[unit] > maxHandedOver {
		return fmt.Errorf("%s: the unit has handed over more than %d GiB, the rest is not written: record less, "+
			"or make the load shorter", piece.File, maxHandedOver>>30)
	}
	h.owners[piece.File] = unit
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(h.folder, piece.File), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(piece.Data)
	return errors.Join(err, file.Close())
}

// IsFileName reports whether a text is the name of a file, and not a path.
func IsFileName(text string) bool {
	return text != "." && filepath.IsLocal(text) && filepath.Base(text) == text
}

// EndForeign implements lab.Deployment.
func (f *Fleet[L]) EndForeign(ctx context.Context) error {
	f.expectEnds()
	units := slices.DeleteFunc(f.All(), func(life L) bool { return !life.unit().Spec.IsUsersProgram() })
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

// takeLeft copies the regular files that a unit left in its volume to the files handed over. It fails if a
// link of the unit leads out of the volume.
func (s *Supervisor) takeLeft(spec lab.UnitSpec, volume string) error {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	folder, err := root.OpenFile(spec.Leaves, openLeft, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // only read
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
		if err := copyLeft(root, filepath.Join(spec.Leaves, entry.Name()), to, maxHandedOver); err != nil {
			return fmt.Errorf("copy %s: %w", entry.Name(), err)
		}
	}
	return nil
}

// openLeft holds the flags with which a thing that a unit left is opened: a pipe must not make us wait.
const openLeft = os.O_RDONLY | unix.O_NONBLOCK

// copyLeft copies a file of a volume, of at most the given number of bytes, to a path. The end of the trial
// removes the original.
func copyLeft(volume *os.Root, name, to string, most int64) error {
	from, err := volume.OpenFile(name, openLeft, 0)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	file, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	written, err := io.Copy(file, io.LimitReader(from, most+1))
	if err == nil && written > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return errors.Join(err, file.Close())
}
