package scenario

import (
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/oracle"
)

// Plan is a compiled scenario. It is immutable and may be shared.
type Plan struct {
	operations []string
	judged     []judged // by operation
	flows      []flow
	values     []compiledValue
	data       []*table
	slots      int // number of values of a session
	cookies    bool
	seed       uint64
}

// flow is a compiled Flow.
type flow struct {
	share float64 // sum of the shares of all flows up to this one
	steps []step
	// values and rows are drawn when the flow begins.
	values []int // indices in Plan.values
	rows   []rowUse
	// forgets are the slots of extractions. A new flow clears them, so that its notes hold no values of an
	// earlier flow.
	forgets []int
}

// compiledValue is a compiled Value: the slot of its name, and the function that returns a player's
// generator.
type compiledValue struct {
	slot  int
	start func(at Origin) generator
}

// rowUse lists the columns of one row that a flow uses.
type rowUse struct {
	table   int // index in Plan.data
	columns []columnUse
}

type columnUse struct{ column, slot int }

// step is a compiled Step, without a host.
type step struct {
	operation int    // index in Plan.operations
	grpc      string // package.Service/Method; "": the step is an HTTP request
	method    string
	path      template
	// relative: the path is appended to the path of the origin.
	relative bool
	headers  []header
	cookie   template // value of the header Cookie as the user wrote it
	body     template
	// sized: the request has a header Content-Length.
	sized   bool
	oracle  oracle.Oracle
	echoes  []echo             // expectations with values of the session, which the oracle cannot judge
	check   func(Answer) error // in Go, in addition to the oracle; nil: none
	extract []extraction
	notes   []note // values that the list of operations shows
	think   time.Duration
	// needsHeader and needsBody say which parts of the answer to keep; readsCookies is one of the reasons.
	needsHeader, needsBody, readsCookies bool
}

type header struct {
	name  string
	value template
}

// Operations returns the names of the operations, in the order of Session.Operation.
func (p *Plan) Operations() []string { return p.operations }

// judged describes how the answers of an operation are judged.
type judged struct {
	checked      bool     // every step with that name has an oracle
	descriptions []string // of all steps with that name, without repetition
}

// Unchecked lists the operations without an oracle: a failure behind a good status would not be detected.
func (p *Plan) Unchecked() []string {
	var unchecked []string
	for i, j := range p.judged {
		if !j.checked {
			unchecked = append(unchecked, p.operations[i])
		}
	}
	return unchecked
}

// Checks describes the checks of answers, by operation.
func (p *Plan) Checks() []string {
	checks := make([]string, len(p.judged))
	for i, j := range p.judged {
		checks[i] = strings.Join(j.descriptions, "; or ")
	}
	return checks
}

// Protocols reports whether there are steps with HTTP requests, and steps with gRPC calls.
func (p *Plan) Protocols() (http, grpc bool) {
	for _, f := range p.flows {
		for _, s := range f.steps {
			http = http || s.grpc == ""
			grpc = grpc || s.grpc != ""
		}
	}
	return http, grpc
}
