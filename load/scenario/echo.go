package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/oracle"
	"github.com/cleave-lab/cleave/load/record"
)

// echo is an expectation with values of the session, which package oracle does not know: of the value at a
// JSON path, or of a text in a header or in the body.
type echo struct {
	source string // the text as the user wrote it
	text   template
	path   *oracle.Path
	header string // name of the header; "": the body
}

// Literal returns an expectation of the same texts without templates, for texts of a command line.
func (e Expect) Literal() Expect {
	literal := Expect{Status: e.Status}
	for _, text := range e.Body {
		literal.Body = append(literal.Body, literalUnlessPattern(text))
	}
	for name, text := range e.Header {
		literal.Header = with(literal.Header, name, literalUnlessPattern(text))
	}
	for path, text := range e.JSON {
		literal.JSON = with(literal.JSON, path, Literal(text))
	}
	return literal
}

// literalUnlessPattern returns the literal of a text. Patterns are not templates, so it returns them
// unchanged.
func literalUnlessPattern(text string) string {
	if strings.HasPrefix(text, "re:") {
		return text
	}
	return Literal(text)
}

// takeEchoes divides expectations into those with values and fixed ones.
func (c *compiler) takeEchoes(place string, e Expect, names *scope) (fixed Expect, echoes []echo) {
	fixed = Expect{Status: e.Status}
	add := func(text string, path *oracle.Path, header string) (isFixed bool) {
		isPattern := path == nil && strings.HasPrefix(text, "re:")
		if isPattern || !strings.Contains(text, "${") {
			return true
		}
		t, err := newTemplate(text, verbatim, names.find)
		if err != nil {
			c.problem(place, "expect: %v", err)
		}
		echoes = append(echoes, echo{source: text, text: t, path: path, header: header})
		return false
	}
	for _, text := range e.Body {
		if add(text, nil, "") {
			fixed.Body = append(fixed.Body, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		if add(e.Header[name], nil, name) {
			fixed.Header = with(fixed.Header, name, e.Header[name])
		}
	}
	for _, text := range slices.Sorted(maps.Keys(e.JSON)) {
		path, err := oracle.ParsePath(text)
		if err != nil || add(e.JSON[text], &path, "") {
			fixed.JSON = with(fixed.JSON, text, e.JSON[text]) // the oracle reports the error
		}
	}
	return fixed, echoes
}

// with adds to a map, which may be nil, and returns it.
func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// judge judges an answer by the text, which remains in the session for its complaint.
func (e *echo) judge(a *Answer, s *Session, explain bool) (record.Outcome, string) {
	s.echoed = e.text.appendTo(s.echoed[:0], s.values)
	if e.path != nil {
		return oracle.JudgeValue(a, *e.path, s.echoed, explain)
	}
	return oracle.JudgeText(a, e.header, s.echoed, explain)
}

// describe describes the expectation for the report.
func (e *echo) describe() string {
	switch {
	case e.path != nil:
		return "json to have " + e.path.String() + "=" + e.source
	case e.header != "":
		return fmt.Sprintf("header %s to contain %q", e.header, e.source)
	}
	return fmt.Sprintf("body to contain %q", e.source)
}
