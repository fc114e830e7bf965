package external

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
)

// maxIncluded is the number of compose files that one may include.
const maxIncluded = 100

// readCompose reads a compose file. Files that it includes become part of its text: the plan is enough to
// play the comparison again, and compose commands before 2.20 know no include.
func readCompose(path string) (*lab.Compose, error) {
	text, err := inputfile.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	document, err := parseCompose(text)
	if err != nil || mappingValue(document, "include") == nil {
		return &lab.Compose{Text: string(text), Dir: filepath.Dir(path)}, err
	}
	if err := include(document, filepath.Dir(path), map[string]bool{path: true}); err != nil {
		return nil, err
	}
	merged, err := yamlText(document)
	return &lab.Compose{Text: merged, Dir: filepath.Dir(path)}, err
}

// yamlText returns a node as it is written.
func yamlText(n *yaml.Node) (string, error) {
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	err := errors.Join(encoder.Encode(n), encoder.Close())
	return text.String(), err
}

// parseCompose returns the topmost object of a compose file; an empty one where there is none.
func parseCompose(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if document.Kind == 0 {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	if document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is no set of keys such as services")
	}
	return document.Content[0], nil
}

// mappingValue returns what a key of an object holds; nil where it has no such key.
func mappingValue(object *yaml.Node, key string) *yaml.Node {
	if i := keyIn(object, key); i >= 0 {
		return object.Content[i+1]
	}
	return nil
}

// keyIn returns the place of a key among the keys and values of an object; -1 where it has no such key.
func keyIn(object *yaml.Node, key string) int {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// include puts what the files under the key include hold in the place of that key. seen are the files so far.
func include(document *yaml.Node, dir string, seen map[string]bool) error {
	i := keyIn(document, "include")
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
		included, err := parseCompose(text)
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

// mergeCompose adds the entries of an included file: services, networks and the like. What both have is a
// mistake, as it is to compose.
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

// serviceNames returns the names of the services that a compose file describes, in order.
func serviceNames(c *lab.Compose) ([]string, error) {
	var file struct {
		Services map[string]any `yaml:"services"`
	}
	if err := yaml.Unmarshal([]byte(c.Text), &file); err != nil {
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

// checkPublished returns an error where no service of a compose file publishes the port of a URL on this
// host.
func checkPublished(c *lab.Compose, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return nil // said already
	}
	onHost, isLoopback := loopback(u)
	var file struct {
		Services map[string]struct {
			Ports   []yaml.Node `yaml:"ports"`
			Network string      `yaml:"network_mode"`
			Extends any         `yaml:"extends"`
		} `yaml:"services"`
	}
	if !isLoopback || yaml.Unmarshal([]byte(c.Text), &file) != nil {
		return nil // an address of a container's own; or keys that only the compose command understands
	}
	port := onHost[strings.LastIndexByte(onHost, ':')+1:]
	for _, s := range file.Services {
		if s.Network == "host" || s.Extends != nil ||
			slices.ContainsFunc(s.Ports, func(n yaml.Node) bool { return mayPublish(&n, port) }) {
			return nil
		}
	}
	return fmt.Errorf("url names port %s of this host, and no service of the compose file publishes it: give "+
		"the service ports: [\"127.0.0.1:%s:...\"] with its own port behind the last colon", port, port)
}

// shortPort matches the short form of a published port or range: the host's, then the container's.
var shortPort = regexp.MustCompile(`^(?:.*:)?([0-9]+)(?:-([0-9]+))?:[0-9-]+(?:/tcp)?$`)

// mayPublish reports whether an entry of ports publishes a port of the host, or depends on variables.
func mayPublish(entry *yaml.Node, port string) bool {
	text := entry.Value
	if entry.Kind == yaml.MappingNode {
		published := mappingValue(entry, "published")
		if published == nil {
			return false
		}
		text = published.Value + ":0"
	}
	if strings.Contains(text, "$") {
		return true
	}
	found := shortPort.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	first, _ := strconv.Atoi(found[1]) // digits
	last := first
	if found[2] != "" {
		last, _ = strconv.Atoi(found[2])
	}
	wanted, _ := strconv.Atoi(port)
	return first <= wanted && wanted <= last
}
