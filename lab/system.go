package lab

import (
	"context"
	"encoding/json"
	"time"
)

// System is an application under test. It knows its own rules, which
// architectures it can take and how its work is checked; it knows neither
// deployers nor meters.
type System interface {
	// Describe names the system, its architectures and its parameters.
	Describe() SystemInfo
	// Layout returns the units of a variant at a point, which is within the limits of Describe. The seed fixes
	// every random choice of the job.
	Layout(v Variant, p Point, seed uint64) (Layout, error)
	// Audit judges the reports that the units handed in after the job. It is
	// called once per trial, also when reports are missing.
	Audit(v Variant, p Point, reports []UnitReport) Audit
}

// SystemInfo describes a system for validation and for `cleave list`.
type SystemInfo struct {
	Name          string         `json:"name"`
	Summary       string         `json:"summary"`
	Operation     string         `json:"operation"` // what one operation is: "round trip"
	Architectures []Architecture `json:"architectures"`
	Parameters    []Parameter    `json:"parameters"`
	// Check returns why a variant is impossible although its architecture and knobs exist; nil: every
	// combination is possible.
	Check func(v Variant) error `json:"-"`
	// Host returns why this host cannot play a point that other hosts can; nil: it can play all points.
	Host func(p Point) error `json:"-"`
	// Changes returns the knobs in which two variants that follow one another differ; nil: the architecture, and
	// every knob that both have.
	Changes func(from, to Variant) []KnobChange `json:"-"`
	// Metrics lists the metrics that compare trials of the system, the headline first; empty means
	// JobMetrics. A system that has some is a Measurer.
	Metrics []Metric `json:"metrics,omitempty"`
	// Restartable: units may be killed and started again while the load goes on.
	Restartable bool `json:"restartable,omitempty"`
	// Foreign: variants bring the definition of their system, and studies the scenario
	// that it is loaded with; no study file can say either.
	Foreign bool `json:"foreign,omitempty"`
	// Model is the text of the model file that the system plays, for its studies; empty: it plays none.
	Model string `json:"-"`
}

// LiveAuditor is a System whose audit reads the backing services and the trial's
// directory. It is asked instead of Audit where the job was played to its end,
// after the units have reported and while the services still run.
type LiveAuditor interface {
	AuditLive(ctx context.Context, v Variant, p Point, left Leftover) Audit
}

// Leftover is the state that a trial leaves behind for its audit.
type Leftover struct {
	Reports []UnitReport
	// Addresses are those of the backing services, by their names in the layout.
	Addresses map[string]string
	// Foreign are the addresses, from the conductor's host, of foreign units that listen
	// and are no backing services. They still run.
	Foreign map[string]string
	// Dir is the folder with the files that the units handed over.
	Dir string
	// Seed is the one that Layout was given.
	Seed uint64
	// Spawned is the moment at which the deployer began to start the units.
	Spawned time.Time
	// Faults lists the faults of the trial. The report of a unit that was killed tells of its last life only.
	Faults []FaultRecord
	// ClocksApart is the largest distance between the clocks (time since 1970) of two units: moments of
	// different units that are closer prove no order.
	ClocksApart time.Duration
}

// Measurer is a System with metrics of its own.
type Measurer interface {
	// Measure says what was found in a trial. Metered.Roles tells the units of the
	// system from those that load it. It is called once per trial whose job was
	// played to its end, while the trial's directory and services are still there.
	Measure(ctx context.Context, v Variant, p Point, metered Metered, left Leftover) (Measured, error)
}

// Measured holds what a system found in one of its trials.
type Measured struct {
	// Values are by the names of SystemInfo.Metrics. One that could not be
	// measured is left out.
	Values map[string]float64
	// Spectra are the distributions behind them, by quantity.
	Spectra map[string][]Quantile
	// Operations holds the results of each operation; none where the load has only one.
	Operations []OperationOutcome
	Course     []Slice  // as the generator saw it
	Cohorts    *Cohorts // likewise; nil where they were not counted
	WarmUp     *WarmUp  // likewise; nil where it lasts a fixed time
	Search     *Search  // likewise; nil where the capacity is not looked for
	Network    string   // likewise; empty where there is none
	Remarks    []string // likewise
	// Late are the response times that late sendings may have moved; see LoadReport.
	Late map[float64]string
	// Paths show where the time of single operations went.
	Paths []Path
	// Traffic counts what units sent to each other and to backing services.
	Traffic []Traffic
}

// Architecture is a named placement, binding, data and coordination.
type Architecture struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Knobs   []Knob `json:"knobs,omitempty"`
	// Tuned names the architecture that is this one with what we can do better; empty
	// where there is none, or where this is it.
	Tuned string `json:"tuned,omitempty"`
}

// Knob is one choice inside an architecture. The first value is the default.
type Knob struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Values  []string `json:"values"`
	// Free knobs take other values than these too; SystemInfo.Check judges them.
	Free bool `json:"free,omitempty"`
	// Means says what values are, in words for readers who know no knobs: "a saga". Those
	// that say so themselves are not in it.
	Means map[string]string `json:"means,omitempty"`
}

// Parameter is a whole-numbered factor of a system with its limits.
type Parameter struct {
	Name    string  `json:"name"`
	Summary string  `json:"summary"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	// Scaled parameters are multiplied by the scale of an experiment: they set
	// how much work a trial does, not what kind.
	Scaled bool `json:"scaled,omitempty"`
	// Optional parameters need not be set; the system has a value of its own.
	Optional bool `json:"optional,omitempty"`
}

// Architecture returns the named architecture of the system.
func (s SystemInfo) Architecture(name string) (Architecture, bool) {
	return first(s.Architectures, func(a Architecture) bool { return a.Name == name })
}

// Parameter returns the named parameter of the system.
func (s SystemInfo) Parameter(name string) (Parameter, bool) {
	return first(s.Parameters, func(p Parameter) bool { return p.Name == name })
}

// KnobValue returns the setting of a knob: the variant's, else the default,
// else "" where the architecture has no such knob.
func (a Architecture) KnobValue(v Variant, knob string) string {
	if value, ok := v.Knobs[knob]; ok {
		return value
	}
	for _, k := range a.Knobs {
		if k.Name == knob {
			return k.Values[0]
		}
	}
	return ""
}

// Layout is a variant spelled out as units, ready for a deployer.
type Layout struct {
	Units []UnitSpec
	// Prepare are commands that run to their end, one after another, before the
	// units start. One that fails, fails the trial.
	Prepare []UnitSpec
	// Lead is the name of the unit that speaks the control protocol: it reports
	// ready, takes start and stop, and reports finished.
	Lead string
	// Operations is the number of operations the job consists of.
	Operations int64
	// SharedMemory is the size in bytes of the memory that all units share as
	// inherited file descriptor 3; 0 means none.
	SharedMemory int64
	// Descriptors is the most file descriptors that one unit will hold open.
	Descriptors int
	// SocketName is the longest path, in bytes, of a Unix socket that a unit makes below
	// the trial's directory; 0 means that none is made. The kernel limits such paths.
	SocketName int
	// Services are the backing services of the trial. Every unit that is not
	// foreign gets their addresses (see ServiceVariable).
	Services []ServiceSpec
	// Replicated are folders of the conductor's host that shall lie on the replicated disk.
	Replicated []string
	// Links are those of hosts that units are on, where they shall be otherwise than they are.
	Links map[string]Network
	// Nodes are the hosts of its deployment that faults can be done to, besides units and
	// services; who deploys it says so (Capabilities).
	Nodes []Node
	// Spans receives the spans of foreign units other than servers; nil: none are received. The deployer has it
	// listen and adds the variables that it returns to their environment.
	Spans SpanReceiver
	// Code has the lines of code of the packages of ours that the system is built from, by package; nil: its
	// sources are not ours, or nobody has counted them.
	Code map[string]int
	// FileLines counts the lines of the files in which users describe their system; 0: there are none.
	FileLines int
	// Loaded is told of every second of the load that the lead unit tells of; nil: nobody is.
	Loaded func(LoadSecond) `json:"-"`
}

// UnitReport is a unit's report of its own work when the job was over.
type UnitReport struct {
	Unit string `json:"unit"`
	// PID is the number of the unit's process as the unit sees it; 0 where the deployer
	// cannot tell.
	PID  int             `json:"pid"`
	Data json.RawMessage `json:"data"`
}

// AuditVerdict says whether a trial kept the rules of its system.
type AuditVerdict string

// The verdicts of an audit. Only a valid trial counts.
const (
	AuditValid   AuditVerdict = "valid"
	AuditInvalid AuditVerdict = "invalid"
	AuditUnknown AuditVerdict = "unknown"
)

// Audit is the judgement over one trial.
type Audit struct {
	Verdict  AuditVerdict     `json:"verdict"`
	Counts   map[string]int64 `json:"counts,omitempty"`
	Problems []string         `json:"problems,omitempty"`
	// Said are the last lines of the output of a user's own audit.
	Said []string `json:"said,omitempty"`
	// Figures are numbers that are not rules, such as fairness shares.
	Figures map[string]float64 `json:"figures,omitempty"`
}
