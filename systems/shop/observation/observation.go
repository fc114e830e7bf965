// Package observation observes the shop without requests: each unit writes, in a file
// of its own, when its commits made orders final and when its read models showed
// changes. All times are from the host's clock, as the load's are: so the files show
// how long an order took from its intended start to its final state, and how long a
// read model lagged behind.
//
// A note costs well under a microsecond and no system call: a goroutine writes all
// notes several times a second. A unit that is killed loses its last notes, and may
// leave half a line.
//
// Entry points: Open for units, Read for the conductor. Package system evaluates the
// notes.
package observation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// extension is the extension of the files, one for each unit.
const extension = ".observed"

// The kinds of notes: the first word of a line.
const (
	final = "final" // order, moment
	shown = "shown" // document, version, moment of the change, moment of its showing
)

// writeEvery is the pause between two writes of notes to the file.
const writeEvery = 200 * time.Millisecond

// Log is the file of one unit. Its methods may be called from several goroutines.
type Log struct {
	file    *os.File
	stop    chan struct{}
	ended   chan error
	writing sync.Mutex // held while notes are written, so that they come in order
	mu      sync.Mutex // guards notes
	notes   []byte     // not written yet
}

// File returns the file of a unit in its folder.
func File(dir, unit string) string { return filepath.Join(dir, unit+extension) }

// Open opens the file of a unit in its folder.
// A unit that was started again appends to its file.
func Open(dir, unit string) (*Log, error) {
	file, err := os.OpenFile(File(dir, unit), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the observations of unit %s: %w", unit, err)
	}
	l := &Log{file: file, stop: make(chan struct{}), ended: make(chan error, 1)}
	if size, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(fmt.Errorf("open the observations of unit %s: %w", unit, err), file.Close())
	} else if size > 0 {
		l.notes = append(l.notes, '\n') // the last line may be torn
	}
	go func() { l.ended <- l.keepWriting() }()
	return l, nil
}

// Final notes that a commit has just made an order final.
func (l *Log) Final(order string) {
	l.note(final, order, time.Now().UnixNano())
}

// Shown notes that a document of a read model now shows a version, or a later one.
// occurredUnixUs is when that version was made, in microseconds since 1970.
func (l *Log) Shown(document string, version, occurredUnixUs int64) {
	l.note(shown, document, version, 1000*occurredUnixUs, time.Now().UnixNano())
}

// note adds a line.
func (l *Log) note(kind, of string, numbers ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(append(append(l.notes, kind...), ' '), of...)
	for _, n := range numbers {
		l.notes = strconv.AppendInt(append(l.notes, ' '), n, 10)
	}
	l.notes = append(l.notes, '\n')
}

// keepWriting writes notes until the log is closed, and then the last ones.
func (l *Log) keepWriting() error {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	var failed error
	for {
		select {
		case <-tick.C:
		case <-l.stop:
			return errors.Join(failed, l.Flush())
		}
		if err := l.Flush(); failed == nil {
			failed = err
		}
	}
}

// Flush writes the notes so far. Others may be added meanwhile.
func (l *Log) Flush() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	notes := l.notes
	l.notes = make([]byte, 0, len(notes)) // about as many will come
	l.mu.Unlock()
	if len(notes) == 0 {
		return nil
	}
	_, err := l.file.Write(notes)
	return err
}

// Close writes the last notes. No more may be added.
func (l *Log) Close() error {
	close(l.stop)
	if err := errors.Join(<-l.ended, l.file.Close()); err != nil {
		return fmt.Errorf("write observations: %w", err)
	}
	return nil
}
