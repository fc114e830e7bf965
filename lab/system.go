package lab

import (
	"context"
	"encoding/json"
	"time"
)

// System is an application under test. It knows its own rules, the
// architectures that it can have, and how its work is checked. It knows neither
// deployers nor meters.
type System interface {
	// Describe returns the name of the system, its architectures and its parameters.
	Describe() SystemInfo
	// Layout returns the units of a variant at a point, which must be within the limits of Describe. All random
	// choices of the job depend only on the seed.
	Layout(v Variant, p Point, seed uint64) (Layout, error)
	// Audit judges the reports that the units sent after the job. It is called once
	// per trial, even if reports are missing.
	Audit(v Variant, p Point, reports []UnitReport) Audit
}

// SystemInfo describes a system for validation and for `cleave list`.
type SystemInfo struct {
	Name          string         `json:"name"`
	Summary       string         `json:"summary"`
	Operation     string         `json:"operation"` // the name of an operation: "round trip"
	Architectures []Architecture `json:"architectures"`
	Parameters    []Parameter    `json:"parameters"`
	// Check returns an error if a variant is impossible although its architecture and knobs exist. A nil Check
	// means that all combinations are possible.
	Check func(v Variant) error `json:"-"`
	// Host returns an error if this host cannot play a point that other hosts can. A nil Host means that it can
	// play all points.
	Host func(p Point) error `json:"-"`
	// Changes returns the knobs in which two consecutive variants of a step differ. If Changes is nil, these are
	// the architecture and all knobs that both have.
	Changes func(from, to Variant) []KnobChange `json:"-"`
	// Metrics lists the metrics that compare trials of the system, the headline first; empty means
	// JobMetrics. A system with Metrics is a Measurer.
	Metrics []Metric `json:"metrics,omitempty"`
	// Restartable is set if units may be killed and restarted during the load.
	Restartable bool `json:"restartable,omitempty"`
	// Foreign is set if variants contain the definition of their system, and studies the
	// scenario of its load. Neither can be in a study file.
	Foreign bool `json:"foreign,omitempty"`
	// Model is the text of the model file that the system plays, for its studies; empty: there is none.
	Model string `json:"-"`
}

// LiveAuditor is a System whose audit reads the backing services and the trial's
// directory. AuditLive is called instead of Audit if the job was played to its end,
// after the units have reported and while the services still run.
type LiveAuditor interface {
	AuditLive(ctx context.Context, v Variant, p Point, left Leftover) Audit
}

// Leftover is the state that a trial leaves behind for its audit.
type Leftover struct {
	Reports []UnitReport
	// Addresses holds the addresses of the backing services, by their names in the layout.
	Addresses map[string]string
	// Foreign holds the addresses, for the conductor's host, of foreign units that listen
	// and are no backing services. They still run.
	Foreign map[string]string
	// Dir is the folder with the files that the units handed over.
	Dir string
	// Seed is the seed of Layout.
	Seed uint64
	// Spawned is the moment at which the deployer began to start the units.
	Spawned time.Time
	// Faults lists the faults of the trial. The report of a killed unit only covers the time since its last
	// start.
	Faults []FaultRecord
	// ClocksApart is the largest difference between the clocks (time since 1970) of two units. The order of
	// moments in different units is unknown if they are closer than this.
	ClocksApart time.Duration
}

// Measurer is a System with its own metrics.
type Measurer interface {
	// Measure returns the measurements of a trial. Metered.Roles distinguishes the units
	// of the system from those that load it. Measure is called once for every trial whose
	// job was played to its end, while the trial's directory and services still exist.
	Measure(ctx context.Context, v Variant, p Point, metered Metered, left Leftover) (Measured, error)
}

// Measured holds the measurements of a system in one of its trials.
type Measured struct {
	// Values holds the values by the names of SystemInfo.Metrics, without those that could
	// not be measured.
	Values map[string]float64
	// Spectra holds the distributions of these values, by quantity.
	Spectra map[string][]Quantile
	// Operations holds the results of each operation; empty if the load has only one.
	Operations []OperationOutcome
	Course     []Slice  // as in LoadReport
	Cohorts    *Cohorts // likewise
	WarmUp     *WarmUp  // likewise
	Search     *Search  // likewise
	Network    string   // likewise
	Remarks    []string // likewise
	// Late says by quantile why that response time may be wrong; see LoadReport.
	Late map[float64]string
	// Paths holds the critical paths of a median and of a slow operation, and the mean path of all traced ones.
	Paths []Path
	// Traffic counts what units sent to each other and to backing services.
	Traffic []Traffic
}

// Architecture is a named combination of placement, binding, data and coordination.
type Architecture struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Knobs   []Knob `json:"knobs,omitempty"`
	// Tuned names the architecture that is this one with our optimizations. It is empty if
	// there is none, or if this is such an architecture.
	Tuned string `json:"tuned,omitempty"`
}

// Knob is one choice inside an architecture. The first value is the default.
type Knob struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Values  []string `json:"values"`
	// Free is set if other values are allowed, too. SystemInfo.Check checks them.
	Free bool `json:"free,omitempty"`
	// Means holds descriptions of values for readers who do not know the knob: "a saga".
	// Values that need no description are not in it.
	Means map[string]string `json:"means,omitempty"`
}

// Parameter is a factor of a system with its limits.
type Parameter struct {
	Name    string  `json:"name"`
	Summary string  `json:"summary"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	// Scaled is set for parameters that are multiplied by the scale of an experiment:
	// they set the amount of work of a trial, not its kind.
	Scaled bool `json:"scaled,omitempty"`
	// Optional is set for parameters that have a default.
	Optional bool `json:"optional,omitempty"`
	// Share is set for parameters that may be fractions. All others are whole numbers.
	Share bool `json:"share,omitempty"`
}

// Architecture returns the named architecture of the system.
func (s SystemInfo) Architecture(name string) (Architecture, bool) {
	return first(s.Architectures, func(a Architecture) bool { return a.Name == name })
}

// Parameter returns the named parameter of the system.
func (s SystemInfo) Parameter(name string) (Parameter, bool) {
	return first(s.Parameters, func(p Parameter) bool { return p.Name == name })
}

// KnobValue returns the value of a knob: that of the variant, or else the default, or
// "" if the architecture has no such knob.
func (a Architecture) KnobValue(v Variant, knob string) string {
	if value, ok := v.Knobs[knob]; ok {
		return value
	}
	if k, has := first(a.Knobs, func(k Knob) bool { return k.Name == knob }); has {
		return k.Values[0]
	}
	return ""
}

// Layout describes all units of a variant for a deployer.
type Layout struct {
	Units []UnitSpec
	// Prepare lists commands that run one after another before the units start. If one
	// fails, the trial fails.
	Prepare []UnitSpec
	// Lead is the name of the unit that controls the job: it sends the events ready and
	// finished, and gets the commands start and stop.
	Lead string
	// Operations is the number of operations of the job.
	Operations int64
	// SharedMemory is the size in bytes of the memory that all units share as
	// inherited file descriptor 3; 0 means none.
	SharedMemory int64
	// Descriptors is the largest number of open file descriptors of a unit.
	Descriptors int
	// SocketName is the length of the longest path, in bytes, of a Unix socket that a unit
	// creates below the trial's directory; 0 means that there is none. The kernel limits
	// such paths.
	SocketName int
	// Services are the backing services of the trial. Every unit that is not
	// foreign gets their addresses (see ServiceVariable).
	Services []ServiceSpec
	// Replicated lists folders of the conductor's host that must be on the replicated disk.
	Replicated []string
	// Links holds network settings of hosts of units, by host, if they are to be changed.
	Links map[string]Network
	// Nodes lists hosts of the deployment that can have faults, besides units and services.
	// The deployer sets it (see Capabilities).
	Nodes []Node
	// Spans receives the spans of foreign units other than servers; nil: none are received. The deployer makes
	// it listen, and adds the variables that it returns to their environment.
	Spans SpanReceiver
	// Code holds the lines of code of our packages of which the system is built, by package; nil: the sources
	// are not ours, or were not counted.
	Code map[string]int
	// FileLines is the number of lines of the files in which users describe their system; 0: there are none.
	FileLines int
	// Loaded is called for every second of the load that the lead unit reports; may be nil.
	Loaded func(LoadSecond) `json:"-"`
}

// UnitReport is a unit's report of its own work when the job was over.
type UnitReport struct {
	Unit string `json:"unit"`
	// PID is the process ID that the deployer knows for the unit, in the unit's PID namespace; 0: it knows none.
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

// Audit is the judgement of one trial.
type Audit struct {
	Verdict  AuditVerdict     `json:"verdict"`
	Counts   map[string]int64 `json:"counts,omitempty"`
	Problems []string         `json:"problems,omitempty"`
	// Said holds the last lines of the output of a user's own audit.
	Said []string `json:"said,omitempty"`
	// Figures holds numbers for which there are no rules, such as fairness shares.
	Figures map[string]float64 `json:"figures,omitempty"`
}
