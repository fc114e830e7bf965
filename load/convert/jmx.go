package convert

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// testPlan is the conversion of a test plan in progress.
type testPlan struct {
	*draft
	options   Options
	counts    map[string]int    // requests by server, counted in the first reading
	target    string            // scheme and host of most requests; "" if the plan names none
	constants map[string]string // user-defined variables as written
	resolved  map[string]string // their values in the group, by expandMarked
	group     *threads          // the thread group that is being converted
	redirects []string          // samplers that follow redirects
	cookieJar bool              // some sampler has a cookie manager
	unknown   string            // the server that the user has to name, as the plan writes it
}

// jmx converts a test plan. It reads the plan twice: the first reading finds the target, so that the
// second one takes no values from steps that go to other servers.
func (d *draft) jmx(data []byte, options Options) error {
	first := &testPlan{draft: newDraft(d.file.Name), options: options, counts: map[string]int{}}
	if err := first.convert(data); err != nil {
		return err
	}
	p := &testPlan{draft: d, options: options, target: first.target}
	return p.convert(data)
}

// convert converts the thread groups to flows and lists the rest of the plan.
func (p *testPlan) convert(data []byte) error {
	root, err := readTree(data)
	if err != nil {
		return err
	}
	p.constants = map[string]string{}
	p.begin(&threads{element: root})
	elements, err := p.threadGroups(root)
	if err != nil {
		return err
	}
	p.variables(root)
	var groups []*threads
	for _, e := range elements {
		groups = append(groups, p.threadGroup(e))
	}
	p.merge(groups)
	if p.file.Target = p.target; p.target == "" && len(p.file.Flows) > 0 {
		p.note("HTTP requests", "no server name",
			"the test plan names none (perhaps it is a property); give the target on the command line")
	}
	if !p.cookieJar {
		p.file.Cookies = new(false)
	}
	if len(p.redirects) > 0 {
		p.note("HTTP requests", "follow redirects: "+strings.Join(p.redirects, ", "),
			"an answer that redirects is an answer here; add a step for the new address where it matters")
	}
	p.sweep(root)
	if len(p.file.Flows) == 0 {
		return errors.New("no HTTP request of the test plan can be converted:" + p.reasons())
	}
	return nil
}

// threadGroups returns the groups to convert and lists the others.
func (p *testPlan) threadGroups(root *element) ([]*element, error) {
	var groups []*element
	var names, others []string
	root.walk(func(e *element) bool {
		switch isThreads := strings.Contains(e.class, "ThreadGroup"); {
		case !e.enabled && isThreads:
			others = append(others, e.label()+" (disabled)")
		case !e.enabled:
		case isThreads && !isGroup(e.class):
			others = append(others, e.label()+" ("+e.class+")")
		case !isThreads:
			return true
		default:
			names = append(names, e.name)
			if p.options.Group != "" && e.name != p.options.Group {
				p.skip(e, "only the thread group "+p.options.Group+" was asked for")
			} else {
				groups = append(groups, e)
			}
		}
		return false
	})
	switch {
	case len(names) == 0:
		return nil, errors.New("the test plan has no enabled thread group of the kinds ThreadGroup and " +
			"ConcurrencyThreadGroup; it has " + cmp.Or(oneLine(strings.Join(others, ", ")), "no other"))
	case len(groups) == 0:
		return nil, fmt.Errorf("no thread group %q: the test plan has %s", p.options.Group,
			strings.Join(names, ", "))
	}
	return groups, nil
}

// skip lists an element with all below it.
func (p *testPlan) skip(e *element, why string) {
	what, below := e.class, -1
	e.walk(func(*element) bool { below++; return true })
	if below > 0 {
		what += fmt.Sprintf(" with the %d elements below it", below)
	}
	e.reached = true
	e.skipped = true
	if e.enabled && !sendsNothing(e) {
		p.lose(e.where(), what, why)
		return
	}
	p.note(e.where(), what, why)
}
