package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/load/record"
)

// newLines returns a new list of JSON lines.
func newLines(t *testing.T, path string) *loadList {
	t.Helper()
	list, err := newLoadList(path, func(w io.Writer) rowWriter { return record.NewLineWriter(w) })
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// full is a writer that fails like a full disk.
type full struct{}

func (full) Write(record.Row) error { return errors.New("no space left") }
func (full) Flush() error           { return nil }

// TestListsHaveTheirNameWhenTheyAreWhole: until then the list of an earlier load is kept.
func TestListsHaveTheirNameWhenTheyAreWhole(t *testing.T) {
	for name, c := range map[string]struct {
		rows        int
		whole, full bool // the load is complete; the disk is full
		ours        bool // at the end the new list is at the path
		partial     bool // at the end there is an incomplete list
	}{
		"whole":                 {rows: 1, whole: true, ours: true},
		"whole, no operations":  {whole: true, ours: true},
		"failed":                {rows: 1, partial: true},
		"failed, no operations": {},
		"not written":           {rows: 1, whole: true, full: true, partial: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "list.jsonl")
			const other = "of another load\n"
			if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
				t.Fatal(err)
			}
			list := newLines(t, path)
			if c.full {
				list.rowWriter = full{}
			}
			for range c.rows {
				if err := list.write(record.Row{}); (err != nil) != c.full {
					t.Errorf("error %v", err)
				}
			}
			err := list.close(c.whole)
			if (err != nil) != c.partial || err != nil && !strings.Contains(err.Error(),
				"list.jsonl.partial is not whole") {
				t.Errorf("error %v", err)
			}
			if text, err := os.ReadFile(path); err != nil || (string(text) != other) != c.ours {
				t.Errorf("the file holds %q, %v; want that it is ours: %t", text, err, c.ours)
			}
			if _, err := os.Lstat(path + ".partial"); (err == nil) != c.partial {
				t.Errorf("the unfinished list: error %v, want that it exists: %t", err, c.partial)
			}
		})
	}
}

// TestListsGoIntoPipes: writing a list to a pipe or a device does not replace it by a file.
func TestListsGoIntoPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "to-the-device")
	if err := os.Symlink(os.DevNull, path); err != nil {
		t.Fatal(err)
	}
	list := newLines(t, path)
	if err := errors.Join(list.write(record.Row{}), list.close(true)); err != nil {
		t.Error(err)
	}
	if target, err := os.Readlink(path); err != nil || target != os.DevNull {
		t.Errorf("the list replaced what was at its path: %q, %v", target, err)
	}
}
