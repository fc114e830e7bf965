package objective

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/load/schedule"
)

// Limits of the text: objectives may come from foreign files.
const (
	maxLength = 1000 // bytes
	maxTerms  = 50
)

// Objective is a list of conditions that must all be met.
type Objective struct {
	Terms []Term
}

// Term is one condition: a metric, a comparison and a limit.
type Term struct {
	Metric string  // a name of metrics()
	Op     string  // <, <=, > or >=
	Limit  float64 // seconds, a share of 1, a count or operations per second
	Share  bool    // the limit of a count is a share of all operations that were due
	text   string  // as the user wrote it
}

// Mistake is one mistake in the text of an objective.
type Mistake struct {
	Column int // of the first wrong character, from 1
	Text   string
}

// Error returns the description and the column of the mistake.
func (m *Mistake) Error() string { return fmt.Sprintf("objective, column %d: %s", m.Column, m.Text) }

// String returns the objective as the user wrote it, without spaces.
func (o Objective) String() string {
	var all []string
	for _, t := range o.Terms {
		all = append(all, t.String())
	}
	return strings.Join(all, ",")
}

// String returns the term as the user wrote it, without spaces.
func (t Term) String() string { return t.text }

// MustParse returns the objective of a valid text; it panics if the text is not valid.
func MustParse(text string) Objective {
	o, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return o
}

// Parse reads conditions, separated by commas. Metrics are
//
//	p50 p90 p95 p99 p99.9 max mean   response time: 50ms, 1.5s, 200us
//	service.p99 and so on            service time
//	errors                           share of the operations sent: 0.1% or 0.001
//	achieved                         share of the offered rate: 99%
//	late, unsent                     count, or share of the operations due
//	rate                             achieved rate: 5000/s, 300/m
//
// The error joins one *Mistake for each mistake.
func Parse(text string) (Objective, error) {
	if len(text) > maxLength {
		return Objective{}, &Mistake{1, fmt.Sprintf("%d bytes are too long: use at most %d", len(text), maxLength)}
	}
	terms := strings.Split(text, ",")
	if len(terms) > maxTerms {
		return Objective{}, &Mistake{1, fmt.Sprintf("%d conditions are too many: use at most %d", len(terms),
			maxTerms)}
	}
	var o Objective
	var mistakes []error
	column := 1
	for _, part := range terms {
		if t, err := parseTerm(part, column); err != nil {
			mistakes = append(mistakes, err)
		} else {
			o.Terms = append(o.Terms, t)
		}
		column += utf8.RuneCountInString(part) + 1
	}
	if len(mistakes) > 0 {
		return Objective{}, errors.Join(mistakes...)
	}
	return o, nil
}

const blanks = " \t\r\n"

// termPattern matches a metric, a comparison and a limit.
var termPattern = regexp.MustCompile(`(?s)^[ \t\r\n]*([^<>=!]*)([<>=!]*)[ \t\r\n]*(.*)$`)

// parseTerm reads a condition, which begins at a column.
func parseTerm(text string, column int) (Term, error) {
	const metricGroup, opGroup, limitGroup = 1, 2, 3
	at := termPattern.FindStringSubmatchIndex(text) // it matches any text
	part := func(group int) string { return strings.TrimRight(text[at[2*group]:at[2*group+1]], blanks) }
	mistake := func(group int, format string, args ...any) error {
		return &Mistake{column + utf8.RuneCountInString(text[:at[2*group]]), fmt.Sprintf(format, args...)}
	}
	name := part(metricGroup)
	op := part(opGroup)
	value := part(limitGroup)
	if name == "" {
		return Term{}, mistake(metricGroup, "no metric: write for example p99<50ms")
	}
	m, known := find(name)
	if !known {
		return Term{}, mistake(metricGroup, "unknown metric %q: use one of %s", name,
			strings.Join(metricNames(), " "))
	}
	switch op {
	case "<", "<=", ">", ">=":
	case "":
		return Term{}, mistake(opGroup, "no comparison after %s: use <, <=, > or >=", name)
	default:
		return Term{}, mistake(opGroup, "unknown comparison %q: use <, <=, > or >=", op)
	}
	limit, share, err := m.limit(value)
	if err != nil {
		return Term{}, mistake(limitGroup, "%v", err)
	}
	return Term{Metric: m.name, Op: op, Limit: limit, Share: share, text: m.name + op + value}, nil
}

// limit parses a limit in the unit of the metric.
func (m metric) limit(text string) (limit float64, share bool, err error) {
	switch m.unit {
	case inSeconds:
		limit, err = parseTime(text)
	case inShares:
		limit, _, err = parseShare(text)
		if err == nil && limit > 1 {
			err = fmt.Errorf("%q is more than 100 %%", text)
		}
	case inCounts:
		limit, share, err = parseShare(text)
		if err == nil && !share && limit != math.Trunc(limit) {
			err = fmt.Errorf("%q is neither a whole number nor a share such as 0.1%%", text)
		}
	case inRates:
		limit, err = schedule.ParseRate(text)
	}
	return limit, share, err
}

// parseTime parses a duration with its unit, and returns seconds.
func parseTime(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || text == "0" {
		return 0, fmt.Errorf("%q is not a time: write a number and its unit, for example 50ms", text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d.Seconds(), nil
}

// parseShare parses a plain number or a percentage.
func parseShare(text string) (value float64, percent bool, err error) {
	number, percent := strings.CutSuffix(text, "%")
	value, err = strconv.ParseFloat(strings.TrimRight(number, blanks), 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
		return 0, false, fmt.Errorf("%q is not a share or count: write for example 0.1%%", text)
	}
	if percent {
		value /= 100
	}
	return value, percent, nil
}
