package bounded

import (
	"io"
	"strings"
	"testing"
)

// TestReader: any number of messages within the limit are read; a longer message is an error.
func TestReader(t *testing.T) {
	r := New(strings.NewReader(strings.Repeat("x", 30)), 10)
	for range 2 {
		if n, err := io.ReadFull(r, make([]byte, 10)); n != 10 || err != nil {
			t.Fatalf("read %d bytes, %v", n, err)
		}
		r.Next()
	}
	if text, err := io.ReadAll(r); len(text) != 10 || err != nil {
		t.Errorf("the last message: %d bytes, %v", len(text), err)
	}
	text, err := io.ReadAll(New(strings.NewReader(strings.Repeat("x", 11)), 10))
	if len(text) > 10 || err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("beyond the limit: %d bytes, %v", len(text), err)
	}
}
