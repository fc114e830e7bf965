package convert

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// found is what a post-processor takes from an answer.
type found struct {
	variable string
	how      scenario.Extraction
}

// extractor reads a post-processor; what cannot be mapped is listed.
func (p *testPlan) extractor(e *element) []found {
	e.reached = true
	if !p.inAnswer(e, "Sample.scope") {
		p.note(e.where(), e.class+" of a variable", "values are taken from answers only")
		return nil
	}
	if e.class == "RegexExtractor" {
		return p.regexExtractor(e)
	}
	return p.jsonExtractor(e)
}

// jsonExtractor maps a JSON Extractor, which may hold several paths.
func (p *testPlan) jsonExtractor(e *element) []found {
	names := strings.Split(e.text("JSONPostProcessor.referenceNames"), ";")
	paths := strings.Split(e.text("JSONPostProcessor.jsonPathExprs"), ";")
	matches := strings.Split(e.text("JSONPostProcessor.match_numbers"), ";")
	var all []found
	for i, name := range names {
		if i >= len(paths) {
			p.note(e.where(), "variable "+name, "it has no path")
			continue
		}
		number := ""
		if i < len(matches) {
			number = matches[i]
		}
		written := strings.TrimSpace(paths[i])
		match, ok := p.match(e, name, number, strings.Contains(written, "*"))
		path, simple := jsonPath(written, match)
		if ok && !simple {
			p.note(e.where(), "JSON path "+written, "only paths of names and indices are followed")
		}
		if ok && simple {
			all = append(all, found{strings.TrimSpace(name), scenario.Extraction{JSON: path}})
		}
	}
	return all
}

// match reads which of several matches is meant, from 1; only the JSON
// extractor can have any but the first. JMeter takes a random one for 0, and for no number at all.
func (p *testPlan) match(e *element, name, written string, several bool) (int, bool) {
	number, isConstant := p.constant(e, written)
	number = strings.TrimSpace(number)
	n, err := strconv.Atoi(number)
	switch {
	case !isConstant || err != nil && number != "":
		p.note(e.where(), "match "+written+" of "+name, "not a number that is known beforehand; the first is taken")
	case n > 0:
		return n, true
	case n < 0:
		p.note(e.where(), "all matches of "+name, "one value is taken; loops over matches have no counterpart")
		return 0, false
	case several:
		p.note(e.where(), "a random match of "+name, "the first is taken")
	}
	return 1, true
}

// regexExtractor maps a Regular Expression Extractor.
func (p *testPlan) regexExtractor(e *element) []found {
	name, pattern := e.text("RegexExtractor.refname"), e.text("RegexExtractor.regex")
	number, of := e.text("RegexExtractor.match_number"), e.text("RegexExtractor.useHeaders")
	match, ok := p.match(e, name, number, true)
	template := e.text("RegexExtractor.template")
	compiled, err := regexp.Compile(pattern)
	switch {
	case !ok:
	case name == "" || pattern == "":
		p.note(e.where(), "an extractor without name or pattern", "there is nothing to take")
	case match != 1:
		p.note(e.where(), "match "+number+" of "+name, "only the first match is taken")
	case err != nil:
		p.note(e.where(), "pattern "+pattern, "not a regular expression here (RE2): "+err.Error())
	case of == "true":
		return p.headerExtractor(e, name, pattern)
	case of != "" && of != "false" && of != "unescaped" && of != "as_document":
		p.note(e.where(), "extraction from "+of, "values are taken from headers and bodies only")
	case template == "$0$":
		return []found{{name, scenario.Extraction{Regexp: "(" + pattern + ")"}}}
	case template != "$1$" && (template != "" || compiled.NumSubexp() != 1):
		p.note(e.where(), "template "+template, "only the first group ($1$) or the whole match ($0$) is taken")
	default:
		if of == "unescaped" || of == "as_document" {
			p.note(e.where(), "extraction from the body "+of, "the body is searched as it came")
		}
		return []found{{name, scenario.Extraction{Regexp: pattern}}}
	}
	return nil
}

// headerExtractor maps patterns that take all of one header, "Name: (.*)".
func (p *testPlan) headerExtractor(e *element, name, pattern string) []found {
	parts := regexp.MustCompile(`^\^?([A-Za-z0-9-]+): ?(?:\\s\*)?\(\.[*+]\??\)(?:\$|\\r|\\n|\\r\\n)*$`).
		FindStringSubmatch(pattern)
	if parts == nil {
		p.note(e.where(), "pattern "+pattern+" in the headers", "only a whole header is taken ('Name: (.*)')")
		return nil
	}
	return []found{{name, scenario.Extraction{Header: parts[1]}}}
}

// extractions adds what the post-processors in scope take to a step.
func (p *testPlan) extractions(e *element, scope []*element, step *scenario.Step) {
	for _, x := range scope {
		if x.class != "RegexExtractor" && x.class != "JSONPostProcessor" {
			continue
		}
		for _, f := range p.extractor(x) {
			name, known := x.group().vars[f.variable]
			if known {
				addExtraction(step, name, f.how)
			}
		}
	}
}

func addExtraction(step *scenario.Step, name string, how scenario.Extraction) {
	if step.Extract == nil {
		step.Extract = map[string]scenario.Extraction{}
	}
	step.Extract[name] = how
}

// jsonPath turns a path of names and indices, such as $.items[0]['id'], into
// items.0.id. A wildcard becomes the given match, counted from 1.
func jsonPath(path string, match int) (string, bool) {
	rest, found := strings.CutPrefix(strings.TrimSpace(path), "$")
	if !found {
		return "", false
	}
	part := regexp.MustCompile(`^(?:\.([A-Za-z0-9_-]+)|\[(\d+)\]|\['([A-Za-z0-9_-]+)'\]|\["([A-Za-z0-9_-]+)"\]|(\[\*\]|\.\*))`)
	var parts []string
	for rest != "" {
		m := part.FindStringSubmatch(rest)
		if m == nil {
			return "", false
		}
		if m[5] != "" {
			parts = append(parts, strconv.Itoa(max(match, 1)-1))
			match = 1
		} else {
			parts = append(parts, m[1]+m[2]+m[3]+m[4])
		}
		rest = rest[len(m[0]):]
	}
	return strings.Join(parts, "."), len(parts) > 0
}
