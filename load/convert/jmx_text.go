package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// Limits for the expansion of variables.
const (
	longestText  = 1 << 16 // length of the longest generated text, in letters
	maxExpansion = 10      // depth of references from variable to variable
	maxText      = 1 << 20 // size of one text with its variables, or of one body, in bytes
)

// unset marks the value of a JMeter property that has no default in the plan: the command line sets such a
// property, so address does not take a server with the mark as known.
const unset = "\ue002"

// resolve converts a text with ${variables} and ${__functions()} to a text of a scenario.
func (p *testPlan) resolve(e *element, text string) string {
	return p.scenarioText(p.expand(e, text, 0))
}

// constant resolves a text that must not contain generated values; ok is false if it does.
func (p *testPlan) constant(e *element, text string) (constant string, ok bool) {
	constant = p.expand(e, text, 0)
	if referencePattern.MatchString(constant) {
		return "", false
	}
	return constant, true
}

// number returns the number in a property, from -2^53 to 2^53. It returns the fallback if the property is
// empty, or is no number that is known beforehand.
func (p *testPlan) number(e *element, property string, fallback float64) float64 {
	const most = 1 << 53 // the largest range of whole numbers without gaps
	written := e.text(property)
	text, isConstant := p.constant(e, written)
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && isConstant && !math.IsNaN(n) {
		return min(max(n, -most), most)
	}
	if written != "" {
		p.note(e.where(), property+" = "+written, "not a number that is known beforehand; "+
			strconv.FormatFloat(fallback, 'g', -1, 64)+" is used")
	}
	return fallback
}

// span returns a time that is written in a unit.
func (p *testPlan) span(e *element, property string, unit time.Duration) scenario.Duration {
	longest := float64(366 * 24 * time.Hour / unit)
	units := min(max(p.number(e, property, 0), 0), longest)
	span := time.Duration(units * float64(unit))
	return scenario.Duration(span.Round(time.Microsecond))
}

// expand replaces the variables and functions in a text by their values or by references (see
// draft.reference). depth is the number of variables and calls whose values or arguments contain the text.
func (p *testPlan) expand(e *element, text string, depth int) string {
	return strings.ReplaceAll(p.expandMarked(e, text, depth), unset, "")
}

// expandMarked is expand, but it keeps the marks of properties without a default (see unset).
func (p *testPlan) expandMarked(e *element, text string, depth int) string {
	if _, _, _, found := cutReference(text); !found {
		return text // with its backslashes, as in JMeter
	}
	return p.expandEscaped(e, text, depth)
}

// escapes removes the backslashes that escape in texts with references, and in arguments of functions.
var escapes = strings.NewReplacer(`\\`, `\`, `\,`, ",", `\$`, "$")

// expandEscaped is expandMarked for a text in which backslashes escape.
func (p *testPlan) expandEscaped(e *element, text string, depth int) string {
	var b strings.Builder
	for {
		before, reference, after, found := cutReference(text)
		b.WriteString(escapes.Replace(before))
		if !found {
			return b.String()
		}
		b.WriteString(p.variable(e, reference, depth))
		if text = after; b.Len() > maxText {
			p.note(e.where(), "a text with its variables", fmt.Sprintf("longer than %d bytes; cut off there", maxText))
			return b.String()
		}
	}
}

// cutReference cuts out the first ${...}, which may contain other references. A backslash takes the meaning
// of the character after it.
func cutReference(text string) (before, reference, after string, found bool) {
	begin, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case depth == 0 && strings.HasPrefix(text[i:], "${"):
			begin = i
			depth++
			i++
		case depth == 0:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[:begin], text[begin+2 : i], text[i+1:], true
			}
		}
	}
	return text, "", "", false
}

// variable returns the replacement of ${name}, like expandMarked. Variables that the thread group has
// extracted come first, then those set at the element and its parents, then constants. Unknown variables stay
// as they are.
func (p *testPlan) variable(e *element, name string, depth int) string {
	if depth >= maxExpansion {
		p.note(e.where(), "${"+name+"}", "variables refer to each other more than ten deep; sent as this text")
		return "${" + name + "}"
	}
	if strings.HasPrefix(name, "__") {
		return p.function(e, name, depth)
	}
	if ref, known := p.group.names[name]; known {
		return p.reference(ref)
	}
	for at := e; at != nil; at = at.parent {
		if ref, known := at.vars[name]; known {
			return p.reference(ref)
		}
	}
	if resolved, known := p.resolved[name]; known {
		return resolved
	}
	if text, known := p.constants[name]; known {
		resolved := p.expandMarked(e, text, depth+1)
		p.resolved[name] = resolved
		return resolved
	}
	p.note(e.where(), "${"+name+"}",
		"nothing in what was converted sets this variable, and no step before it extracts it; sent as this "+
			"text, as JMeter does")
	return "${" + name + "}"
}

// function converts a function of JMeter to a generated value. Every call in the plan has its own value,
// which is drawn once for each flow. If the call of a drawn value names a variable, the value is also set as
// that variable of the thread group.
func (p *testPlan) function(e *element, call string, depth int) string {
	name, args := splitCall(call)
	for i := range args {
		args[i] = strings.ReplaceAll(p.expandEscaped(e, args[i], depth+1), unset, "")
	}
	padded := slices.Concat(args, make([]string, 3))
	// arg returns an argument without outer blanks; "" if it is missing. i is at most 2.
	arg := func(i int) string { return strings.TrimSpace(padded[i]) }
	// drawn adds a generated value, sets the variable if the call names one, and returns the reference.
	drawn := func(preferred, variable string, v scenario.Value) string {
		ref := p.newValue(cmp.Or(variable, preferred), v)
		if variable != "" {
			p.group.setVariable(variable, ref)
		}
		return p.reference(ref)
	}
	from, fromErr := strconv.ParseInt(arg(0), 10, 64)
	to, toErr := strconv.ParseInt(arg(1), 10, 64)
	switch {
	case name == "__UUID":
		return drawn("uuid", "", scenario.Value{UUID: &struct{}{}})
	case name == "__Random" && fromErr == nil && toErr == nil && from <= to:
		return drawn("random", arg(2), scenario.Value{Integer: &scenario.Range{From: from, To: to}})
	case name == "__RandomString" && fromErr == nil && from > 0 && from <= longestText:
		if arg(1) != "" {
			p.note(e.where(), "${"+call+"}", "drawn from all letters and digits, not from these characters")
		}
		return drawn("text", arg(2), scenario.Value{Text: &scenario.Text{Length: int(from)}})
	case name == "__counter":
		if !strings.EqualFold(arg(0), "false") {
			p.note(e.where(), "${"+call+"}", "counts over all users, not for each one")
		}
		return drawn("counter", arg(1), scenario.Value{Sequence: new(int64(1))})
	case name == "__threadNum":
		p.note(e.where(), "${"+call+"}",
			"a flow does not know its user: drawn from the users' numbers for every flow")
		users := int64(max(1, p.group.load.Users))
		return drawn("thread", "", scenario.Value{Integer: &scenario.Range{From: 1, To: users}})
	case name == "__P" || name == "__property":
		value, at := "1", 1 // JMeter's own default of __P, and the index of the argument that replaces it
		if name == "__property" {
			value = arg(0)
			at = 2
		}
		mark := unset
		if at < len(args) {
			value, mark = args[at], ""
		}
		p.note(e.where(), "${"+call+"}", "properties of JMeter's command line have no counterpart; the default "+
			strconv.Quote(readable(value))+" is used")
		return mark + value
	}
	p.note(e.where(), "${"+call+"}",
		"this function, or these arguments of it, have no counterpart; sent as this text, so replace it")
	return "${" + call + "}"
}

// splitCall splits a call at its commas, except escaped commas and commas in references. The arguments keep
// their backslashes.
func splitCall(call string) (name string, args []string) {
	name, rest, hasArgs := strings.Cut(call, "(")
	if !hasArgs {
		return strings.TrimSpace(name), nil
	}
	rest = strings.TrimSuffix(strings.TrimSpace(rest), ")")
	var current strings.Builder
	nested := 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\' && i+1 < len(rest):
			current.WriteString(rest[i : i+2])
			i++
		case c == ',' && nested == 0:
			args = append(args, current.String())
			current.Reset()
		default:
			if c == '{' {
				nested++
			} else if c == '}' {
				nested--
			}
			current.WriteByte(c)
		}
	}
	return strings.TrimSpace(name), append(args, current.String())
}
