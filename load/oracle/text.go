package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cleave-lab/cleave/load/record"
)

// textCheck expects a text or a pattern in the body or in a header.
type textCheck struct {
	header  string // name of the header; "": the body
	text    []byte
	pattern *regexp.Regexp // nil: the text is expected
}

// newTextCheck parses "TEXT" or "re:PATTERN".
func newTextCheck(header, text string) (textCheck, error) {
	check := textCheck{header: header, text: []byte(text)}
	where := "expected " + check.where()
	expression, isPattern := strings.CutPrefix(text, "re:")
	if expression == "" {
		return textCheck{}, errors.New(where + ": the text is empty, so every answer would have it")
	}
	if !isPattern {
		return check, nil
	}
	var err error
	if check.pattern, err = regexp.Compile(expression); err != nil {
		return textCheck{}, fmt.Errorf("%s %q: %w", where, text, err)
	}
	return check, nil
}

// JudgeText judges an answer by a text that must occur in the header of a name; "": in the body.
func JudgeText(a *Answer, header string, text []byte, explain bool) (record.Outcome, string) {
	if (&textCheck{header: header, text: text}).match(a) { // the usual case, which allocates nothing
		return record.OK, ""
	}
	return (&textCheck{header: header, text: text}).judge(a, explain)
}

// where names the part of the answer.
func (c *textCheck) where() string {
	if c.header == "" {
		return "body"
	}
	return "header " + c.header
}

// judge returns the outcome of an answer, and a complaint if explain is set.
func (c *textCheck) judge(a *Answer, explain bool) (record.Outcome, string) {
	switch {
	case c.match(a):
		return record.OK, ""
	case c.header != "":
		return wrongHeader(a, explain, c)
	}
	return WrongBody(a, explain, c)
}

// match reports whether the answer has the text; a missing header does not match.
func (c *textCheck) match(a *Answer) bool {
	where := a.Body
	if c.header != "" {
		value, found := a.HeaderValue(c.header)
		if !found {
			return false
		}
		where = value
	}
	if c.pattern != nil {
		return c.pattern.Match(where)
	}
	return bytes.Contains(where, c.text)
}

// String returns the end of a sentence that begins with "expected the body" or "expected the header".
func (c *textCheck) String() string {
	if c.pattern != nil {
		return fmt.Sprintf("to match %q", c.pattern)
	}
	return fmt.Sprintf("to contain %q", c.text)
}
