package study

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Limits of a study file. They bound what a hostile file can cost; no honest
// study comes near them.
const (
	maxBytes = 256 << 10
	maxDepth = 8
	maxNodes = 20_000
	maxText  = 2_000 // bytes in one text
)

// reader walks the nodes of a YAML document and collects every mistake.
type reader struct {
	file     string
	problems Problems
}

func (r *reader) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Message: fmt.Sprintf(format, args...)})
}

// document parses the only document of the file and checks the limits.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > maxBytes {
		r.problem(0, "the file has %d bytes, at most %d are read", len(data), maxBytes)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		r.syntax(err)
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.problem(0, "the file holds more than one document; write one study per file")
	}
	root := document.Content[0]
	nodes := 0
	if !r.withinLimits(root, 1, &nodes) {
		return nil
	}
	return root
}

// syntaxLine finds the line that the YAML library names in its message.
func (r *reader) syntax(err error) {
	if errors.Is(err, io.EOF) {
		r.problem(0, "the file is empty; start with: schema: cleave-study/1")
		return
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	found := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(message)
	if found == nil {
		r.problem(0, "this is no YAML: %s", message)
		return
	}
	line, _ := strconv.Atoi(found[1])
	r.problem(line, "this is no YAML: %s", strings.TrimPrefix(message, found[0]))
}

func (r *reader) withinLimits(node *yaml.Node, depth int, nodes *int) bool {
	*nodes++
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		r.problem(node.Line, "anchors and aliases are not allowed in study files")
		return false
	case depth > maxDepth:
		r.problem(node.Line, "nested deeper than %d levels", maxDepth)
		return false
	case *nodes > maxNodes:
		r.problem(node.Line, "more than %d values in the file", maxNodes)
		return false
	}
	for _, child := range node.Content {
		if !r.withinLimits(child, depth+1, nodes) {
			return false
		}
	}
	return true
}

// fields hands every value of an object to the reader of its key. Unknown,
// repeated and missing keys are problems.
type fields map[string]func(*yaml.Node)

func (r *reader) object(node *yaml.Node, what string, known fields, required ...string) {
	seen := r.pairs(node, what, func(key *yaml.Node, value *yaml.Node) {
		read, ok := known[key.Value]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			r.problem(key.Line, "%s has no key %q%s; it takes %s", what, key.Value, suggest(key.Value, names), strings.Join(names, ", "))
			return
		}
		read(value)
	})
	for _, key := range required {
		if seen != nil && !seen[key] {
			r.problem(node.Line, "%s needs the key %q", what, key)
		}
	}
}

// pairs calls visit for every key of a mapping, in order, and returns the keys.
func (r *reader) pairs(node *yaml.Node, what string, visit func(key, value *yaml.Node)) map[string]bool {
	if node.Kind != yaml.MappingNode {
		r.problem(node.Line, "%s is %s, expected keys with values", what, kindOf(node))
		return nil
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if seen[key.Value] {
			r.problem(key.Line, "%s has the key %q twice", what, key.Value)
			continue
		}
		seen[key.Value] = true
		visit(key, value)
	}
	return seen
}

func (r *reader) list(node *yaml.Node, what string, visit func(*yaml.Node)) {
	if node.Kind != yaml.SequenceNode {
		r.problem(node.Line, "%s is %s, expected a list", what, kindOf(node))
		return
	}
	for _, child := range node.Content {
		visit(child)
	}
}

// text returns a reader of a text value.
func (r *reader) text(what string, into *string) func(*yaml.Node) {
	return func(node *yaml.Node) {
		switch {
		case node.Kind != yaml.ScalarNode:
			r.problem(node.Line, "%s is %s, expected a text", what, kindOf(node))
		case len(node.Value) > maxText:
			r.problem(node.Line, "%s has %d bytes, at most %d are allowed", what, len(node.Value), maxText)
		default:
			*into = strings.TrimSpace(node.Value)
		}
	}
}

func (r *reader) texts(what string, into *[]string) func(*yaml.Node) {
	return func(node *yaml.Node) {
		r.list(node, what, func(child *yaml.Node) {
			var text string
			r.text(what, &text)(child)
			*into = append(*into, text)
		})
	}
}

// number returns a reader of a number within limits.
func (r *reader) number(what string, lowest, highest float64, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.ParseFloat(node.Value, 64)
		if node.Kind != yaml.ScalarNode || err != nil || !(value >= lowest && value <= highest) {
			r.problem(node.Line, "%s is %s, expected a number from %g to %g", what, show(node), lowest, highest)
			return
		}
		*into = value
	}
}

func (r *reader) whole(what string, lowest, highest int, into *int) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.Atoi(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil || value < lowest || value > highest {
			r.problem(node.Line, "%s is %s, expected a whole number from %d to %d", what, show(node), lowest, highest)
			return
		}
		*into = value
	}
}

// flag returns a reader of true or false.
func (r *reader) flag(what string, into *bool) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.ParseBool(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil {
			r.problem(node.Line, "%s is %s, expected true or false", what, show(node))
			return
		}
		*into = value
	}
}

func (r *reader) seed(into *uint64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		value, err := strconv.ParseUint(node.Value, 10, 64)
		if node.Kind != yaml.ScalarNode || err != nil {
			r.problem(node.Line, "seed is %s, expected a whole number from 0 to %d", show(node), uint64(math.MaxUint64))
			return
		}
		*into = value
	}
}

// share returns a reader of a share of one, as a percentage or a fraction.
func (r *reader) share(what string, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		digits, percent := strings.CutSuffix(node.Value, "%")
		value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if percent {
			value /= 100
		}
		if node.Kind != yaml.ScalarNode || err != nil || !(value >= 0 && value < 1) {
			r.problem(node.Line, "%s is %s, expected a share such as 5%% or 0.05", what, show(node))
			return
		}
		*into = value
	}
}

// duration returns a reader of a time span, into seconds.
func (r *reader) duration(what string, into *float64) func(*yaml.Node) {
	return func(node *yaml.Node) {
		span, err := time.ParseDuration(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil || span <= 0 {
			r.problem(node.Line, "%s is %s, expected a time span such as 90s or 30m", what, show(node))
			return
		}
		*into = span.Seconds()
	}
}

func show(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		return strconv.Quote(node.Value)
	}
	return kindOf(node)
}

func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a set of keys"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "empty"
		}
		return "the value " + strconv.Quote(node.Value)
	}
	return "something else"
}

// suggest names the known word that the writer may have meant: the one that
// shares its letters, or differs in few.
func suggest(word string, known []string) string {
	best, least := "", 3 // more than two changed letters is another word
	for _, candidate := range known {
		if d := editDistance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance is Levenshtein's distance with swaps of neighbours counting one.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
