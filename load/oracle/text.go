package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// textCheck expects a text or a pattern in the body or in a header.
type textCheck struct {
	header  string // name of the header; "": the body
	text    []byte
	pattern *regexp.Regexp // nil: the text is expected
}

// newTextCheck parses "TEXT" or "re:PATTERN".
func newTextCheck(header, text string) (textCheck, error) {
	where := "expected body"
	if header != "" {
		where = "expected header " + header
	}
	expression, isPattern := strings.CutPrefix(text, "re:")
	if text == "" || isPattern && expression == "" {
		return textCheck{}, errors.New(where + ": the text is empty, so every answer would have it")
	}
	if !isPattern {
		return textCheck{header: header, text: []byte(text)}, nil
	}
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return textCheck{}, fmt.Errorf("%s %q: %w", where, text, err)
	}
	return textCheck{header: header, pattern: pattern}, nil
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
