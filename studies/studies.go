// Package studies holds the built-in studies as files, and in models what the system of some of them plays.
// The figures that each of them published are in package published.
package studies

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.yaml models/*.yaml
var files embed.FS

const suffix = ".yaml"

// Names lists the built-in studies in alphabetical order.
func Names() []string {
	names, err := fs.Glob(files, "*"+suffix)
	if err != nil {
		return nil // the pattern is a constant, and right
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, suffix)
	}
	return names
}

// Read returns the study file of a built-in study.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name + suffix)
	if err != nil {
		return nil, fmt.Errorf("there is no built-in study %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return data, nil
}

// Model returns the text of the model file that the system of a built-in study plays, or "".
func Model(name string) string {
	data, err := files.ReadFile("models/" + name + suffix)
	if err != nil {
		return "" // most studies have none
	}
	return string(data)
}
