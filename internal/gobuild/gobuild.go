// Package gobuild builds our programs for the tests that start them.
//
// Entry points: Programs in a test; or Build in TestMain, and Follow in each test that uses the programs.
package gobuild

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Programs builds packages (see Build) for the running test, and makes the test's cached result depend on
// their sources (see Follow).
func Programs(output string, flags []string, packages ...string) error {
	if err := Build(output, flags, packages...); err != nil {
		return err
	}
	return Follow(packages...)
}

// Build builds the programs of packages into the file output, or into the folder output if it ends with a
// slash. flags are flags of go build. The programs are linked statically and without the race detector, like
// released ones.
func Build(output string, flags []string, packages ...string) error {
	_, err := toolchain(append(append([]string{"build", "-o", output}, flags...), packages...)...)
	return err
}

// Follow makes the cached result of the running test depend on the sources of packages, by reading their
// folders: Go's test cache tracks the folders that a test reads, but not the programs that it builds.
func Follow(packages ...string) error {
	const foldersOfOurModule = "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}"
	folders, err := toolchain(append([]string{"list", "-deps", "-f", foldersOfOurModule}, packages...)...)
	if err != nil {
		return err
	}
	for folder := range strings.Lines(folders) {
		if _, err := os.ReadDir(strings.TrimSuffix(folder, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// toolchain runs the go command and returns its standard output.
func toolchain(args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	var errOut strings.Builder
	command.Stderr = &errOut
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return string(text), nil
}
