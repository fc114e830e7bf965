package scenario

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a scenario file. They bound what a hostile file can cost.
const (
	maxBytes = 4 << 20
	maxDepth = 40
	maxNodes = 200_000
)

// Parse reads a scenario file. path is only used in messages. The error is of
// type Problems and names all mistakes, those that Compile would find included.
func Parse(path string, data []byte) (*File, error) {
	r := &reader{position: position{file: path, lines: map[string]int{}}}
	root := r.document(data)
	if root == nil {
		return nil, r.problems.orNil()
	}
	f := new(File)
	r.read(root, "", reflect.ValueOf(f).Elem())
	f.origin = r.position
	if len(r.problems) > 0 {
		return nil, r.withCompiled(f)
	}
	return f, nil
}

// withCompiled adds what Compile finds in the rest of the file.
func (r *reader) withCompiled(f *File) error {
	seen := map[int]bool{}
	for _, p := range r.problems {
		seen[p.Line] = true
	}
	_, err := f.Compile(filepath.Dir(r.file))
	var more Problems
	if errors.As(err, &more) {
		for _, p := range more {
			if !seen[p.Line] { // otherwise it follows from what is said already
				r.problems = append(r.problems, p)
			}
		}
	}
	return r.problems.orNil()
}

// reader walks the nodes of a YAML document and collects every mistake.
type reader struct {
	position
	problems Problems
}

func (r *reader) wrong(line int, format string, args ...any) {
	p := r.problem("", format, args...)
	p.Line = line
	r.problems = append(r.problems, p)
}

// document parses the only document of the file and checks the limits.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > maxBytes {
		r.wrong(0, "the file has %d bytes, at most %d are read", len(data), maxBytes)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		r.syntax(err)
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.wrong(0, "the file holds more than one document; write one scenario per file")
	}
	root := document.Content[0]
	nodes := 0
	if !r.withinLimits(root, 1, &nodes) {
		return nil
	}
	return root
}

// syntaxLine finds the line that the YAML library names in its message.
var syntaxLine = regexp.MustCompile(`^line (\d+): `)

func (r *reader) syntax(err error) {
	if errors.Is(err, io.EOF) {
		r.wrong(0, "the file is empty; start with: schema: %s", Schema)
		return
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if found := syntaxLine.FindStringSubmatch(message); found != nil {
		line, _ = strconv.Atoi(found[1])
		message = strings.TrimPrefix(message, found[0])
	}
	r.wrong(line, "this is no YAML: %s", message)
}

func (r *reader) withinLimits(node *yaml.Node, depth int, nodes *int) bool {
	*nodes++
	switch {
	case node.Anchor != "": // there are no aliases without one
		r.wrong(node.Line, "anchors and aliases are not allowed in scenario files")
		return false
	case depth > maxDepth:
		r.wrong(node.Line, "nested deeper than %d levels", maxDepth)
		return false
	case *nodes > maxNodes:
		r.wrong(node.Line, "more than %d values in the file", maxNodes)
		return false
	}
	for _, child := range node.Content {
		if !r.withinLimits(child, depth+1, nodes) {
			return false
		}
	}
	return true
}
