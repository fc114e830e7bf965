package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// shellBlock matches a fenced block of shell commands in a page.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestShellOfPagesIsValid: every block of shell commands has a valid syntax, so that readers can paste it.
func TestShellOfPagesIsValid(t *testing.T) {
	top := root(t)
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, path := range append(pages, filepath.Join(top, "README.md")) {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllSubmatch(page, -1) {
			blocks++
			read := exec.Command("bash", "-n")
			read.Stdin = bytes.NewReader(block[1])
			if text, err := read.CombinedOutput(); err != nil {
				t.Errorf("%s: %s in\n%s", filepath.Base(path), text, block[1])
			}
		}
	}
	if blocks == 0 {
		t.Error("no page has a block of shell commands")
	}
}
