package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestAnOutputMayBeALink: a file behind a link is checked and replaced in its own folder. In the folder of
// the link, such as /dev/fd, a file may be impossible to create.
func TestAnOutputMayBeALink(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	link := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if err := checkOutput("--json", link); err != nil {
		t.Error(err)
	}
	err = writeFile(link, func(w io.Writer) error {
		_, err := io.WriteString(w, "{}")
		return err
	})
	if text, readErr := os.ReadFile(file.Name()); err != nil || readErr != nil || string(text) != "{}" {
		t.Errorf("the file holds %q (%v, %v)", text, err, readErr)
	}
}
