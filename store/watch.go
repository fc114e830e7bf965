package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// maxProgress is the largest number of bytes that one call reads from a journal.
const maxProgress = 128 << 10

// Progress returns whole lines of the journal of a run, from the byte at offset from on and up to maxProgress
// bytes, and the offset of the next line. If from is within a line, it skips the rest of that. If from is
// negative or beyond the end of the journal, it returns the last lines.
func (s *Shelf) Progress(name string, from int64) (lines []byte, next int64, err error) {
	return s.lines(name, progressFile, from)
}

// Seconds returns whole lines of the journal of the current trial, as Progress does. Its writer empties the
// file before the first second of a new trial, and when it is too large. Then from is usually beyond the end.
func (s *Shelf) Seconds(name string, from int64) (lines []byte, next int64, err error) {
	return s.lines(name, secondsFile, from)
}

// lines returns whole lines of a file of a run; see Progress.
func (s *Shelf) lines(run, name string, from int64) (lines []byte, next int64, err error) {
	if err := s.check(run); err != nil {
		return nil, 0, err
	}
	place := path.Join(run, name)
	file, size, err := s.openRegular(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil // not begun yet, removed at the end of the run (Seconds), or of an older Cleave
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", place, err)
	}
	defer func() { _ = file.Close() }() // only read
	if from < 0 || from > size {
		from = max(0, size-maxProgress)
	}
	before := []byte{'\n'}
	if from > 0 {
		_, err = file.ReadAt(before, from-1)
	}
	if err == nil {
		lines, err = io.ReadAll(io.NewSectionReader(file, from, maxProgress))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", place, err)
	}
	full := len(lines) == maxProgress
	end := bytes.LastIndexByte(lines, '\n') + 1
	if end == 0 && full { // Cleave writes no line that long: skip these bytes
		return nil, from + maxProgress, nil
	}
	lines = lines[:end]
	if before[0] != '\n' { // from is within a line
		_, lines, _ = bytes.Cut(lines, []byte{'\n'})
	}
	return lines, from + int64(end), nil
}

// State returns the state of a run: it is being played, was stopped, or has a report.
func (s *Shelf) State(name string) (lab.RunState, error) {
	if err := s.check(name); err != nil {
		return "", err
	}
	return s.state(name), nil
}

func (s *Shelf) state(name string) lab.RunState {
	if s.plays(name) {
		return lab.RunPlaying
	}
	if _, err := s.root.Stat(path.Join(name, AnalysisFile)); err == nil {
		return lab.RunReported
	}
	return lab.RunStopped
}

// plays reports whether a process holds the lock of a run. It only asks: if it tried to take the lock, a
// Cleave that is about to play could not get it at that moment.
func (s *Shelf) plays(name string) bool {
	file, _, err := s.openRegular(path.Join(name, lockFile))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // only read
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK
}
