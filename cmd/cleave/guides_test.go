package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// shorter are flags that make the commands of guides short enough for a test.
var shorter = map[string]string{
	"explain":   " --blocks 1 --duration 1s --warm-up 0s --no-gates",
	"compare":   " --blocks 1 --duration 1s --warm-up 0s --no-gates",
	"reproduce": " --blocks 1 --scale 0.0002 --points s1 --no-gates",
	"run":       " --quick --blocks 1 --no-gates", // of one block there is no interval: no gate fails by chance
}

// TestGuides runs the commands of the guides, each guide in a folder of its own, as a
// reader would.
func TestGuides(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	for _, guide := range []string{"getting-started", "should-i-split", "rego2021", "ci"} {
		t.Run(guide, func(t *testing.T) {
			t.Parallel() // most of a short load is waiting
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", guide+".md"))
			if err != nil {
				t.Fatal(err)
			}
			commands := commandsIn(string(text))
			if len(commands) < 4 {
				t.Fatalf("only %d commands in the guide: %q", len(commands), commands)
			}
			folder := t.TempDir()
			for _, written := range commands {
				follow(t, folder, written)
			}
		})
	}
}

// commandsIn returns the lines of the blocks that are shell commands.
func commandsIn(guide string) []string {
	var commands []string
	inside := false
	for line := range strings.Lines(guide) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "":
			commands = append(commands, line)
		}
	}
	return commands
}

// follow runs one command, which is to be fine. On a busy host the generator may be the
// limit of all trials.
func follow(t *testing.T, folder, written string) {
	t.Helper()
	words := strings.Fields(written)
	if words[0] != "cleave" {
		t.Fatalf("%q does not begin with cleave", written)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", written+shorter[words[1]])
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	played := slices.Contains([]string{"explain", "compare"}, words[1])
	if errors.As(err, &exit) && played && exit.ExitCode() == exitLoadNotReached {
		return
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", written, err, out)
	}
}
