package bounded

import (
	"cmp"
	"sync"
)

// mostKept is the number of bytes that a Tail keeps unless it says otherwise.
const mostKept = 64 << 10

// Tail keeps the end of what is written to it. Its methods may be called from several goroutines.
type Tail struct {
	Most int // number of bytes that are kept; 0: 64 KiB

	mu   sync.Mutex
	data []byte // at most twice what is kept, so that few writes have to move it
	cut  int    // number of bytes before data
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	if more := t.surplus(); more > len(t.data)-more {
		t.data = append(t.data[:0], t.data[more:]...)
		t.cut += more
	}
	return len(data), nil
}

// surplus returns the number of bytes at the beginning of data that are more than what is kept.
func (t *Tail) surplus() int {
	return max(0, len(t.data)-cmp.Or(t.Most, mostKept))
}

// End returns what is kept, and the number of bytes that were written before it.
func (t *Tail) End() (kept string, before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := t.surplus()
	return string(t.data[more:]), t.cut + more
}

// String returns what is kept.
func (t *Tail) String() string {
	kept, _ := t.End()
	return kept
}
