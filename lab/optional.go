package lab

// This file holds the interfaces that a System may implement beside System. A command that needs one works
// for every system that implements it.

// Checkable is a System whose architectures `cleave check` can audit.
type Checkable interface {
	System
	// CheckPoint returns a point at which a check plays this many operations: as fast as they are answered,
	// or, if over is above 0, due evenly within that many seconds. All that the rules of the system are about
	// should happen there.
	CheckPoint(operations int, over float64) Point
	// CheckTable returns the columns of the table of the audits.
	CheckTable() CheckTable
}

// CheckTable describes the table that a check shows of every architecture.
type CheckTable struct {
	Most    int           // operations that a check can play
	Columns []CheckColumn // beside the verdict and the backing services
	// Faults are the columns of the table of faults: what clients noticed of them.
	Faults []CheckColumn
}

// CheckColumn is a column of a CheckTable: a count of the audit or, where Metric is not
// empty, a metric of the trial with so many digits behind the point.
type CheckColumn struct {
	Title, Count, Metric string
	Digits               int
}

// Lengthenable is a System whose load can last longer than its study says.
type Lengthenable interface {
	System
	// Lengthened returns the system under a load, and a warm-up, whose times are multiplied by a factor.
	Lengthened(times float64) System
}

// Explainable is a System for which `cleave explain` can divide the difference between two architectures into
// steps. It is under load: its points have FactorRate and FactorSearchFrom.
type Explainable interface {
	System
	// Steps returns the steps from one variant to another, one knob at a time. The stops are their variants,
	// from first, each with a name of its own. The order that is shown has Order 1; if the same changes are
	// possible in another order, that has Order 2.
	Steps(from, to Variant) (stops []Variant, steps []PathStep, err error)
	// Explanation returns the default of `cleave explain`.
	Explanation() Explanation
}

// Explanation holds the variants and the load with which `cleave explain` begins.
type Explanation struct {
	From, To string  // architectures
	Rate     float64 // operations per second that every stop can hold
	// Metrics are the names of those that explain a cost, the headline first; the
	// system's others follow them.
	Metrics []string
}

// Demanding is a System some of whose variants need more than every host has.
type Demanding interface {
	System
	// Needs returns the programs and files that such variants need, whether this host has them or not.
	Needs() []Need
}

// Need is something that a system needs of a host.
type Need struct {
	Name    string
	Is      string // where it is
	Missing string // why it is not, or empty
	Install string // the command that brings it
}

// Backed is a System that stands on backing services of several kinds.
type Backed interface {
	System
	// OnBackings returns the knobs that put a variant on backing services of these kinds in place of its own. It
	// ignores kinds that the variant has no use for. An unknown kind, two for one purpose, and an impossible
	// variant are errors.
	OnBackings(v Variant, kinds []string) (map[string]string, error)
}

// Modelled is a System whose units can record spans of every operation, so that a model can be made of it.
type Modelled interface {
	System
	// Modelling returns the default way to make a model.
	Modelling() Modelling
}

// Modelling holds the defaults of `cleave model`.
type Modelling struct {
	Architecture string
	Rate         float64 // operations per second that are few for the system
	// PerFlow is the number of operations of a flow, as loads count these (FactorRate).
	PerFlow float64
	// Owned reports whether each component of a variant has a database of its own.
	Owned func(v Variant) bool
	// Knob is the one that says which operations are followed: all of them with the value All, none with None.
	Knob, All, None string
}
