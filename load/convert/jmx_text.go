package convert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// piece is a part of a text: as it is, or a reference to a value.
type piece struct {
	text string
	ref  string // the name in the scenario, instead of text
	// unset: the text stands for a property that only JMeter's command line would give.
	unset bool
}

// Limits of what variables can grow to.
const (
	maxExpansion = 10      // how deep variables may refer to others
	maxText      = 1 << 20 // of one text with its variables, in bytes
)

// resolve turns a text with ${variables} and ${__functions()} into a text of a
// scenario.
func (p *testPlan) resolve(e *element, text string) string {
	return p.join(p.pieces(e, text, 0))
}

// join writes pieces as a text of a scenario. A dollar sign in front of a
// reference would escape it and becomes a value of its own.
func (p *testPlan) join(pieces []piece) string {
	var b strings.Builder
	for i, part := range pieces {
		if part.ref != "" {
			b.WriteString("${" + part.ref + "}")
			continue
		}
		text := part.text
		if i+1 < len(pieces) && pieces[i+1].ref != "" && strings.HasSuffix(text, "$") {
			b.WriteString(literal(strings.TrimSuffix(text, "$")))
			b.WriteString(p.value("dollar", scenario.Value{Choice: []string{"$"}}))
			continue
		}
		b.WriteString(literal(text))
	}
	return b.String()
}

// constant resolves a text that must not depend on anything generated.
func (p *testPlan) constant(e *element, text string) (string, bool) {
	return joinConstant(p.pieces(e, text, 0))
}

// joinConstant returns the text of pieces without references.
func joinConstant(pieces []piece) (text string, isConstant bool) {
	var b strings.Builder
	for _, part := range pieces {
		if part.ref != "" {
			return "", false
		}
		b.WriteString(part.text)
	}
	return b.String(), true
}

// number resolves a whole number that must be constant.
func (p *testPlan) number(e *element, property string, otherwise int) int {
	written := e.text(property)
	text, isConstant := p.constant(e, written)
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if written != "" && (!isConstant || err != nil) {
		p.note(e.where(), property+" = "+written, "not a whole number that is known beforehand; "+
			strconv.Itoa(otherwise)+" is used")
	}
	if err != nil || !isConstant {
		return otherwise
	}
	return n
}

// pieces splits a text at its references and resolves them.
func (p *testPlan) pieces(e *element, text string, depth int) []piece {
	var all []piece
	size := 0
	add := func(text string) {
		size += len(text)
		if n := len(all); n > 0 && all[n-1].ref == "" && !all[n-1].unset {
			all[n-1].text += text
		} else if text != "" {
			all = append(all, piece{text: text})
		}
	}
	for {
		before, reference, after, found := cutReference(text)
		add(before)
		if !found {
			return all
		}
		for _, part := range p.reference(e, reference, depth) {
			if part.ref != "" || part.unset {
				all, size = append(all, part), size+len(part.ref)+len(part.text)
			} else {
				add(part.text)
			}
		}
		text = after
		if size > maxText {
			p.note(e.where(), "a text with its variables", fmt.Sprintf("longer than %d bytes; cut off there", maxText))
			return all
		}
	}
}

// cutReference finds the first ${...}, with others nested in it.
func cutReference(text string) (before, reference, after string, found bool) {
	at := strings.Index(text, "${")
	if at < 0 {
		return text, "", "", false
	}
	nested := 0
	for i := at + 2; i < len(text); i++ {
		switch {
		case text[i] == '{':
			nested++
		case text[i] == '}' && nested > 0:
			nested--
		case text[i] == '}':
			return text[:at], text[at+2 : i], text[i+1:], true
		}
	}
	return text, "", "", false
}

// reference resolves what stands between ${ and }.
func (p *testPlan) reference(e *element, name string, depth int) []piece {
	if depth >= maxExpansion {
		p.note(e.where(), "${"+name+"}", "variables refer to each other more than ten deep; sent as this text")
		return []piece{{text: "${" + name + "}"}}
	}
	if strings.HasPrefix(name, "__") {
		return p.function(e, name, depth)
	}
	for at := e; at != nil; at = at.parent {
		if ref, known := at.vars[name]; known {
			return []piece{{ref: ref}}
		}
	}
	if settled, known := p.settled[name]; known {
		return settled
	}
	if text, known := p.constants[name]; known {
		settled := p.pieces(e, text, depth+1)
		p.settled[name] = settled
		return settled
	}
	p.note(e.where(), "${"+name+"}",
		"nothing in what was converted sets this variable; sent as this text, as JMeter does")
	return []piece{{text: "${" + name + "}"}}
}

// setVariable says what a variable that is set at an element is in the scenario.
func (e *element) setVariable(variable, ref string) {
	if e.vars == nil {
		e.vars = map[string]string{}
	}
	if _, known := e.vars[variable]; !known {
		e.vars[variable] = ref
	}
}
