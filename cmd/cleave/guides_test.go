package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// shorter holds flags that make the commands of guides short enough for a test, by command. The key includes
// the first argument if the command does not have the flags with other arguments.
var shorter = map[string]string{
	"explain":    " --blocks 1 --duration 1s --warm-up 0s --no-gates",
	"compare":    " --blocks 1 --duration 1s --warm-up 0s --no-gates",
	"bottleneck": " --blocks 1 --duration 1s --warm-up 0s --no-gates",
	"reproduce":  " --blocks 1 --scale 0.0002 --points s1 --no-gates",
	"run":        " --quick --blocks 1 --no-gates", // one block has no interval, so no gate fails by chance
	"rehearse":   " --blocks 1 --duration 1s --warm-up 0s --no-gates",

	"model shop.yaml": " --blocks 1 --duration 2s --warm-up 0s --no-gates",
}

// TestGuides runs the commands of the guides, each guide in a folder of its own, as a
// reader would.
func TestGuides(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	t.Parallel()
	for _, guide := range []string{"getting-started", "should-i-split", "rego2021", "ci"} {
		t.Run(guide, func(t *testing.T) {
			t.Parallel() // short loads mostly wait
			followGuide(t, guide)
		})
	}
}

// buildPython builds the Python image of the guides from this host's Python, so that the tests pull nothing.
func buildPython() error {
	const python = `cd / && exec 2>&1
libs=$(ldd usr/bin/python3 usr/lib/python3.*/lib-dynload/*.so | grep -o '/lib[^ ]*\.so[^ :]*' | sort -u)
tar --create --dereference --exclude=__pycache__ --exclude=test --exclude=dist-packages \
  usr/bin/python3 usr/lib/python3.[0-9]* $(echo "$libs" | cut -c 2-) | docker import - python:3.13-slim`
	if said, err := exec.Command("sh", "-c", python).CombinedOutput(); err != nil {
		return fmt.Errorf("make an image with Python: %w\n%s", err, said)
	}
	return nil
}

// TestComposeGuides runs the commands of the guides about compose files.
func TestComposeGuides(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip(err)
	}
	dockertest.Once(t, "python:3.13-slim", buildPython)
	for _, guide := range []string{"your-compose-file", "should-i-split-mine"} {
		t.Run(guide, func(t *testing.T) {
			t.Parallel()
			followGuide(t, guide)
			expectNoContainers(t)
		})
	}
}

// TestRecipes builds the images that the recipes compare, and runs their commands.
func TestRecipes(t *testing.T) {
	t.Parallel()
	dockertest.Shared(t)
	const folder = "../../docs/recipes"
	for _, images := range []string{"httpbin", "victoria-logs"} {
		said, err := exec.CommandContext(t.Context(), folder+"/images.sh", images).CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitMissingPart {
			t.Skipf("%s", said)
		}
		if err != nil {
			t.Fatalf("build the images: %v\n%s", err, said)
		}
	}
	t.Run("two-versions", func(t *testing.T) { followGuide(t, "recipes/two-versions", folder+"/httpbin.yaml") })
	t.Run("modes", func(t *testing.T) {
		followGuide(t, "recipes/modes", folder+"/logs-one.yaml", folder+"/logs-split.yaml",
			folder+"/logs-sharded.yaml", folder+"/logs.scenario.yaml")
	})
	t.Run("kubernetes", func(t *testing.T) {
		needKubernetes(t)
		followGuide(t, "recipes/kubernetes", folder+"/httpbin.yaml")
	})
	expectNoContainers(t)
}

// followGuide copies files into a new folder, writes the files that the guide shows there, and runs its
// commands.
func followGuide(t *testing.T, guide string, files ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", guide+".md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	folder := t.TempDir()
	for _, file := range files {
		copied, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(file)), copied, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, block := range guideBlock.FindAllStringSubmatch(string(text), -1) {
		if kind, file, body := block[1], block[2], block[3]; kind == "sh" {
			for line := range strings.Lines(strings.ReplaceAll(body, "\\\n", "")) {
				commands++
				follow(t, folder, strings.TrimSpace(line))
			}
		} else if file != "" {
			writeFiles(t, folder, map[string]string{file: body})
		}
	}
	if commands == 0 {
		t.Fatal("there are no commands in the guide")
	}
}

// guideBlock matches a code block of a guide: its language, the file name in a comment in its first line, and
// its text.
var guideBlock = regexp.MustCompile("(?ms)^ *```([a-z]+)\n(?:# ([a-z]+\\.[a-z]+)\n)?(.*?)^ *```$")

// follow runs a command, which must succeed. On a busy host it also accepts that the
// generator was the limit of all trials, and that a prediction is withheld.
func follow(t *testing.T, folder, written string) {
	t.Helper()
	words := strings.Fields(written)
	if words[0] != "cleave" {
		t.Fatalf("%q does not begin with cleave", written)
	}
	short, found := shorter[strings.Join(words[1:min(3, len(words))], " ")]
	if !found {
		short = shorter[words[1]]
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", written+short)
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
	switch code, printed := finish(t, command); {
	case code == exitFine:
	case code == exitLoadNotReached && slices.Contains([]string{"explain", "compare"}, words[1]):
	case code == exitUndecided && words[1] == "predict":
		t.Logf("%s\n%s", written, printed)
	default:
		t.Errorf("%s: exit code %d\n%s", written, code, printed)
	}
}
