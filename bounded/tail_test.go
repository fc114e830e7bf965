package bounded

import (
	"bytes"
	"strings"
	"testing"
)

// TestTail checks that a Tail keeps the end of its input, for writes of any size, in bounded memory, and
// counts the bytes before it.
func TestTail(t *testing.T) {
	const most = 1000
	for _, size := range []int{1, 100, most - 1, most, most + 1, 2*most + 1, 5 * most} {
		tail := Tail{Most: most}
		var all strings.Builder
		for i := 0; all.Len() < 4*most; i++ {
			piece := bytes.Repeat([]byte{byte('a' + i%26)}, size)
			all.Write(piece)
			if n, err := tail.Write(piece); n != size || err != nil {
				t.Fatalf("%d bytes of %d are written, %v", n, size, err)
			}
			kept, before := tail.End()
			if !strings.HasSuffix(all.String(), kept) || before+len(kept) != all.Len() {
				t.Fatalf("%d bytes at once: another end is kept, or after %d bytes", size, before)
			}
		}
		want := all.String()[all.Len()-most:]
		if kept := tail.String(); kept != want {
			t.Errorf("%d bytes at once: %d bytes are kept, or others", size, len(kept))
		}
		if largest := 2 * (2*most + size); cap(tail.data) > largest { // append makes room ahead
			t.Errorf("%d bytes at once: %d bytes of memory", size, cap(tail.data))
		}
	}
	var usual Tail
	_, _ = usual.Write(make([]byte, 2*mostKept)) // it never fails
	if kept, before := usual.End(); len(kept) != mostKept || before != mostKept {
		t.Errorf("it keeps %d bytes after %d, want %d after as many", len(kept), before, mostKept)
	}
}

// BenchmarkTail measures the write of a line to a full Tail.
func BenchmarkTail(b *testing.B) {
	var tail Tail
	line := []byte(strings.Repeat("x", 99) + "\n")
	for b.Loop() {
		_, _ = tail.Write(line) // it never fails
	}
}
