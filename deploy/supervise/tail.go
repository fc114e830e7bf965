package supervise

import (
	"strings"
	"sync"
)

// maxLog is how much of a unit's log is kept, in bytes.
const maxLog = 64 << 10

// Tail keeps the end of what is written to it.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	if excess := len(t.data) - maxLog; excess > 0 {
		t.data = append(t.data[:0], t.data[excess:]...)
	}
	return len(data), nil
}

// String returns what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

// LastLine is the last line of what is kept.
func (t *Tail) LastLine() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return lines[len(lines)-1]
}

// shownLines is how much of a log an error repeats.
const shownLines = 5

// LastWords are the last lines of the log, as the end of an error.
func (t *Tail) LastWords() string {
	text := strings.TrimSpace(t.String())
	if text == "" {
		return " (it wrote nothing)"
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-shownLines):]
	return "; its last words:\n  " + strings.Join(lines, "\n  ")
}
