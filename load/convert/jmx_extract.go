package convert

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// extractor converts a post-processor to an extraction of the step, or lists it.
func (p *testPlan) extractor(e *element, step *scenario.Step) {
	take := func(variable string, how scenario.Extraction) {
		if _, known := p.group.names[variable]; !known {
			p.group.names[variable] = p.name(variable)
		}
		step.Extract = with(step.Extract, p.group.names[variable], how)
	}
	switch {
	case !inAnswer(e, "Sample.scope"):
		p.note(e.where(), e.class+" of a variable", "values are taken from answers only")
	case e.class == "RegexExtractor":
		p.regexExtractor(e, take)
	default:
		p.jsonExtractor(e, take)
	}
}

// jsonExtractor converts a JSON Extractor, which may have several paths.
func (p *testPlan) jsonExtractor(e *element, take func(string, scenario.Extraction)) {
	paths := strings.Split(e.text("JSONPostProcessor.jsonPathExprs"), ";")
	matches := strings.Split(e.text("JSONPostProcessor.match_numbers"), ";")
	for i, name := range strings.Split(e.text("JSONPostProcessor.referenceNames"), ";") {
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
		} else if ok {
			take(strings.TrimSpace(name), scenario.Extraction{JSON: path})
		}
	}
}

// match reads the number of the wanted match, from 1. several means that there may be more than one: then
// JMeter takes a random match for 0, and if there is no number. ok is false if all matches are wanted.
func (p *testPlan) match(e *element, name, written string, several bool) (n int, ok bool) {
	number, isConstant := p.constant(e, written)
	number = strings.TrimSpace(number)
	n, err := strconv.Atoi(number)
	switch {
	case !isConstant, err != nil && number != "":
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

// wholeHeader matches patterns that extract the whole value of one header, "Name: (.*)".
var wholeHeader = regexp.MustCompile(`^\^?([A-Za-z0-9-]+): ?(?:\\s\*)?\(\.[*+]\??\)(?:\$|\\r|\\n|\\r\\n)*$`)

// regexExtractor converts a Regular Expression Extractor.
func (p *testPlan) regexExtractor(e *element, take func(string, scenario.Extraction)) {
	name := e.text("RegexExtractor.refname")
	pattern, isConstant := p.constant(e, e.text("RegexExtractor.regex"))
	number := e.text("RegexExtractor.match_number")
	source := e.text("RegexExtractor.useHeaders")
	match, ok := p.match(e, name, number, true)
	template := e.text("RegexExtractor.template")
	compiled, err := regexp.Compile(pattern)
	if template == "" && err == nil && compiled.NumSubexp() == 1 {
		template = "$1$"
	}
	switch {
	case !ok:
	case !isConstant:
		p.note(e.where(), "pattern "+e.text("RegexExtractor.regex"), "patterns do not depend on values")
	case name == "" || pattern == "":
		p.note(e.where(), "an extractor without name or pattern", "there is nothing to take")
	case match != 1:
		p.note(e.where(), "match "+number+" of "+name, "only the first match is taken")
	case err != nil:
		p.note(e.where(), "pattern "+pattern, "not a regular expression here (RE2): "+err.Error())
	case source == "true":
		if header := wholeHeader.FindStringSubmatch(pattern); header != nil {
			take(name, scenario.Extraction{Header: header[1]})
		} else {
			p.note(e.where(), "pattern "+pattern+" in the headers", "only a whole header is taken ('Name: (.*)')")
		}
	case !slices.Contains([]string{"", "false", "unescaped", "as_document"}, source):
		p.note(e.where(), "extraction from "+source, "values are taken from headers and bodies only")
	case template == "$0$":
		take(name, scenario.Extraction{Regexp: "(" + pattern + ")"})
	case template != "$1$":
		p.note(e.where(), "template "+template, "only the first group ($1$) or the whole match ($0$) is taken")
	default:
		if source == "unescaped" || source == "as_document" {
			p.note(e.where(), "extraction from the body "+source, "the body is searched as it came")
		}
		take(name, scenario.Extraction{Regexp: pattern})
	}
}

// pathPart matches the first part of a JSON path: a name, an index or a wildcard.
var pathPart = regexp.MustCompile(`^(?:\.([A-Za-z0-9_-]+)|\[(\d+)\]|\['([A-Za-z0-9_-]+)'\]|` +
	`\["([A-Za-z0-9_-]+)"\]|(\[\*\]|\.\*))`)

// jsonPath converts a path of names and indices, such as $.items[0]['id'], to items.0.id. The first wildcard
// becomes the given match, counted from 1, and others the first. simple is false for any other path.
func jsonPath(path string, match int) (converted string, simple bool) {
	rest, found := strings.CutPrefix(strings.TrimSpace(path), "$")
	if !found {
		return "", false
	}
	var parts []string
	for rest != "" {
		m := pathPart.FindStringSubmatch(rest)
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
