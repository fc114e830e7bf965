package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/record"
)

// Expect describes a right answer, as a user writes it.
type Expect struct {
	// Status: "200", "2xx", "200-299" or a list of these with commas. Empty means 200-399, because a
	// redirect is an answer. For gRPC: names or numbers of codes; empty means OK.
	Status string
	// Body: every text must occur; "re:PATTERN" is a regular expression (RE2).
	Body []string
	// JSON: the value at every path (see Path). The value is JSON, or a text
	// without quotes.
	JSON map[string]string
	// Header: the text that must occur in the header of that name, or "re:PATTERN".
	Header map[string]string
}

// Oracle distinguishes right answers from wrong ones. The zero value accepts nothing; see New. It is
// immutable and may be shared.
type Oracle struct {
	statuses statuses
	texts    []textCheck // headers first
	json     []jsonCheck
	document bool // the body must be JSON
}

// New compiles the expectations of an HTTP answer. The error names all mistakes.
func New(e Expect) (Oracle, error) {
	statuses, err := newStatuses(e.Status, "200-399", httpStatus)
	return newOracle(e, statuses, err)
}

// NewGRPC compiles the expectations of the answer of a gRPC call, like New.
func NewGRPC(e Expect) (Oracle, error) {
	statuses, err := newStatuses(e.Status, "OK", grpcStatus)
	statuses.grpc = true
	return newOracle(e, statuses, err)
}

// newOracle compiles all expectations but the status, whose compiled form and error it gets.
func newOracle(e Expect, statuses statuses, err error) (Oracle, error) {
	o := Oracle{statuses: statuses, document: len(e.JSON) > 0}
	mistakes := []error{err}
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		check, err := newTextCheck(name, e.Header[name])
		if name == "" {
			err = errors.New("expected header: its name is empty")
		}
		mistakes = append(mistakes, err)
		o.texts = append(o.texts, check)
	}
	for _, text := range e.Body {
		check, err := newTextCheck("", text)
		mistakes = append(mistakes, err)
		o.texts = append(o.texts, check)
	}
	for _, path := range slices.Sorted(maps.Keys(e.JSON)) {
		check, err := newJSONCheck(path, e.JSON[path])
		mistakes = append(mistakes, err)
		o.json = append(o.json, check)
	}
	return o, errors.Join(mistakes...)
}

// ExpectJSON makes the oracle reject bodies that are not JSON.
func (o *Oracle) ExpectJSON() { o.document = true }

// ReadsBody reports whether the oracle needs the body.
func (o *Oracle) ReadsBody() bool {
	return o.document || slices.ContainsFunc(o.texts, func(c textCheck) bool { return c.header == "" })
}

// ReadsHeader reports whether the oracle needs the header.
func (o *Oracle) ReadsHeader() bool {
	return slices.ContainsFunc(o.texts, func(c textCheck) bool { return c.header != "" })
}

// Checked reports whether the oracle checks more than the default status. Without that, a failure behind
// a good status is not detected.
func (o *Oracle) Checked() bool { return o.statuses.custom || o.ReadsBody() || o.ReadsHeader() }

// String describes the expectations for the report.
func (o *Oracle) String() string {
	parts := []string{"status " + o.statuses.text}
	for i := range o.texts {
		parts = append(parts, o.texts[i].where()+" "+o.texts[i].String())
	}
	for i := range o.json {
		parts = append(parts, "json "+o.json[i].String())
	}
	if o.document && len(o.json) == 0 {
		parts = append(parts, "body to be JSON")
	}
	return strings.Join(parts, ", ")
}

// Judge returns the outcome of the operation, and a complaint if explain is set. Complaints are
// expensive, so the hot path does not ask for them.
func (o *Oracle) Judge(a *Answer, explain bool) (record.Outcome, string) {
	if !o.statuses.accepts(a.Status) {
		outcome := o.statuses.outcome(a.Status)
		if !explain {
			return outcome, ""
		}
		return outcome, o.statuses.complaint(a.Status)
	}
	for i := range o.texts {
		if outcome, complaint := o.texts[i].judge(a, explain); outcome != record.OK {
			return outcome, complaint
		}
	}
	if o.document && !isJSON(a.Body) {
		return WrongBody(a, explain, toBeJSON{})
	}
	for i := range o.json {
		if outcome, complaint := o.json[i].judge(a, explain); outcome != record.OK {
			return outcome, complaint
		}
	}
	return record.OK, ""
}

// toBeJSON is the expectation of ExpectJSON for a complaint.
type toBeJSON struct{}

func (toBeJSON) String() string { return "to be JSON" }

// shown is the length of the part of a wrong answer that a complaint quotes, in bytes.
const shown = 120

// WrongBody returns the outcome of an answer whose body is not as expected. If only the beginning of the
// body was kept, the answer is too large to be judged.
func WrongBody(a *Answer, explain bool, expected fmt.Stringer) (record.Outcome, string) {
	outcome := record.Failed
	if a.Truncated {
		outcome = record.TooLarge
	}
	if !explain {
		return outcome, ""
	}
	if a.isCompressed() {
		return outcome, fmt.Sprintf("expected the body %s, but it is compressed (Content-Encoding: %s), and "+
			"bodies are not decompressed: send no header Accept-Encoding, or 'Accept-Encoding: identity'", expected,
			a.encoding())
	}
	return outcome, fmt.Sprintf("expected the body %s, got %q", expected, a.Body[:min(len(a.Body), shown)])
}

// wrongHeader returns the outcome of an answer whose header is not as expected.
func wrongHeader(a *Answer, explain bool, check *textCheck) (record.Outcome, string) {
	if !explain {
		return record.Failed, ""
	}
	got := "none"
	if value, found := a.HeaderValue(check.header); found {
		got = fmt.Sprintf("%q", value[:min(len(value), shown)])
	}
	return record.Failed, fmt.Sprintf("expected the header %s %s, got %s", check.header, check, got)
}
