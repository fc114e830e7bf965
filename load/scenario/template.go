package scenario

import (
	"fmt"
	"strings"
)

// value is the value of a name in a session.
type value struct {
	text []byte
	bare bool // it is JSON other than a text: a number, true, a list
}

// template is a text with placeholders for values.
type template []part

// part is a constant text and the value after it.
type part struct {
	text []byte
	slot int // slot of the value; -1: there is none
	form form
	kind kind
}

// form is the form in which a placeholder's value is written.
type form uint8

const (
	verbatim   form = iota // unchanged: in bodies, and everywhere if its kind is harmless
	inTarget               // in a request line
	asTarget               // the whole request target, or its beginning
	inHeader               // in the value of a header
	inJSONText             // within the quotes of a JSON text
	asJSON                 // instead of a JSON text, with its own type
)

// kind classifies the values that a name can have, as far as they are known before the load.
type kind uint8

const (
	anyText kind = iota
	plain        // letters, digits and dashes
	number       // a whole number
)

// lookup returns the slot and the kind of a name.
type lookup func(name string) (slot int, of kind, err error)

// newTemplate parses a text with values, which are written in the form as.
func newTemplate(text string, as form, find lookup) (template, error) {
	var t template
	var literal []byte
	for {
		before, rest, found := strings.Cut(text, "${")
		literal = append(literal, before...)
		if !found {
			break
		}
		if strings.HasSuffix(before, "$") { // $${ stands for ${
			literal = append(literal, '{')
			text = rest
			continue
		}
		name, behind, ended := strings.Cut(rest, "}")
		if !ended {
			return nil, fmt.Errorf("${ has no }: write $${ for a plain ${")
		}
		slot, of, err := find(name)
		if err != nil {
			return nil, err
		}
		p := part{text: literal, slot: slot, form: as, kind: of}
		if of != anyText {
			p.form = verbatim
		}
		t = append(t, p)
		literal = nil
		text = behind
	}
	if len(literal) > 0 {
		t = append(t, part{text: literal, slot: -1})
	}
	return t, nil
}

// Literal returns a template that writes the given text.
func Literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// fixed reports whether the template contains no values.
func (t template) fixed() bool { return len(t) == 0 || len(t) == 1 && t[0].slot < 0 }

// appendTo writes the text with its values.
func (t template) appendTo(out []byte, values []value) []byte {
	for i := range t {
		p := &t[i]
		out = append(out, p.text...)
		if p.slot < 0 {
			continue
		}
		if v := &values[p.slot]; p.form == verbatim {
			out = append(out, v.text...)
		} else {
			out = v.appendAs(out, p.form)
		}
	}
	return out
}

// appendAs appends the value in a form in which it cannot end the text around it.
func (v *value) appendAs(out []byte, as form) []byte {
	switch as {
	case asTarget:
		return appendTarget(out, v.text)
	case inTarget:
		return appendURL(out, v.text)
	case inHeader:
		return appendHeaderText(out, v.text)
	case inJSONText:
		return appendJSONText(out, v.text)
	case asJSON:
		if v.bare {
			return append(out, v.text...)
		}
		return append(appendJSONText(append(out, '"'), v.text), '"')
	}
	return append(out, v.text...)
}
