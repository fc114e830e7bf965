package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/systems/social/architecture"
)

// TestMain lets this program run as the processes that a benchmark starts: otherwise the janitor of a server
// would run all tests again.
func TestMain(m *testing.M) {
	trials.Main("bench-social", func(context.Context) error {
		os.Exit(m.Run())
		return nil
	})
}

// TestABrokenStoreIsNotSkipped: only a store that is not installed is.
func TestABrokenStoreIsNotSkipped(t *testing.T) {
	programs := t.TempDir()
	testset.Must(t, os.WriteFile(filepath.Join(programs, "mongod"),
		[]byte("#!/bin/sh\n[ \"$1\" = --version ] && echo 'db version v7.0.5'\n"), 0o755))
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out := filepath.Join(t.TempDir(), "social.json")
	err := bench(t.Context(), settings{out: out, rounds: 2, reads: 10, clients: 2, posts: 5, seed: 1})
	if err == nil || !strings.Contains(err.Error(), "mongo") {
		t.Errorf("with a server that ends at once: %v", err)
	}
}

// TestAnyTemporaryFolder: its name may have characters that URLs escape.
func TestAnyTemporaryFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "100%")
	testset.Must(t, os.Mkdir(folder, 0o700))
	t.Setenv("TMPDIR", folder)
	_, err := playStore(t.Context(), architecture.SQLite, settings{rounds: 2, reads: 10, clients: 2, posts: 5})
	testset.Must(t, err)
}
