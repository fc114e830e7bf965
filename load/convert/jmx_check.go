package convert

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// Bits of Assertion.test_type.
const (
	typeMatch = 1 << iota
	typeContains
	typeNot
	typeEquals
	typeSubstring
	typeOr
)

// checks sets the expectations and extractions of a step.
func (p *testPlan) checks(scope []*element, step *scenario.Step) {
	var extractors []*element // the step's own expectations cannot refer to the values that these extract
	for _, a := range scope {
		switch a.class {
		case "ResponseAssertion":
			p.responseAssertion(a, step)
		case "JSONPathAssertion":
			p.jsonAssertion(a, step)
		case "DurationAssertion":
			p.note(a.where(), "at most "+a.text("DurationAssertion.duration")+" ms",
				"slow answers are not failures here; give an objective, such as 'p99<500ms', on the command line")
		case "CookieManager":
			p.cookieManager(a)
		case "RegexExtractor", "JSONPostProcessor":
			extractors = append(extractors, a)
		default:
			continue
		}
		a.reached = true
	}
	for _, x := range extractors {
		p.extractor(x, step)
	}
}

// cookieManager lists the differences from the cookie jar of a flow.
func (p *testPlan) cookieManager(e *element) {
	p.cookieJar = true
	if e.text("CookieManager.clearEachIteration") != "true" &&
		!e.truth("CookieManager.controlledByThreadGroup") {
		p.note(e.where(), "cookies are kept between iterations", "every flow begins without cookies")
	}
	for _, c := range e.collection("CookieManager.cookies") {
		p.note(e.where(), "cookie "+c.name+" = "+c.text("Cookie.value"),
			"cookies given beforehand are not sent; add a header Cookie")
		c.use()
	}
}

// inAnswer reports whether an element looks at the answer to the sampler itself, not at those to its
// sub-samples.
func inAnswer(e *element, property string) bool {
	return slices.Contains([]string{"", "parent", "all"}, e.text(property))
}

// wanted is a text that an answer must have.
type wanted struct {
	template string // with references to values
	text     string // the same without escapes, if it is fixed
	fixed    bool   // it has no references
}

// isPlainText reports whether an expectation can be a text: it is neither empty nor looks like a pattern.
func isPlainText(text string) bool { return text != "" && !strings.HasPrefix(text, "re:") }

// anyStatus is the expectation of an answer that may be a failure.
const anyStatus = "200-599"

// responseAssertion converts a Response Assertion: on the status, the headers or the body.
func (p *testPlan) responseAssertion(a *element, step *scenario.Step) {
	kind := int(p.number(a, "Assertion.test_type", typeSubstring))
	field := a.text("Assertion.test_field")
	var texts []wanted
	var list []string
	// JMeter itself writes Asserion.
	for _, s := range append(a.collection("Asserion.test_strings"), a.collection("Assertion.test_strings")...) {
		s.used = true
		text := p.expand(a, s.value, 0)
		w := wanted{p.scenarioText(text), text, !referencePattern.MatchString(text)}
		texts = append(texts, w)
		list = append(list, w.template)
	}
	if a.truth("Assertion.assume_success") && step.Expect.Status == "" {
		step.Expect.Status = anyStatus
	}
	switch all := strings.Join(list, ", "); {
	case len(texts) == 0:
	case !inAnswer(a, "Assertion.scope") || kind&typeNot != 0:
		p.note(a.where(), "expects "+all,
			"only what an answer must have is checked, not what it must not have, nor variables")
	case field == "Assertion.response_code":
		p.expectStatus(a, step, texts, kind)
	case field == "Assertion.response_data":
		p.expectBody(a, step, texts, kind)
	case field == "Assertion.response_headers":
		p.expectHeaders(a, step, texts, kind)
	default:
		p.note(a.where(), "expects "+all+" in "+strings.TrimPrefix(field, "Assertion."),
			"only status, headers and body are checked")
	}
}

// expectStatus converts an assertion on status codes: whole codes, and patterns such as 2.. or 4\d\d.
func (p *testPlan) expectStatus(a *element, step *scenario.Step, texts []wanted, kind int) {
	if len(texts) > 1 && kind&typeOr == 0 {
		p.note(a.where(), "expects several statuses at once", "an answer has one status; any of them is accepted")
	}
	var codes []string
	for _, w := range texts {
		code := strings.NewReplacer(".", "x", `\d`, "x", "^", "", "$", "").Replace(w.text)
		if regexp.MustCompile(`^[2-5](\d\d|\dx|xx)$`).MatchString(code) {
			codes = append(codes, code)
		} else {
			p.note(a.where(), "expects status "+w.template, "write it as 200, 2xx or 200-299")
		}
	}
	all := strings.Join(codes, ",")
	if all == "" {
		return
	}
	if old := step.Expect.Status; !slices.Contains([]string{"", anyStatus, all}, old) {
		p.note(a.where(), "expects status "+all, "another assertion expects "+old+", which counts")
		return
	}
	step.Expect.Status = all
}

// expectBody converts an assertion on texts and patterns that the body must contain, match or equal.
func (p *testPlan) expectBody(a *element, step *scenario.Step, texts []wanted, kind int) {
	either := kind&typeOr != 0 && len(texts) > 1
	contains := kind&typeSubstring != 0 && !either
	var patterns []string
	for _, w := range texts {
		if contains && isPlainText(w.template) {
			step.Expect.Body = append(step.Expect.Body, w.template)
			continue
		}
		pattern := bodyPattern(w.text, kind)
		_, err := regexp.Compile(pattern)
		switch {
		case !w.fixed:
			p.note(a.where(), "expects "+w.template, "patterns do not depend on values")
		case pattern == "":
			p.note(a.where(), "expects an empty text", "every body has it")
		case err != nil:
			p.note(a.where(), "expects "+w.text, "not a regular expression here (RE2): "+err.Error())
		case either:
			patterns = append(patterns, pattern)
		default:
			step.Expect.Body = append(step.Expect.Body, "re:"+pattern)
		}
	}
	switch {
	case !either:
	case len(patterns) == len(texts):
		step.Expect.Body = append(step.Expect.Body, "re:(?:"+strings.Join(patterns, "|")+")")
	default:
		p.note(a.where(), "expects one of several texts", "not all of them could be converted, so none is checked")
	}
}

// bodyPattern returns a text as a regular expression for the kind of assertion.
func bodyPattern(text string, kind int) string {
	switch {
	case kind&typeEquals != 0:
		return `\A` + regexp.QuoteMeta(text) + `\z`
	case kind&typeSubstring != 0:
		return regexp.QuoteMeta(text)
	case kind&typeMatch != 0:
		return `\A(?:` + text + `)\z`
	}
	return text
}

// expectHeaders converts an assertion on headers, whose texts have the form "Name: value".
func (p *testPlan) expectHeaders(a *element, step *scenario.Step, texts []wanted, kind int) {
	either := kind&typeOr != 0 && len(texts) > 1
	contains := kind&typeSubstring != 0 && !either
	for _, w := range texts {
		name, value, found := strings.Cut(w.template, ":")
		value = strings.TrimSpace(value)
		isHeader := found && validHeader(name, value) && isPlainText(value)
		if !contains || !isHeader {
			p.note(a.where(), "expects "+w.template+" in the headers",
				"only a text of the form 'Name: value' in one header is checked")
			continue
		}
		if old, known := findHeader(step.Expect.Header, name); known && step.Expect.Header[old] != value {
			p.note(a.where(), "expects "+w.template+" in the headers", "one text for each header; another one counts")
			continue
		}
		step.Expect.Header = with(step.Expect.Header, name, value)
	}
}

// jsonAssertion converts a JSON Assertion: a value at a path, or the existence of the path.
func (p *testPlan) jsonAssertion(a *element, step *scenario.Step) {
	written := a.text("JSON_PATH")
	const firstMatch = 1 // of a wildcard
	path, simple := jsonPath(written, firstMatch)
	value := p.resolve(a, a.text("EXPECTED_VALUE"))
	validate := a.truth("JSONVALIDATION")
	isPattern := a.text("ISREGEX") != "false"
	switch {
	case !simple:
		p.note(a.where(), "JSON path "+written, "only paths of names and indices are followed")
	case a.truth("INVERT"), validate && a.truth("EXPECT_NULL"):
		p.note(a.where(), "expects "+written+" to be null or not to be", "only what an answer must have is checked")
	case validate && isPattern && regexp.QuoteMeta(value) != value:
		p.note(a.where(), "expects "+written+" to match "+value, "a value at a path is checked, not a pattern")
	case validate:
		if strings.Contains(written, "*") {
			p.note(a.where(), "expects any match of "+written+" to be "+value, "the first match is checked")
		}
		step.Expect.JSON = with(step.Expect.JSON, path, value)
	default: // existence: an extraction that finds nothing fails the step
		step.Extract = with(step.Extract, p.name("exists"), scenario.Extraction{JSON: path})
	}
}
