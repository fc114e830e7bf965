package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestNoEmptyDefaultIsShown: neither the help of a command nor its manual page shows empty defaults. It also
// checks that the usage template wraps the lines of flags without a group; report and traces have such flags.
func TestNoEmptyDefaultIsShown(t *testing.T) {
	texts := map[string]string{}
	var read func(command *cobra.Command)
	read = func(command *cobra.Command) {
		var out bytes.Buffer
		command.SetOut(&out)
		if err := command.Usage(); err != nil {
			t.Fatal(err)
		}
		texts[command.CommandPath()] = out.String()
		for _, below := range command.Commands() {
			read(below)
		}
	}
	read(newRoot(nil, nil, nil))
	for line := range strings.Lines(texts["cleave report"] + texts["cleave traces"]) {
		if strings.HasPrefix(strings.TrimSpace(line), "--") && len(line) > helpWidth+1 {
			t.Errorf("a flag without a group is shown in %d columns: %s", len(line)-1, line)
		}
	}
	folder := t.TempDir()
	root := newRoot(nil, nil, nil)
	root.SetArgs([]string{"man", folder})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("the manual has %d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(page)] = string(text)
	}
	if !strings.Contains(texts["cleave-compare.1"], `\fB--path\fP="/"`) {
		t.Error("the manual does not say which path is the default")
	}
	empty := regexp.MustCompile(`(?m)\(default (""|\[\])?\)|\\fP(\[=(false|0)?\]|=(""|\[\]|0s?)?)$`)
	for name, text := range texts {
		if found := empty.FindAllString(text, -1); len(found) > 0 {
			t.Errorf("%s shows empty defaults: %q", name, found)
		}
	}
}
