package fleet

import (
	"bytes"
	"strings"
	"sync"

	"github.com/cleave-lab/cleave/bounded"
)

// Tail keeps the end of a log, and tells when an expected text is written.
type Tail struct {
	bounded.Tail
	mu       sync.Mutex // guards expected
	expected *expected  // nil: nobody waits for a text
}

// expected is a text that a goroutine waits for.
type expected struct {
	text  string
	since []byte        // the end of the output since Expect, shorter than the text
	found chan struct{} // closed when the text was written
}

// Expect returns a channel that is closed when a text is written after this call. A later call replaces the
// text.
func (t *Tail) Expect(text string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected = &expected{text: text, found: make(chan struct{})}
	return t.expected.found
}

// closeIfIn closes found if the output contains the text once data is appended to it, and reports whether it
// does.
func (e *expected) closeIfIn(data []byte) bool {
	e.since = append(e.since, data...)
	if bytes.Contains(e.since, []byte(e.text)) {
		close(e.found)
		return true
	}
	e.since = append(e.since[:0], e.since[max(0, len(e.since)-len(e.text)+1):]...)
	return false
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expected != nil && t.expected.closeIfIn(data) {
		t.expected = nil
	}
	return t.Tail.Write(data)
}

// lastLine returns the last line of the log; "" if the log is empty.
func (t *Tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return lines[len(lines)-1]
}

// shownLines is the number of lines of a log that an error repeats.
const shownLines = 5

// LastWords returns the last lines of the log as a suffix of an error message.
func (t *Tail) LastWords() string {
	text := strings.TrimSpace(t.String())
	if text == "" {
		return " (it wrote nothing)"
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-shownLines):]
	return "; its last words:\n  " + strings.Join(lines, "\n  ")
}
