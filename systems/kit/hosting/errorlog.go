package hosting

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// errorsPerSecond is few enough that the part of a log that deployers keep reaches back over minutes.
	errorsPerSecond = 5
	// longestError is in characters.
	longestError = 2000
)

// ErrorLog writes a line for each error inside of a unit, up to errorsPerSecond, and counts the others: a
// unit that fails under load must neither fill the disk nor spend its CPU time on its log. It is used by
// several goroutines.
type ErrorLog struct {
	to   io.Writer
	unit string

	mu      sync.Mutex
	began   time.Time // of the second in which the lines were written
	written int       // lines
	leftOut int       // errors since the last line
}

// NewErrorLog returns the log of a unit, whose lines go to a writer.
func NewErrorLog(to io.Writer, unit string) *ErrorLog { return &ErrorLog{to: to, unit: unit} }

// Error writes an error, or counts it. An error that is left out is not even turned into text.
func (l *ErrorLog) Error(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.began) >= time.Second {
		l.began, l.written = now, 0
	}
	if l.written == errorsPerSecond {
		l.leftOut++
		return
	}
	l.written++
	l.writeCount()
	// The texts of joined errors have several lines.
	l.write(fmt.Sprintf("%.*s", longestError, strings.Join(strings.Fields(err.Error()), " ")))
}

// write writes a line. Nobody could be told of a log that cannot be written.
func (l *ErrorLog) write(text string) { _, _ = fmt.Fprintf(l.to, "%s: %s\n", l.unit, text) }

// writeCount writes how many errors were left out since the last line.
func (l *ErrorLog) writeCount() {
	if l.leftOut > 0 {
		l.write(fmt.Sprintf("%d errors were left out of this log", l.leftOut))
		l.leftOut = 0
	}
}

// Close implements io.Closer. It writes how many errors were left out last.
func (l *ErrorLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeCount()
	return nil
}

// LogErrors has the unit write its errors to standard error, which deployers keep.
func (u *Unit) LogErrors() {
	log := NewErrorLog(os.Stderr, u.Name)
	u.Keep(log)
	u.LogError = log.Error
}
