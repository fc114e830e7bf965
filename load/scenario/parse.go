package scenario

import (
	"errors"
	"path/filepath"

	"github.com/cleave-lab/cleave/yamlfile"
)

// Limits of a scenario file.
const (
	MaxBytes = 4 << 20
	maxDepth = 40
	maxNodes = 200_000
)

// format returns the format of scenario files.
func format() yamlfile.Format {
	return yamlfile.Format{
		Kind: "scenario", Schema: Schema,
		MaxBytes: MaxBytes, MaxDepth: maxDepth, MaxNodes: maxNodes,
	}
}

// Problems are all mistakes of a scenario, in the order of lines. Parse and Compile return them as an
// error.
type Problems = yamlfile.Problems

// Parse reads a scenario file; Compile checks what it says. The error is of type Problems and names all
// mistakes, also those that Compile would find in the rest of the file. Their lines are of path, in whose
// folder data files are looked for.
func Parse(path string, data []byte) (*File, error) {
	r := &yamlfile.Reader{Format: format(), File: path}
	root := r.Root(data)
	if root == nil {
		return nil, r.Problems.OrNil()
	}
	f := new(File)
	f.origin = position{file: path, lines: r.Decode(root, f)}
	if len(r.Problems) > 0 {
		return nil, withCompiled(r, f)
	}
	return f, nil
}

// withCompiled returns the mistakes of the reader, with those that Compile finds in what could be read.
func withCompiled(r *yamlfile.Reader, f *File) error {
	seen := map[int]bool{}
	for _, p := range r.Problems {
		seen[p.Line] = true
	}
	_, err := f.Compile(filepath.Dir(r.File))
	var more Problems
	if errors.As(err, &more) {
		for _, p := range more {
			if !seen[p.Line] { // otherwise it may follow from the first mistake
				r.Problems = append(r.Problems, p)
			}
		}
	}
	return r.Problems.OrNil()
}

// position holds the positions of the parts of a scenario in its file. It is empty for a scenario that
// was built in Go.
type position struct {
	file  string
	lines map[string]int // by place, such as flows[0].steps[1].request
}

// problem returns a mistake at a place, or at the top of the file if the place is missing.
func (p *position) problem(place, format string, args ...any) yamlfile.Problem {
	message := yamlfile.Message(format, args...)
	if p.lines == nil {
		if place != "" {
			message = place + ": " + message
		}
		return yamlfile.Problem{File: p.file, Message: message}
	}
	line, found := p.lines[place]
	if !found {
		line = p.lines[""]
	}
	return yamlfile.Problem{File: p.file, Line: line, Message: message}
}
