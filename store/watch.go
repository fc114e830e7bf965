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

// mostProgress is the largest number of bytes that are read at once of what is written for those who watch.
// Who begins to watch gets the last of them.
const mostProgress = 128 << 10

// mostPiece is the number of bytes that are asked for at once of the table of locks; the kernel gives 4 KiB.
const mostPiece = 16 << 10

// Progress returns whole lines of the progress of a run, from an offset on, and where they end. If the offset
// is negative or beyond the end, they are the last lines.
func (s *Shelf) Progress(name string, from int64) (lines []byte, next int64, err error) {
	return s.lines(name, progressFile, from)
}

// Seconds returns whole lines of how the trial that is played goes, as Progress does. The file begins anew
// with every trial.
func (s *Shelf) Seconds(name string, from int64) (lines []byte, next int64, err error) {
	return s.lines(name, secondsFile, from)
}

// lines returns whole lines of a file of a run, from an offset on, and where they end. If the offset is
// negative or beyond the end, they are the last lines.
func (s *Shelf) lines(run, name string, from int64) (lines []byte, next int64, err error) {
	if err := s.check(run); err != nil {
		return nil, 0, err
	}
	place := path.Join(run, name)
	file, size, err := s.openRegular(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil // runs of older versions, and those that are over
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", place, err)
	}
	defer func() { _ = file.Close() }() // only read
	begun := from < 0 || from > size
	if begun {
		from = max(0, size-mostProgress)
	}
	lines, err = io.ReadAll(io.NewSectionReader(file, from, mostProgress))
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", place, err)
	}
	full := len(lines) == mostProgress
	end := bytes.LastIndexByte(lines, '\n') + 1
	if end == 0 && full { // Cleave writes no line that long
		return nil, from + mostProgress, nil
	}
	lines = lines[:end]
	if begun && from > 0 { // the first one is cut
		_, lines, _ = bytes.Cut(lines, []byte{'\n'})
	}
	return lines, from + int64(end), nil
}

// State says how far a run is.
func (s *Shelf) State(name string) (lab.RunState, error) {
	if err := s.check(name); err != nil {
		return "", err
	}
	return s.state(name, heldLocks()), nil
}

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
	about, err := s.root.Stat(path.Join(name, lockFile))
	if err != nil {
		return false
	}
	inode, is := about.Sys().(*syscall.Stat_t)
	if !is || len(held[inode.Ino]) == 0 {
		return false
	}
	holder, err := read(s.files, name, lockFile, maxSmall) // inodes of other disks have the same numbers
	return err == nil && slices.Contains(held[inode.Ino], strings.TrimSpace(string(holder)))
}

// locks are the processes that hold locks of files on this host, by the inode of the file.
type locks map[uint64][]string

// heldLocks returns the locks of files on this host. Trying a lock instead would take it for a moment from a
// Cleave that is about to play.
//
// The kernel tells the table in pieces, and finds its place again by counting: where others give up locks
// between two pieces, it leaves some out that are held. Hence the pieces are large, and the table is read
// twice.
func heldLocks() locks {
	held := locks{}
	for range 2 {
		held.add(lockTable()) // without it no run is known to be played
	}
	return held
}

// lockTable returns the table of locks of this host.
func lockTable() string {
	file, err := inputfile.Open("/proc/locks", mostHead)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	table, _ := io.ReadAll(bufio.NewReaderSize(file, mostPiece))
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
