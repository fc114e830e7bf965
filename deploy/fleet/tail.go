package fleet

import (
	"bytes"
	"strings"
	"sync"
)

// maxLog is how much of a unit's log is kept, in bytes.
const maxLog = 64 << 10

// Tail keeps the end of what is written to it.
type Tail struct {
	mu       sync.Mutex
	data     []byte    // twice what is kept at most, so that little is moved for what is written
	expected *expected // nil: nothing is
}

// expected holds a text that somebody waits for.
type expected struct {
	text  string
	since []byte        // the end of what was written since, shorter than the text
	found chan struct{} // closed when the text was written
}

// Expect returns a channel that is closed when a text is written from now on. A later call replaces the text.
func (t *Tail) Expect(text string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected = &expected{text: text, found: make(chan struct{})}
	return t.expected.found
}

// in reports whether the text is found in what is written next.
func (e *expected) in(data []byte) bool {
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
	if t.expected != nil && t.expected.in(data) {
		t.expected = nil
	}
	t.data = append(t.data, data...)
	if len(t.data) > 2*maxLog {
		t.data = append(t.data[:0], t.data[len(t.data)-maxLog:]...)
	}
	return len(data), nil
}

// String returns what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data[max(0, len(t.data)-maxLog):])
}

// lastLine returns the last line of what is kept.
func (t *Tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return lines[len(lines)-1]
}

// shownLines is how much of a log an error repeats.
const shownLines = 5

// LastWords returns the last lines of the log, as the end of an error.
func (t *Tail) LastWords() string {
	text := strings.TrimSpace(t.String())
	if text == "" {
		return " (it wrote nothing)"
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-shownLines):]
	return "; its last words:\n  " + strings.Join(lines, "\n  ")
}
