package convert

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/cleave-lab/cleave/load/scenario"
)

// identifier returns a name for a value: the text's letters and digits, with one underscore in place of other
// characters between them, and one before a leading digit.
func identifier(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= maxIdentifier {
			break
		}
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			if b.Len() == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	if name := strings.TrimRight(b.String(), "_"); name != "" {
		return name
	}
	return "value"
}

// maxIdentifier bounds the length of names, in bytes, for readability.
const maxIdentifier = 50

// oneLine replaces line ends and unprintable characters by spaces, and shortens long texts.
func oneLine(text string) string {
	const longest = 400
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= longest {
			b.WriteString(" ...")
			break
		}
		if !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// requestTarget escapes the characters that are not allowed in the first line of a request: blanks,
// control characters, quotes, the sign # and everything outside ASCII. It keeps escapes, and references
// to values.
func requestTarget(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>\\^`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// setByEngine reports whether the engine writes a header itself, so that a recorded or configured one
// would be wrong.
func setByEngine(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "connection", "keep-alive", "proxy-connection",
		"transfer-encoding", "upgrade", "te", "trailer", "expect":
		return true
	}
	return strings.HasPrefix(name, ":") // pseudo-headers of HTTP/2
}

// validHeader reports whether a header can be sent.
func validHeader(name, value string) bool {
	return httpguts.ValidHeaderFieldName(name) && !strings.ContainsAny(value, "\r\n\x00")
}

// referencePattern matches a reference to a value in a text that is otherwise constant: its name between two
// characters that do not occur in texts by accident.
var referencePattern = regexp.MustCompile("\ue000([A-Za-z0-9_:.]+)\ue001")

// reference returns the text of a reference to a value of the scenario, or to env:NAME.
func (d *draft) reference(name string) string {
	d.refs[name] = true
	return "\ue000" + name + "\ue001"
}

// readable returns a text for notes, with {name} for each reference.
func readable(text string) string { return referencePattern.ReplaceAllString(text, "{$1}") }

// restoreReferences restores references that were escaped for a URL.
func restoreReferences(path string) string {
	return strings.NewReplacer("%EE%80%80env%3A", "\ue000env:", "%EE%80%80", "\ue000", "%EE%80%81",
		"\ue001").Replace(path)
}

// scenarioText returns a text with references as a text of a scenario; the rest of it is sent as it is. A
// dollar sign before a reference would escape it, so it becomes a value of its own.
func (d *draft) scenarioText(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range referencePattern.FindAllStringSubmatchIndex(text, -1) {
		before, name := text[end:at[0]], text[at[2]:at[3]]
		end = at[1]
		if !d.refs[name] { // the scenario has no such value
			b.WriteString(scenario.Literal(before + name))
			continue
		}
		before, isDollar := strings.CutSuffix(before, "$")
		b.WriteString(scenario.Literal(before))
		if isDollar {
			b.WriteString(d.value("dollar", scenario.Value{Choice: []string{"$"}}))
		}
		b.WriteString("${" + name + "}")
	}
	b.WriteString(scenario.Literal(text[end:]))
	return b.String()
}

// maxBrackets bounds the nesting of brackets, because recursive parsers need stack for it.
const maxBrackets = 500

// nesting returns the depth of nested brackets in a text, including those in quotes.
func nesting(text []byte) int {
	depth, deepest := 0, 0
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return deepest
}
