package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
)

// maxProgress is the largest number of bytes that one call reads from a journal.
const maxProgress = 128 << 10

// lockPiece is the size of the buffer for reading the table of locks, in bytes. It is larger than the pieces
// in which the kernel returns the table, which usually have 4 KiB.
const lockPiece = 16 << 10

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
	return s.state(name, heldLocks()), nil
}

// state returns the state of a run, given the locks of this host.
func (s *Shelf) state(name string, held locks) lab.RunState {
	if s.plays(name, held) {
		return lab.RunPlaying
	}
	if _, err := s.root.Stat(path.Join(name, AnalysisFile)); err == nil {
		return lab.RunReported
	}
	return lab.RunStopped
}

// plays reports whether a process holds the lock of a run.
func (s *Shelf) plays(name string, held locks) bool {
	info, err := s.root.Stat(path.Join(name, lockFile))
	if err != nil {
		return false
	}
	stat, isStat := info.Sys().(*syscall.Stat_t)
	if !isStat || len(held[stat.Ino]) == 0 {
		return false
	}
	// A file on another disk may have the same inode number, so compare the process ID, too.
	holder, err := read(s.files, name, lockFile, maxSmall)
	return err == nil && slices.Contains(held[stat.Ino], strings.TrimSpace(string(holder)))
}

// locks are the IDs of processes that hold locks of files on this host, by the inode of the file.
type locks map[uint64][]string

// heldLocks returns the locks of files on this host. It does not try to take the lock of a run: a Cleave that
// is about to play could not get it at that moment.
//
// The kernel returns the table in pieces, and finds the beginning of the next piece by counting entries. If
// others release locks between two pieces, entries are missing. So the table is read in large pieces, and
// twice.
func heldLocks() locks {
	held := locks{}
	for range 2 {
		held.add(lockTable()) // if it cannot be read, no run counts as being played
	}
	return held
}

// lockTable returns the table of locks of this host; "" if it cannot be read.
func lockTable() string {
	file, err := inputfile.Open("/proc/locks", maxHead)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	table, _ := io.ReadAll(bufio.NewReaderSize(file, lockPiece))
	return string(table)
}

// add adds the locks of a table.
func (held locks) add(table string) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line) // 1: FLOCK ADVISORY WRITE 9008 fe:00:9977857 0 EOF
		if len(fields) < 6 || fields[1] != "FLOCK" {
			continue
		}
		inode, err := strconv.ParseUint(fields[5][strings.LastIndex(fields[5], ":")+1:], 10, 64)
		if err == nil {
			held[inode] = append(held[inode], fields[4])
		}
	}
}
