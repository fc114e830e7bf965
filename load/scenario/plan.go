package scenario

import (
	"time"

	"github.com/cleave-lab/cleave/load/oracle"
)

// Plan is a compiled scenario. It does not change and may be shared.
type Plan struct {
	operations []string
	judged     []judged // by operation
	flows      []flow
	values     []compiledValue
	data       []*table
	slots      int // how many values a session holds
	cookies    bool
	seed       uint64
}

type flow struct {
	share float64 // of all flows, summed up to this one
	steps []step
	// values and rows are what the flow draws when it begins.
	values []int // indices in Plan.values
	rows   []rowUse
	// forgets are the slots of extractions: what an earlier flow left there must
	// not be noted.
	forgets []int
}

// compiledValue makes the generators of one Value.
type compiledValue struct {
	slot  int
	start func(at Origin) generator
}

// rowUse lists the columns that a flow takes from one row.
type rowUse struct {
	table   int // index in Plan.data
	columns []columnUse
}

type columnUse struct{ column, slot int }

// step is a compiled Step, still without a host.
type step struct {
	operation int
	grpc      string
	method    string
	path      template
	// relative: the path goes behind the path of the origin.
	relative bool
	headers  []header
	cookie   template // the value of the header Cookie as written
	body     template
	// sized: Content-Length is sent.
	sized   bool
	oracle  oracle.Oracle
	echoes  []echo
	check   func(Answer) error
	extract []extraction
	notes   []note
	think   time.Duration
	// needsHeader and needsBody say what must be kept of the answer; readsCookies
	// is one of the reasons.
	needsHeader, needsBody, readsCookies bool
}

type header struct {
	name  string
	value template
}

// Operations returns the names of the operations, in the order of Session.Operation.
func (p *Plan) Operations() []string { return p.operations }

// judged is how the answers of an operation are judged.
type judged struct {
	checked      bool
	descriptions []string // one for each step of that name that differs
}
