package convert

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// testPlan is the conversion of a test plan in progress.
type testPlan struct {
	*draft
	options   Options
	constants map[string]string  // user-defined variables as written
	settled   map[string][]piece // those resolved
	redirects []string           // samplers that follow redirects
	cookieJar bool               // some sampler has a cookie manager
	unknown   string             // the server that the user has to name, as the plan writes it
}

// jmx converts a test plan.
func (d *draft) jmx(data []byte, options Options) error {
	root, err := readTree(data)
	if err != nil {
		return err
	}
	p := &testPlan{draft: d, options: options, constants: map[string]string{}, settled: map[string][]piece{}}
	groups, err := p.threadGroups(root)
	if err != nil {
		return err
	}
	p.variables(root)
	var all []*converted
	for _, g := range groups {
		all = append(all, p.group(g))
	}
	p.keepTarget(all)
	p.merge(all)
	if len(d.file.Flows) == 0 {
		p.sweep(root)
		return errors.New("no HTTP request of the test plan can be converted:" + d.reasons())
	}
	if !p.cookieJar {
		no := false
		d.file.Cookies = &no
	}
	p.settle()
	d.pruneValues()
	if len(p.redirects) > 0 {
		d.note("HTTP requests", "follow redirects: "+strings.Join(p.redirects, ", "),
			"an answer that redirects is an answer here; add a step for the new address where it matters")
	}
	p.sweep(root)
	return nil
}

// threadGroups finds the groups to convert and lists the others.
func (p *testPlan) threadGroups(root *element) ([]*element, error) {
	var groups []*element
	var names, others []string
	root.walk(func(e *element) bool {
		isOther := strings.Contains(e.class, "ThreadGroup") && !isGroup(e.class)
		switch {
		case !e.enabled && strings.Contains(e.class, "ThreadGroup"):
			others = append(others, e.label()+" (disabled)")
			return false
		case !e.enabled:
			return false
		case isOther:
			others = append(others, e.label()+" ("+e.class+")")
			return false
		case !isGroup(e.class):
			return true
		}
		names = append(names, e.name)
		if p.options.Group != "" && e.name != p.options.Group {
			p.skip(e, "only the thread group "+p.options.Group+" was asked for")
		} else {
			groups = append(groups, e)
		}
		return false
	})
	switch {
	case len(names) == 0:
		has := "no other"
		if len(others) > 0 {
			has = oneLine(strings.Join(others, ", "))
		}
		return nil, errors.New("the test plan has no enabled thread group of the kinds ThreadGroup and " +
			"ConcurrencyThreadGroup; it has " + has)
	case len(groups) == 0:
		return nil, fmt.Errorf("no thread group %q: the test plan has %s", p.options.Group,
			strings.Join(names, ", "))
	}
	return groups, nil
}

// walk visits an element and those below it, until visit returns false for a
// branch.
func (e *element) walk(visit func(*element) bool) {
	if !visit(e) {
		return
	}
	for _, child := range e.children {
		child.walk(visit)
	}
}

// skip lists an element with all below it.
func (p *testPlan) skip(e *element, why string) {
	what := e.class
	below := -1
	e.walk(func(*element) bool { below++; return true })
	if below > 0 {
		what += fmt.Sprintf(" with the %d elements below it", below)
	}
	e.reached, e.told = true, true
	if e.enabled && !isBesideRequests(e) {
		p.lose(e.where(), what, why)
		return
	}
	p.note(e.where(), what, why)
}

// keepTarget chooses the target that most steps go to and takes out the others.
func (p *testPlan) keepTarget(groups []*converted) {
	counts := map[string]int{}
	main := ""
	for _, g := range groups {
		for _, s := range g.steps {
			if s.empty {
				continue
			}
			counts[s.origin]++
			if counts[s.origin] > counts[main] {
				main = s.origin
			}
		}
	}
	if len(counts) == 0 {
		return
	}
	p.file.Target = main
	if main == "" {
		p.note("HTTP requests", "no server name",
			"the test plan names none (perhaps it is a property); give the target on the command line")
	}
	for _, g := range groups {
		g.steps = slices.DeleteFunc(g.steps, func(s plannedStep) bool {
			if s.origin == main || s.empty {
				return false
			}
			p.note(s.where, s.step.Request+" to "+cmp.Or(s.origin, "no server"), "a scenario has one target, "+main)
			return true
		})
	}
}

// settle checks every reference in the steps: where nothing before gives the
// value, it becomes what JMeter would send, the variable's first value or the
// reference as text.
func (p *testPlan) settle() {
	for i := range p.file.Flows {
		known := map[string]bool{}
		for j := range p.file.Flows[i].Steps {
			s := &p.file.Flows[i].Steps[j]
			rewriteStep(s, func(name string) string { return p.settleReference(s.Name, name, known) })
			for name := range s.Extract {
				known[name] = true
			}
		}
	}
}

// settleReference returns what a reference in a step becomes.
func (p *testPlan) settleReference(step, name string, known map[string]bool) string {
	base, _, isColumn := strings.Cut(name, ".")
	_, isValue := p.file.Values[name]
	_, isData := p.file.Data[base]
	if known[name] || isValue || isColumn && isData {
		return "${" + name + "}"
	}
	for variable, text := range p.constants {
		if identifier(variable) == name && !strings.Contains(text, "${") {
			return literal(text)
		}
	}
	p.note(step, "${"+name+"}", "no step before it in the flow extracts it; sent as this text, as JMeter does")
	return literal("${" + name + "}")
}

// rewriteStep replaces the references in all texts of a step.
func rewriteStep(s *scenario.Step, replace func(name string) string) {
	method, target, _ := strings.Cut(rewrite(s.Request, replace), " ")
	s.Request = method + " " + requestTarget(target)
	s.Body = rewrite(s.Body, replace)
	for name, value := range s.Headers {
		s.Headers[name] = rewrite(value, replace)
	}
	for i, text := range s.Expect.Body {
		if !strings.HasPrefix(text, "re:") {
			s.Expect.Body[i] = rewrite(text, replace)
		}
	}
	for path, value := range s.Expect.JSON {
		s.Expect.JSON[path] = rewrite(value, replace)
	}
	for name, value := range s.Expect.Header {
		if !strings.HasPrefix(value, "re:") {
			s.Expect.Header[name] = rewrite(value, replace)
		}
	}
	s.JSON = rewriteJSON(s.JSON, replace)
}

// rewriteJSON replaces the references in all texts of a body.
func rewriteJSON(value any, replace func(name string) string) any {
	switch v := value.(type) {
	case string:
		return rewrite(v, replace)
	case []any:
		for i := range v {
			v[i] = rewriteJSON(v[i], replace)
		}
	case map[string]any:
		for key := range v {
			v[key] = rewriteJSON(v[key], replace)
		}
	}
	return value
}

// rewrite replaces the references in a text of a scenario.
func rewrite(text string, replace func(name string) string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			return b.String() + text
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return b.String() + text
		}
		if at > 0 && text[at-1] == '$' { // $${ is a plain ${
			b.WriteString(text[:at+2])
			text = text[at+2:]
			continue
		}
		b.WriteString(text[:at])
		b.WriteString(replace(text[at+2 : at+end]))
		text = text[at+end+1:]
	}
}

// pruneValues removes generated values that no step uses: those of steps that
// were taken out.
func (d *draft) pruneValues() {
	used := map[string]bool{}
	for i := range d.file.Flows {
		for j := range d.file.Flows[i].Steps {
			rewriteStep(&d.file.Flows[i].Steps[j], func(name string) string {
				used[name] = true
				return "${" + name + "}"
			})
		}
	}
	for name := range d.file.Values {
		if !used[name] {
			delete(d.file.Values, name)
		}
	}
}
