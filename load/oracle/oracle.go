package engine

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/load/record"
)

// Expect is what a right answer looks like, as a user writes it.
type Expect struct {
	// Status: "200", "2xx", "200-299" or a list of those with commas. Empty means
	// 200-399: an answer that redirects is an answer.
	Status string
	// Body: every text must occur; "re:PATTERN" is a regular expression (RE2).
	Body []string
	// JSON: "path=value", the path with dots: "items.0.price=9.5".
	JSON []string
}

// Oracle reads answers and tells right ones from wrong ones. The zero value
// accepts nothing; see NewOracle.
type Oracle struct {
	statuses [600]bool
	custom   bool
	bodies   []bodyCheck
	json     []jsonCheck
}

// NewOracle compiles what a user expects and names all mistakes.
func NewOracle(e Expect) (Oracle, error) {
	o := Oracle{custom: e.Status != ""}
	expected := e.Status
	if expected == "" {
		expected = "200-399"
	}
	var mistakes []error
	for part := range strings.SplitSeq(expected, ",") {
		from, to, err := statusRange(strings.TrimSpace(part))
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		for status := from; status <= to; status++ {
			o.statuses[status] = true
		}
	}
	for _, text := range e.Body {
		check, err := newBodyCheck(text)
		mistakes = append(mistakes, err)
		o.bodies = append(o.bodies, check)
	}
	for _, text := range e.JSON {
		check, err := newJSONCheck(text)
		mistakes = append(mistakes, err)
		o.json = append(o.json, check)
	}
	return o, errors.Join(mistakes...)
}

// statusRange reads "200", "2xx" or "200-299".
func statusRange(text string) (from, to int, err error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		low = strings.ReplaceAll(text, "x", "0")
		high = strings.ReplaceAll(text, "x", "9")
	}
	from, lowErr := strconv.Atoi(low)
	to, highErr := strconv.Atoi(high)
	if lowErr != nil || highErr != nil || from < 200 || to > 599 || from > to {
		return 0, 0, fmt.Errorf("expected status %q: use for example 200, 2xx or 200-299, between 200 and 599", text)
	}
	return from, to, nil
}

// readsBody reports whether the oracle needs the body.
func (o *Oracle) readsBody() bool { return len(o.bodies)+len(o.json) > 0 }

// Checked reports whether the oracle reads more than the status by its default:
// otherwise a failure behind a good status stays unseen.
func (o *Oracle) Checked() bool { return o.custom || o.readsBody() }

// String says what is expected, for the report.
func (o *Oracle) String() string {
	parts := []string{"status 200-399"}
	if o.custom {
		parts[0] = "status as given"
	}
	for _, b := range o.bodies {
		parts = append(parts, "body "+b.String())
	}
	for _, j := range o.json {
		parts = append(parts, "json "+j.String())
	}
	return strings.Join(parts, ", ")
}

// judge says how the operation ended. The complaint is made only when asked
// for: on the hot path nobody reads it.
func (o *Oracle) judge(r *response, explain bool) (record.Outcome, string) {
	if !o.statuses[r.status] {
		outcome := record.BadStatus
		if r.status == 429 || r.status == 503 {
			outcome = record.Rejected
		}
		return outcome, "status " + strconv.Itoa(r.status)
	}
	for i := range o.bodies {
		if !o.bodies[i].match(r.body) {
			return o.wrong(r, explain, o.bodies[i].String())
		}
	}
	if len(o.json) == 0 {
		return record.OK, ""
	}
	document, err := decode(r.body)
	if err != nil {
		return o.wrong(r, explain, "to be JSON")
	}
	for i := range o.json {
		if !o.json[i].match(document) {
			return o.wrong(r, explain, o.json[i].String())
		}
	}
	return record.OK, ""
}

// wrong is the outcome of an answer that is not as expected. Where only the
// beginning was kept, nobody can know.
func (o *Oracle) wrong(r *response, explain bool, expected string) (record.Outcome, string) {
	outcome := record.Failed
	if r.truncated {
		outcome = record.TooLarge
	}
	if !explain {
		return outcome, ""
	}
	const shown = 120
	return outcome, fmt.Sprintf("expected the body %s, got %q", expected, r.body[:min(len(r.body), shown)])
}

// bodyCheck expects a text or a pattern.
type bodyCheck struct {
	text    []byte
	pattern *regexp.Regexp // instead of text
}

// newBodyCheck reads "TEXT" or "re:PATTERN".
func newBodyCheck(text string) (bodyCheck, error) {
	expression, isPattern := strings.CutPrefix(text, "re:")
	if text == "" || isPattern && expression == "" {
		return bodyCheck{}, errors.New("expected body: the text is empty, every body would do")
	}
	if !isPattern {
		return bodyCheck{text: []byte(text)}, nil
	}
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return bodyCheck{}, fmt.Errorf("expected body %q: %w", text, err)
	}
	return bodyCheck{pattern: pattern}, nil
}

func (b *bodyCheck) match(body []byte) bool {
	if b.pattern != nil {
		return b.pattern.Match(body)
	}
	return bytes.Contains(body, b.text)
}

func (b *bodyCheck) String() string {
	if b.pattern != nil {
		return fmt.Sprintf("to match %q", b.pattern)
	}
	return fmt.Sprintf("to contain %q", b.text)
}
