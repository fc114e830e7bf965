// Package yamlfile reads YAML files that people write by hand: one document, within limits. It collects
// all mistakes with their lines, so that a user sees them at once. It is for files of any kind: its
// callers know what the values mean.
//
// Entry points: Reader.Root, Reader.Documents, Reader.Decode, Reader.Problem, Problems.OrNil,
// Suggest, IsName.
package yamlfile

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Format describes files of one kind. Its limits bound the time and memory that a hostile
// file can take. No honest file comes near them.
type Format struct {
	Kind     string // what one file holds, such as "study"
	Schema   string // with its version, such as "cleave-study/1"
	MaxBytes int
	MaxDepth int  // levels of nesting
	MaxNodes int  // keys and values in the file; an alias counts as many as the value that it repeats
	Aliases  bool // allows anchors, and reads aliases as copies
	// MaxText, if above 0, is the largest number of bytes of a text. Texts are then trimmed, and must neither be
	// empty nor have control characters other than tabs and line ends.
	MaxText int
	Units   map[string]Unit // ways to write numbers, by the last word of a field's yaml tag, such as "span"
}

// Unit is a way to write numbers, such as 30m.
type Unit struct {
	Expected string                            // for messages, such as "a time span such as 90s"
	Parse    func(text string) (float64, bool) // returns false if the text is no such number
}

// SmallFile is the limit in bytes for files that are written by hand as a whole.
const SmallFile = 256 << 10

// Small returns a format with the limits of such files.
func Small(kind, schema string) Format {
	return Format{Kind: kind, Schema: schema, MaxBytes: SmallFile, MaxDepth: 8, MaxNodes: 20_000}
}

// Reader reads one file of a format and collects every mistake in it.
type Reader struct {
	Format
	File     string // only for messages
	Problems Problems
}

// Root parses the only document of the file and returns its topmost value. It returns nil after a mistake
// that makes all else unreadable; the problem is noted.
func (r *Reader) Root(data []byte) *yaml.Node {
	roots := r.parse(data)
	switch {
	case len(r.Problems) > 0:
		return nil
	case len(roots) == 0 || len(roots) == 1 && isNull(roots[0]):
		r.Problem(0, "the file is empty; start with: schema: %s", r.Schema)
		return nil
	case len(roots) > 1:
		r.Problem(0, "the file holds more than one document; write one %s per file", r.Kind)
	}
	root := roots[0]
	if root.Kind == yaml.ScalarNode { // a file of another kind: messages must show nothing of its content
		r.Problem(root.Line, "this is a text, expected keys with values; start with: schema: %s", r.Schema)
		return nil
	}
	if !r.withinLimits(root, 1, new(int)) {
		return nil
	}
	return root
}

// Documents parses a file of any number of documents and returns their topmost values; none where there are
// problems.
func (r *Reader) Documents(data []byte) []*yaml.Node {
	roots := r.parse(data)
	nodes := 0
	for _, root := range roots {
		if !r.withinLimits(root, 1, &nodes) {
			return nil
		}
	}
	return roots
}

// parse returns the topmost value of each document. It only limits the size of the file.
func (r *Reader) parse(data []byte) []*yaml.Node {
	if len(data) > r.MaxBytes {
		r.Problem(0, "the file has %d bytes, at most %d are read", len(data), r.MaxBytes)
		return nil
	}
	var roots []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			r.syntax(data, err)
			return nil
		}
		roots = append(roots, document.Content[0])
	}
}

// MaxName limits the length of a name, in bytes.
const MaxName = 64

// namePattern matches names of any length.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// IsName reports whether a text is a valid name of a study, variant, point, node or system. Names appear in
// paths, in reports and on the command line.
func IsName(name string) bool { return len(name) <= MaxName && namePattern.MatchString(name) }

// syntaxLine matches the line number in messages of the YAML library.
var syntaxLine = regexp.MustCompile(`^line (\d+): `)

// inCollection matches messages of the library's parser. Unlike others they count lines from 0, and name the
// line where a list or a set of keys begins.
var inCollection = regexp.MustCompile(`^did not find expected (',' or|key|'-' indicator|node content|<)`)

// bareBraces matches a word in braces beside other text, which YAML reads as a set of keys.
var bareBraces = regexp.MustCompile(`[^\s\[{,]({[a-zA-Z_]+})|({[a-zA-Z_]+})[^\s\]},#]`)

// syntax notes an error of the YAML library as a problem.
func (r *Reader) syntax(data []byte, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if found := syntaxLine.FindStringSubmatch(message); found != nil {
		line, _ = strconv.Atoi(found[1])
		message = strings.TrimPrefix(message, found[0])
	}
	if !inCollection.MatchString(message) {
		r.Problem(line, "this is no YAML: %s", message)
		return
	}
	line++
	for i, text := range strings.Split(string(data), "\n") {
		if i+1 < line || strings.ContainsAny(text, `"'`) {
			continue
		}
		if found := bareBraces.FindStringSubmatch(text); found != nil {
			r.Problem(i+1, "this is no YAML: put the text with %s in quotes: a brace begins a set of keys",
				found[1]+found[2])
			return
		}
	}
	r.Problem(line, "this is no YAML: %s, in what begins here", message)
}

// withinLimits counts the nodes below one and reports whether all are allowed. It notes the first that is
// not. Aliases make small files large: they are refused, or counted as the copies that they become.
func (r *Reader) withinLimits(node *yaml.Node, depth int, nodes *int) bool {
	*nodes++
	if r.Aliases && node.Kind == yaml.AliasNode {
		*node = *node.Alias
	}
	switch {
	case node.Anchor != "" && !r.Aliases: // every alias needs an anchor
		r.Problem(node.Line, "anchors and aliases are not allowed in %s files", r.Kind)
		return false
	case node.Style&yaml.TaggedStyle != 0:
		r.Problem(node.Line, "the tag %s: tags are not allowed in %s files", node.Tag, r.Kind)
		return false
	case depth > r.MaxDepth:
		r.Problem(node.Line, "nested deeper than %d levels", r.MaxDepth)
		return false
	case *nodes > r.MaxNodes:
		r.Problem(node.Line, "more than %d values in the file", r.MaxNodes)
		return false
	}
	for _, child := range node.Content {
		if !r.withinLimits(child, depth+1, nodes) {
			return false
		}
	}
	return true
}
