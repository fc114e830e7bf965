package convert

import (
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// function maps a function of JMeter to a generated value. Every use draws for
// itself, as in JMeter, but once per flow.
func (p *testPlan) function(e *element, call string, depth int) []piece {
	name, args := splitCall(call)
	for i := range args {
		if text, isConstant := joinConstant(p.pieces(e, args[i], depth+1)); isConstant {
			args[i] = text
		}
	}
	arg := func(i int) string {
		if i < len(args) {
			return strings.TrimSpace(args[i])
		}
		return ""
	}
	switch name {
	case "__UUID":
		return p.generated(e, "uuid", "", scenario.Value{UUID: &struct{}{}})
	case "__Random":
		from, low := strconv.ParseInt(arg(0), 10, 64)
		to, high := strconv.ParseInt(arg(1), 10, 64)
		if low == nil && high == nil && from <= to {
			return p.generated(e, "random", arg(2), scenario.Value{Integer: &scenario.Range{From: from, To: to}})
		}
	case "__RandomString":
		length, err := strconv.Atoi(arg(0))
		if err == nil && length > 0 && length <= longestText {
			if arg(1) != "" {
				p.note(e.where(), "${"+call+"}", "drawn from all letters and digits, not from these characters")
			}
			return p.generated(e, "text", arg(2), scenario.Value{Text: &scenario.Text{Length: length}})
		}
	case "__counter":
		if !strings.EqualFold(arg(0), "false") {
			p.note(e.where(), "${"+call+"}", "counts over all users, not for each one")
		}
		return p.generated(e, "counter", arg(1), scenario.Value{Sequence: new(int64(1))})
	case "__threadNum":
		return p.threadNumber(e, call, depth)
	case "__P":
		return p.property(e, call, arg(0), args, 1)
	case "__property":
		return p.property(e, call, arg(0), args, 2)
	}
	p.note(e.where(), "${"+call+"}",
		"this function, or these arguments of it, have no counterpart; sent as this text, so replace it")
	return []piece{{text: "${" + call + "}"}}
}

// longestText bounds generated texts, in letters.
const longestText = 1 << 16

// generated adds a value; a function that also sets a variable sets it for the
// thread group.
func (p *testPlan) generated(e *element, wish, variable string, v scenario.Value) []piece {
	if variable != "" {
		wish = variable
	}
	reference := p.value(wish, v)
	name := reference[len("${") : len(reference)-len("}")]
	if variable != "" {
		e.group().setVariable(variable, name)
	}
	return []piece{{ref: name}}
}

// group returns the thread group of an element, or the top of the plan.
func (e *element) group() *element {
	at := e
	for at.parent != nil && !isGroup(at.class) {
		at = at.parent
	}
	return at
}

// threadNumber maps the number of a user to one drawn for each flow.
func (p *testPlan) threadNumber(e *element, call string, depth int) []piece {
	users := 1
	group := e.group()
	text, isConstant := joinConstant(p.pieces(group, group.text(usersOf(group.class)), depth+1))
	if n, err := strconv.Atoi(strings.TrimSpace(text)); isConstant && err == nil {
		users = max(1, n)
	}
	p.note(e.where(), "${"+call+"}",
		"a flow does not know its user: drawn from the users' numbers for every flow")
	return p.generated(e, "thread", "", scenario.Value{Integer: &scenario.Range{From: 1, To: int64(users)}})
}

// property returns the default of a property of JMeter's command line.
func (p *testPlan) property(e *element, call, name string, args []string, at int) []piece {
	value, unset := "1", true // JMeter's own default of __P
	if at < len(args) {
		value, unset = args[at], false
	} else if at > 1 {
		value = name
	}
	p.note(e.where(), "${"+call+"}", "properties of JMeter's command line have no counterpart; the default "+
		strconv.Quote(value)+" is used")
	return []piece{{text: value, unset: unset}}
}

// splitCall takes a call apart at the commas that stand outside of references
// and are not escaped.
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
		case c == '\\' && i+1 < len(rest) && strings.IndexByte(`,\$`, rest[i+1]) >= 0:
			i++
			current.WriteByte(rest[i])
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
