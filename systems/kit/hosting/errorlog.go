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
	// errorsPerSecond limits the lines of a log, so that the part that deployers keep reaches back over minutes.
	errorsPerSecond = 5
	// maxErrorLength is in characters.
	maxErrorLength = 2000
)

// ErrorLog writes a line for each internal error of a unit, up to errorsPerSecond, and counts the others: a
// unit that fails under load must neither fill the disk nor spend its CPU time on its log. It is safe for
// concurrent use.
type ErrorLog struct {
	to   io.Writer
	unit string

	mu      sync.Mutex
	began   time.Time // the start of the current second
	written int       // lines in the current second
	leftOut int       // errors since the last line
}

// NewErrorLog returns the log of a unit, which writes its lines to a writer.
func NewErrorLog(to io.Writer, unit string) *ErrorLog { return &ErrorLog{to: to, unit: unit} }

// Error writes an error, or only counts it. An error that is left out is not formatted.
func (l *ErrorLog) Error(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.began) >= time.Second {
		l.began = now
		l.written = 0
	}
	if l.written == errorsPerSecond {
		l.leftOut++
		return
	}
	l.written++
	l.writeCount()
	words := strings.Fields(err.Error())
	line := strings.Join(words, " ") // joined errors have several lines
	l.write(fmt.Sprintf("%.*s", maxErrorLength, line))
}

// write writes a line. There is nowhere to report that the log cannot be written.
func (l *ErrorLog) write(text string) { _, _ = fmt.Fprintf(l.to, "%s: %s\n", l.unit, text) }

// writeCount writes the number of errors that were left out since the last line, if any.
func (l *ErrorLog) writeCount() {
	if l.leftOut > 0 {
		l.write(fmt.Sprintf("%d errors were left out of this log", l.leftOut))
		l.leftOut = 0
	}
}

// Close implements io.Closer. It writes the last number of errors that were left out.
func (l *ErrorLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeCount()
	return nil
}

// LogErrors makes the unit write its errors to standard error, which deployers keep.
func (u *Unit) LogErrors() {
	log := NewErrorLog(os.Stderr, u.Name)
	u.Keep(log)
	u.LogError = log.Error
}
