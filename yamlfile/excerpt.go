package yamlfile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// longestExcerpt is the number of characters of a text that a message shows. The user may have named the
// wrong file, and it may hold secrets.
const longestExcerpt = 80

// Excerpt returns the beginning of the first line of a text; " ..." replaces the rest.
func Excerpt(text string) string {
	line, _, more := strings.Cut(text, "\n")
	line = strings.TrimSuffix(line, "\r")
	if runes := []rune(line); len(runes) > longestExcerpt {
		line, more = string(runes[:longestExcerpt]), true
	}
	if more {
		line += " ..."
	}
	return line
}

// Message is fmt.Sprintf, except that %q shows only an excerpt of a string.
func Message(format string, args ...any) string {
	for i, arg := range args {
		if text, isText := arg.(string); isText {
			args[i] = quoted(text)
		}
	}
	return fmt.Sprintf(format, args...)
}

// quoted is a text of which %q shows an excerpt.
type quoted string

// Format implements fmt.Formatter.
func (q quoted) Format(state fmt.State, verb rune) {
	text := string(q)
	if verb == 'q' {
		text = Excerpt(text)
	}
	_, _ = fmt.Fprintf(state, fmt.FormatString(state, verb), text) // fmt reports errors itself
}

// show describes a node in a message: a mapping and a list by their kind, a text by an excerpt.
func show(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a set of keys"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Tag == "!!null":
		return "empty"
	}
	return strconv.Quote(Excerpt(node.Value))
}
