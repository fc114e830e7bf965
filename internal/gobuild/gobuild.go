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

// Programs builds packages for the running test, and makes its result depend on their sources (see Follow).
func Programs(output string, flags []string, packages ...string) error {
	if err := Build(output, flags, packages...); err != nil {
		return err
	}
	return Follow(packages...)
}

// Build builds packages into a file, or into a folder if output ends with a slash. The programs are linked
// statically and without the race detector, like released ones.
func Build(output string, flags []string, packages ...string) error {
	_, err := toolchain(append(append([]string{"build", "-o", output}, flags...), packages...)...)
	return err
}

// Follow makes the cached result of the running test depend on the sources of packages, by reading their
// folders: Go's test cache tracks the folders that a test reads, but not the programs that it builds.
func Follow(packages ...string) error {
	const ours = "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}"
	folders, err := toolchain(append([]string{"list", "-deps", "-f", ours}, packages...)...)
	for _, folder := range strings.Fields(folders) {
		if err == nil {
			_, err = os.ReadDir(folder)
		}
	}
	return err
}

// toolchain runs the go command and returns its standard output.
func toolchain(words ...string) (string, error) {
	command := exec.Command("go", words...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	var errOut strings.Builder
	command.Stderr = &errOut
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(words, " "), err, errOut.String())
	}
	return string(text), nil
}
