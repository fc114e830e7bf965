package external

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
)

// compose masks the secrets in all documents of a compose file. A file without secrets stays the same byte
// for byte: only a file with masked values is encoded again.
func (m masker) compose(text string) (string, error) {
	var written strings.Builder
	encoder := yaml.NewEncoder(&written)
	masked := false
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			masked = m.node("", &document) || masked
			err = encoder.Encode(&document)
		}
		if err != nil {
			return "", fmt.Errorf("compose file: %w", err)
		}
	}
	err := encoder.Close()
	if masked {
		text = written.String()
	}
	return text, err
}

// node masks the secrets below a node of a compose file, and reports whether it has masked any. name is the
// key of the node, or the option before it in a list.
func (m masker) node(name string, n *yaml.Node) (masked bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			masked = m.node(n.Content[i].Value, n.Content[i+1]) || masked
		}
	case yaml.DocumentNode, yaml.SequenceNode:
		before := ""
		for _, child := range n.Content {
			option := optionOf(before, child.Value)
			before = child.Value
			masked = m.node(option, child) || masked
		}
	case yaml.AliasNode:
		if n.Alias.Kind == yaml.ScalarNode { // what holds others is masked at its anchor
			masked = m.node(name, n.Alias)
		}
	case yaml.ScalarNode:
		if n.Tag == "!!null" || n.Tag == "!!bool" {
			return false
		}
		text, variables := markVariables(n.Value)
		safe := m.scalar(name, text)
		if masked = safe != text; masked {
			n.Value = unmarkVariables(safe, variables)
			n.Tag = "!!str"
			n.Style = yaml.DoubleQuotedStyle // fillCompose relies on it
		}
	}
	return masked
}

// scalar masks the secrets in a text of a compose file, whose variables are marked. name is that of node.
func (m masker) scalar(name, text string) string {
	key, value, isAssignment := strings.Cut(text, "=")
	switch {
	case secret.Named(name):
		return m.masked(name, text)
	case isAssignment && secret.Named(key) && !strings.ContainsAny(key, " \t"):
		return key + "=" + m.masked(key, value)
	}
	return m.argument(name, text)
}

// variableMark stands for a variable, or for a part of one, in a text of a compose file that is being masked.
const variableMark = "\x00"

// composeVariable matches what a compose file has in place of values: $NAME, ${NAME}, ${NAME:?message}, the
// beginning of ${NAME:-default} and of ${NAME:+other}, and } as their end. $$ stands for $.
var composeVariable = regexp.MustCompile(
	`\$\$|\$\{[A-Za-z_]\w*(?:\}|:?\?[^}]*\}|:?[-+])|\$[A-Za-z_]\w*|\}|` + variableMark)

// markVariables returns the plain text of a text of a compose file, with marks in place of its variables,
// which it also returns. A default is part of the text.
func markVariables(text string) (marked string, variables []string) {
	open := 0 // variables with a default that has not ended
	marked = composeVariable.ReplaceAllStringFunc(text, func(found string) string {
		switch {
		case found == "$$":
			return "$"
		case found == "}" && open == 0:
			return found
		case found == "}":
			open--
		case strings.HasSuffix(found, "-") || strings.HasSuffix(found, "+"):
			open++
		}
		variables = append(variables, found)
		return variableMark
	})
	return marked, variables
}

// unmarkVariables is the reverse of markVariables. It leaves references to masked values.
func unmarkVariables(marked string, variables []string) string {
	escaped := strings.ReplaceAll(marked, "$", "$$")
	escaped = strings.ReplaceAll(escaped, "$${"+secret.Prefix, "${"+secret.Prefix)
	var text strings.Builder
	for i, piece := range strings.Split(escaped, variableMark) {
		if i > 0 {
			text.WriteString(variables[i-1])
		}
		text.WriteString(piece)
	}
	return text.String()
}

// fillCompose returns a compose file with the masked values filled in. The compose command cannot do that:
// version 1 leaves a variable within the default of another.
func (s System) fillCompose(c *lab.Compose) (*lab.Compose, error) {
	var values []string
	var missing secret.MissingError
	for _, name := range secret.MaskedIn(c.Text) {
		value, known := s.Secrets.Value(name, nil)
		if !known && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		escaped := strings.ReplaceAll(value, "$", "$$")
		quoted, err := yamlText(&yaml.Node{Kind: yaml.ScalarNode, Value: escaped, Style: yaml.DoubleQuotedStyle})
		if err != nil {
			return nil, err
		}
		inQuotes := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), "\"\n")
		values = append(values, secret.Reference(name), inQuotes)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("compose: %w", missing)
	}
	return &lab.Compose{Text: strings.NewReplacer(values...).Replace(c.Text), Dir: c.Dir}, nil
}
