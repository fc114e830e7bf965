package compose

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

// composeFile holds the parts of a compose file that override reads.
type composeFile struct {
	Version  string         `yaml:"version"`
	Services map[string]any `yaml:"services"`
	Networks map[string]any `yaml:"networks"`
	Volumes  map[string]any `yaml:"volumes"`
}

// override returns a second compose file, which completes the first. It labels everything that is not
// external, moves networks without a range of their own into the range for benchmarks (198.18.0.0/15), and
// binds services to processors, if there are any.
func override(c lab.Compose, label string, processors []int) (string, error) {
	var file composeFile
	var err error
	for decoder := yaml.NewDecoder(strings.NewReader(c.Text)); err == nil; {
		err = decoder.Decode(&file) // each document adds its services
	}
	if !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("compose file: %w", err)
	}
	if len(file.Services) == 0 {
		return "", errors.New("compose file: it has no services")
	}
	labels := map[string]string{leftovers.DockerLabel: label}
	extra := map[string]any{}
	if file.Version != "" {
		extra["version"] = file.Version
	}
	services := map[string]any{}
	for name := range file.Services {
		service := map[string]any{"labels": labels}
		if len(processors) > 0 {
			service["cpuset"] = launch.List(processors)
		}
		services[name] = service
	}
	extra["services"] = services
	extra["networks"] = networks(file.Networks, label)
	volumes := map[string]any{}
	for name, volume := range file.Volumes {
		if !isExternal(volume) {
			volumes[name] = labelled(volume, label)
		}
	}
	if len(volumes) > 0 {
		extra["volumes"] = volumes
	}
	text, err := yaml.Marshal(extra)
	return string(text), err
}

// networks returns the entries of all networks that the project makes, with our label. declared holds the
// networks of the file. A network without a range gets one. A range of the file stays, because services may
// have fixed addresses in it.
func networks(declared map[string]any, label string) map[string]any {
	names := slices.Sorted(maps.Keys(declared))
	if !slices.Contains(names, "default") { // the network of services that name none
		names = append(names, "default")
	}
	first := fnv.New32a()
	_, _ = first.Write([]byte(label)) // never fails
	all := map[string]any{}
	for i, name := range names {
		if isExternal(declared[name]) {
			continue
		}
		network := labelled(declared[name], label)
		network["ipam"] = withRange(network["ipam"], subnet(first.Sum32()+uint32(i)))
		all[name] = network
	}
	return all
}

// subnet returns one of the 256 networks 198.19.0.0/24 to 198.19.255.0/24.
func subnet(n uint32) string { return fmt.Sprintf("198.19.%d.0/24", n%256) }

// labelled returns a copy of an entry of the first compose file with our label. The copy is complete, because
// docker-compose 1 replaces the entry by that of the second file instead of merging the two.
func labelled(entry any, label string) map[string]any {
	keys, _ := entry.(map[string]any)
	whole := maps.Clone(keys)
	labels := map[string]any{}
	if whole == nil {
		whole = map[string]any{}
	}
	switch own := whole["labels"].(type) {
	case map[string]any:
		maps.Copy(labels, own)
	case []any:
		for _, item := range own {
			name, value, _ := strings.Cut(fmt.Sprint(item), "=")
			labels[name] = value
		}
	}
	labels[leftovers.DockerLabel] = label
	whole["labels"] = labels
	delete(whole, "external") // it is false, perhaps written as no, a text in YAML 1.2
	return whole
}

// withRange returns the addresses (ipam) of a network, with a range if the file gives none.
func withRange(ipam any, subnet string) any {
	keys, _ := ipam.(map[string]any)
	if config, _ := keys["config"].([]any); len(config) > 0 {
		return ipam
	}
	whole := map[string]any{}
	maps.Copy(whole, keys)
	whole["config"] = []map[string]string{{"subnet": subnet}}
	return whole
}

// isExternal reports whether a network or volume exists outside of the project: its key external is true, or
// holds its name.
func isExternal(entry any) bool {
	keys, _ := entry.(map[string]any)
	switch external := keys["external"].(type) {
	case bool:
		return external
	case string: // compose commands read more words as booleans than YAML does
		return !slices.Contains([]string{"false", "no", "off", "n"}, strings.ToLower(external))
	}
	return keys["external"] != nil
}
