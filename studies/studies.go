// Package studies holds the files of the built-in studies and, in models, the models that some of them play.
// Package published holds the figures that they published.
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
	names, _ := fs.Glob(files, "*"+suffix) // the pattern is valid
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

// Model returns the text of the model file that a built-in study plays, "" if it has none.
func Model(name string) string {
	data, err := files.ReadFile("models/" + name + suffix)
	if err != nil {
		return ""
	}
	return string(data)
}
