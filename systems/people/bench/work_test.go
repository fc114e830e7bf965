package main

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// TestTrialsEndWithTheirContext: an interrupted benchmark does not play its records to their end.
func TestTrialsEndWithTheirContext(t *testing.T) {
	w := work{options: options{records: 50, clients: 2},
		address: "sqlite://" + filepath.Join(t.TempDir(), "files")}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, trial := range map[string]func(context.Context, uint64) (measure, error){
		"stock": w.stock, "lean": w.lean,
	} {
		if _, err := trial(t.Context(), 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := trial(ended, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the end of its context: %v", name, err)
		}
	}
}
