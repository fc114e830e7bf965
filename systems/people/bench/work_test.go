package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/people/architecture"
)

// TestAnUnknownStore is refused: otherwise the benchmark would play no store, and end without an error.
func TestAnUnknownStore(t *testing.T) {
	o := options{only: "mariadb", rounds: 2, records: 1, clients: 1}
	if err := bench(t.Context(), o); err == nil || !strings.Contains(err.Error(), "sqlite, cassandra") {
		t.Errorf("a store that people does not have: %v", err)
	}
}

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

// TestAnyTemporaryFolder: its name may have characters that URLs escape.
func TestAnyTemporaryFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "100%")
	testset.Must(t, os.Mkdir(folder, 0o700))
	t.Setenv("TMPDIR", folder)
	_, err := playStore(t.Context(), architecture.SQLite, options{rounds: 2, records: 10, clients: 2})
	testset.Must(t, err)
}
