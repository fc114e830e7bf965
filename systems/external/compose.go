package external

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
)

// maxIncluded limits the compose files that one file includes.
const maxIncluded = 100

// readCompose reads a compose file. The files that it includes become part of its text, so that the plan
// alone can repeat the comparison. Besides, compose commands before 2.20 do not support include.
func readCompose(path string) (*lab.Compose, error) {
	text, err := inputfile.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	document, several, err := parseCompose(text)
	if err != nil || mappingValue(document, "include") == nil {
		return &lab.Compose{Text: string(text), Dir: filepath.Dir(path)}, err
	}
	if several {
		return nil, errDocuments
	}
	if err := include(document, filepath.Dir(path), map[string]bool{path: true}); err != nil {
		return nil, err
	}
	merged, err := yamlText(document)
	return &lab.Compose{Text: merged, Dir: filepath.Dir(path)}, err
}

// yamlText returns the YAML text of a node.
func yamlText(n *yaml.Node) (string, error) {
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	err := errors.Join(encoder.Encode(n), encoder.Close())
	return text.String(), err
}

// errDocuments is the error of files whose text includes would change.
var errDocuments = errors.New("a file of several YAML documents cannot include others, nor " +
	"be included: name what docker compose config prints")

// parseCompose returns the root object of the first document of a compose file, which is empty if the file
// is. It reports whether the file has several documents.
func parseCompose(text []byte) (root *yaml.Node, several bool, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode}, false, nil
	} else if err != nil {
		return nil, false, err
	}
	if document.Content[0].Kind != yaml.MappingNode {
		return nil, false, errors.New("it is no set of keys such as services")
	}
	return document.Content[0], !errors.Is(decoder.Decode(&yaml.Node{}), io.EOF), nil
}

// mappingValue returns the value of a key of an object, or nil if it has no such key.
func mappingValue(object *yaml.Node, key string) *yaml.Node {
	if i := keyIndex(object, key); i >= 0 {
		return object.Content[i+1]
	}
	return nil
}

// keyIndex returns the index of a key in the contents of an object, or -1 if it has no such key.
func keyIndex(object *yaml.Node, key string) int {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// include replaces the key include of a compose file with the contents of the included files. seen has the
// files that were read before.
func include(document *yaml.Node, dir string, seen map[string]bool) error {
	i := keyIndex(document, "include")
	if i < 0 {
		return nil
	}
	var paths []string
	if err := document.Content[i+1].Decode(&paths); err != nil {
		return errors.New("include: only a list of files is read: write include: [other.yaml], or name what " +
			"docker compose config prints")
	}
	document.Content = slices.Delete(document.Content, i, i+2)
	for _, name := range paths {
		path := within(dir, name)
		switch {
		case seen[path]:
			return fmt.Errorf("include: %s is included twice", name)
		case len(seen) > maxIncluded:
			return fmt.Errorf("include: more than %d files", maxIncluded)
		case filepath.Dir(path) != dir:
			return fmt.Errorf("include: %s lies in another folder, from which its paths are meant: name what docker "+
				"compose config prints in its place", name)
		}
		seen[path] = true
		text, err := inputfile.Read(path, maxFile)
		if err != nil {
			return fmt.Errorf("include: %w", err)
		}
		included, several, err := parseCompose(text)
		if err == nil && several {
			err = errDocuments
		}
		if err == nil {
			err = include(included, dir, seen)
		}
		if err == nil {
			err = mergeCompose(document, included)
		}
		if err != nil {
			return fmt.Errorf("include: %s: %w", name, err)
		}
	}
	return nil
}

// mergeCompose adds the services, networks and so on of an included file. As with docker compose, it is a
// mistake if both files have one of the same name.
func mergeCompose(document, included *yaml.Node) error {
	for i := 0; i+1 < len(included.Content); i += 2 {
		kind, entries := included.Content[i], included.Content[i+1]
		known := mappingValue(document, kind.Value)
		switch {
		case kind.Value == "name" || kind.Value == "version":
		case known == nil:
			document.Content = append(document.Content, kind, entries)
		case known.Kind != yaml.MappingNode || entries.Kind != yaml.MappingNode:
			return fmt.Errorf("%s is no set of names", kind.Value)
		default:
			for j := 0; j+1 < len(entries.Content); j += 2 {
				if name := entries.Content[j].Value; mappingValue(known, name) != nil {
					return fmt.Errorf("%s has %s, and so has the file that includes it", kind.Value, name)
				}
			}
			known.Content = append(known.Content, entries.Content...)
		}
	}
	return nil
}

// serviceNames returns the sorted names of the services of a compose file, in all its documents.
func serviceNames(c *lab.Compose) ([]string, error) {
	var file struct {
		Services map[string]any `yaml:"services"`
	}
	var err error
	for decoder := yaml.NewDecoder(strings.NewReader(c.Text)); err == nil; {
		err = decoder.Decode(&file) // each document adds its services
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("compose file: %w", err)
	}
	names := slices.Sorted(maps.Keys(file.Services))
	switch {
	case len(names) == 0:
		return nil, errors.New("compose file: it has no services")
	case slices.Contains(names, lab.RoleGenerator):
		return nil, fmt.Errorf("compose file: its service %s has the name of what loads it: give it another one",
			lab.RoleGenerator)
	}
	return names, nil
}

// byCommand makes the definition a system whose containers the compose command starts.
func (d *Definition) byCommand() error {
	described, err := readCompose(d.composeFile)
	if err != nil {
		return fmt.Errorf("compose: %w", err)
	}
	d.Compose = described
	if _, err := serviceNames(described); err != nil {
		return err
	}
	u, err := url.Parse(d.URL)
	if err != nil || d.project == nil {
		return nil // a wrong URL is reported elsewhere; without a project only the compose command reads the file
	}
	if d.URL != "" && serviceIn(d.project.services, u.Hostname()) == nil {
		return d.project.checkPublished(u)
	}
	entry, err := d.project.findEntry(d.URL)
	if err != nil {
		return fmt.Errorf("compose: %w", err)
	}
	if entry.published == "" {
		return fmt.Errorf("compose: the compose command reaches %s:%d by a port of this host only: give the "+
			"service ports: [\"127.0.0.1:PORT:%d\"]", entry.service, entry.port, entry.port)
	}
	d.URL = d.urlAt(entry.published)
	return nil
}

// checkPublished returns an error if a URL is one of this host, and no service publishes its port.
func (p *project) checkPublished(u *url.URL) error {
	onHost, isLoopback := loopback(u)
	if p.anyPort || !isLoopback {
		return nil
	}
	if _, isPublished := p.publishedAt(onHost); isPublished {
		return nil
	}
	_, port, _ := net.SplitHostPort(onHost)
	return fmt.Errorf("url names port %s of this host, and no service of the compose file publishes it: give "+
		"the service ports: [\"127.0.0.1:%s:...\"] with its own port behind the last colon", port, port)
}
