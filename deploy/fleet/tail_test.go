package fleet

import (
	"bytes"
	"strings"
	"testing"
)

// TestTail checks that a Tail keeps the end of its input, for writes of any size, in bounded memory.
func TestTail(t *testing.T) {
	for _, size := range []int{1, 100, maxLog - 1, maxLog, maxLog + 1, 2*maxLog + 1, 5 * maxLog} {
		var tail Tail
		var all strings.Builder
		for i := 0; all.Len() < 4*maxLog; i++ {
			piece := bytes.Repeat([]byte{byte('a' + i%26)}, size)
			all.Write(piece)
			if n, err := tail.Write(piece); n != size || err != nil {
				t.Fatalf("%d bytes of %d are written, %v", n, size, err)
			}
			if i%100 == 0 && !strings.HasSuffix(all.String(), tail.String()) {
				t.Fatalf("%d bytes at once: another end is kept", size)
			}
		}
		want := all.String()[all.Len()-maxLog:]
		if kept := tail.String(); kept != want {
			t.Errorf("%d bytes at once: %d bytes are kept, or others", size, len(kept))
		}
		if most := 2 * (2*maxLog + size); cap(tail.data) > most { // append makes room ahead
			t.Errorf("%d bytes at once: %d bytes of memory", size, cap(tail.data))
		}
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
