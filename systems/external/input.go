package external

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Input is a file, or a folder of manifests, that a user names.
type Input struct {
	path                             string
	text                             []byte
	isSystem, isCompose, isManifests bool
}

// Open reads a file, or notes a folder of manifests, and finds out what kind of file it is.
func Open(path string) (Input, error) {
	in := Input{path: path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		in.isManifests = true
		return in, nil
	}
	var err error
	if in.text, err = inputfile.Read(path, maxManifests); err != nil {
		return in, err
	}
	document := firstDocument(in.text)
	if document == nil {
		return in, nil // it is of no kind: reading it as a system file will return an error
	}
	has := func(key string) bool {
		value := mappingValue(document, key)
		return value != nil && (value.Kind != yaml.ScalarNode || value.Value != "")
	}
	hasServices := mappingValue(document, "services") != nil || mappingValue(document, "include") != nil
	in.isSystem = mappingValue(document, "schema") != nil
	in.isCompose = hasServices && !in.isSystem
	in.isManifests = !in.isCompose && has("apiVersion") && has("kind")
	return in, nil
}

// firstDocument returns the content of the first document of a YAML file that is not empty; nil if there is
// none, or the file is no YAML. Helm writes empty documents.
func firstDocument(text []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return nil
		}
		if content := document.Content[0]; content.Tag != "!!null" {
			return content
		}
	}
}

// HasServices reports whether the input is a compose file, or manifests.
func (in Input) HasServices() bool { return in.isCompose || in.isManifests }

// IsSystem reports whether the input describes a system: it is a system file, which has the key schema, or it
// has services.
func (in Input) IsSystem() bool { return in.isSystem || in.HasServices() }

// OfServices returns the system of a compose file or of manifests at a path, under the name of its project.
// See Input.Definition.
func OfServices(path, address string) (Definition, error) {
	in, err := Open(path)
	if err == nil && !in.HasServices() {
		err = fmt.Errorf("%s is neither a compose file nor manifests", path)
	}
	if err != nil {
		return Definition{}, err
	}
	return in.Definition("", address)
}

// Definition returns the system of a compose file or of manifests. name "" stands for the name of its
// project. address is the entry point that is loaded, like url in a system file; "" stands for the only
// published port. Any other input is read as a system file, which has both.
func (in Input) Definition(name, address string) (Definition, error) {
	if !in.HasServices() {
		return Parse(in.path, in.text)
	}
	absolute, err := filepath.Abs(in.path)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{Name: name, writtenURL: address}
	if in.isCompose {
		d.composeFile = absolute
	} else {
		d.manifests = absolute
	}
	if err := d.resolve(); err != nil {
		return d, fmt.Errorf("%s: %w", in.path, err)
	}
	if d.Name == "" {
		folder := filepath.Base(filepath.Dir(absolute))
		d.Name = cmp.Or(d.project.name, loaded.NameOf(folder))
	}
	return d, joinMistakes(in.path, d.complete())
}
