package lab

// This file holds the optional interfaces of systems. A command that needs one works for every system that
// implements it.

// Checkable is a System whose architectures `cleave check` can audit.
type Checkable interface {
	System
	// CheckPoint returns a point for a check with that many operations: as fast as they are answered, or, if
	// over is above 0, due evenly within that many seconds. Its load should exercise all rules of the audit.
	CheckPoint(operations int, over float64) Point
	// CheckTable returns the columns of the table of the audits.
	CheckTable() CheckTable
}

// CheckTable describes the table of a check, with a row per architecture.
type CheckTable struct {
	Most    int           // maximum number of operations of a check
	Columns []CheckColumn // in addition to the verdict and the backing services
	// Faults lists the columns of the table of faults, which show the effects of the faults on clients.
	Faults []CheckColumn
}

// CheckColumn is a column of a CheckTable: a count of the audit or, if Metric is not empty,
// a metric of the trial with Digits decimals.
type CheckColumn struct {
	Title, Count, Metric string
	Digits               int
}

// Lengthenable is a System whose load can be lengthened.
type Lengthenable interface {
	System
	// Lengthened returns the system with the times of its load and warm-up multiplied by a factor.
	Lengthened(times float64) System
}

// Explainable is a System for which `cleave explain` can divide the difference between two architectures into
// steps. It is under load: its points can have FactorRate or FactorSearchFrom.
type Explainable interface {
	System
	// Steps returns the steps that lead from one variant to another, one knob at a time, and all variants on the
	// way, beginning with from, each with a unique name. The steps of the order that is shown have Order 1. If
	// the same changes can be made in another order, the steps of that one follow, with Order 2.
	Steps(from, to Variant) (variants []Variant, steps []PathStep, err error)
	// Explanation returns the defaults of `cleave explain`.
	Explanation() Explanation
}

// Explanation holds the default variants and load of `cleave explain`.
type Explanation struct {
	From, To string  // architectures
	Rate     float64 // operations per second that every variant of the steps can hold
	// Metrics lists the names of the metrics that explain a cost, the headline first; the
	// system's other metrics follow them.
	Metrics []string
}

// Demanding is a System with variants that need special programs or files.
type Demanding interface {
	System
	// Needs returns the programs and files that such variants need, both present and missing ones.
	Needs() []Need
}

// Need is something that a system needs of a host.
type Need struct {
	Name    string
	Is      string // the path where it is or should be; empty if unknown
	Missing string // why it is missing; empty: it is present
	Install string // the command that installs it
}

// Backed is a System that can use backing services of several kinds.
type Backed interface {
	System
	// OnBackings returns the knobs that make a variant use backing services of these kinds. It ignores kinds
	// that the variant does not use. It returns an error for an unknown kind, two kinds for the same purpose, or
	// an impossible variant.
	OnBackings(v Variant, kinds []string) (map[string]string, error)
}

// Modelled is a System whose units can record spans of every operation, from which a model can be made.
type Modelled interface {
	System
	// Modelling returns the defaults for making a model.
	Modelling() Modelling
}

// Modelling holds the defaults of `cleave model`.
type Modelling struct {
	Architecture string
	Rate         float64 // operations per second, a low load for the system
	// PerFlow is the number of operations per flow; FactorRate counts flows.
	PerFlow float64
	// Owned reports whether each component of a variant has a database of its own.
	Owned func(v Variant) bool
	// Knob is the name of the knob that selects the traced operations: All is its value for all, None for none.
	Knob, All, None string
}
