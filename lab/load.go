package lab

import (
	"encoding/json"
	"time"
)

// Factors of points that mean the same in every system under load.
const (
	FactorRate       = "rate"        // operations per second of an open loop
	FactorPerMinute  = "per_minute"  // operations per minute of an open loop
	FactorUsers      = "users"       // of a closed loop
	FactorSearchFrom = "search_from" // rate at which the search for the capacity begins
	FactorCores      = "cores"       // processors that all units of the system share
	FactorReplicas   = "replicas"    // of what can run several times
)

// Factors of points that say how the generator connects; they replace LoadClient's.
const (
	FactorConnections = "connections" // of an open loop
	FactorTraceShare  = "trace_share" // of LoadClient
	FactorThreads     = "threads"     // that send, over plain HTTP/1.1
)

// Figures of audits that mean the same in every system under load.
const (
	FigureOffered  = "offered_rate"  // operations per second
	FigureAchieved = "achieved_rate" // operations per second that were begun
	FigureHeld     = "held"          // 1: the rate was achieved and did not pile up
	// FigureLimited is 1 where the generator, not the system, was the limit.
	FigureLimited = "generator_limited"
	FigureErrors  = "error_share" // of the operations, those not answered rightly
	// FigureObjective is 1 where the load met the objective, else 0.
	FigureObjective = "objective_met"
	// FigureFlow counts the operations of a flow; absent where that is one.
	FigureFlow = "operations_per_flow"
)

// RoleGenerator is the role of the unit that makes the load: what it uses is no cost of
// the system.
const RoleGenerator = "generator"

// JitteredArrivals are due at random moments of even intervals. Evenly spaced ones keep in
// step with the timers of a system, and shift all of its times.
const JitteredArrivals = "jittered"

// Load is the load that every trial of a study is put under; the points set
// what varies, such as the rate.
type Load struct {
	// Scenario is a scenario file (cleave-scenario/1) as JSON.
	Scenario json.RawMessage `json:"scenario"`
	// Files are those that the scenario names.
	Files map[string][]byte `json:"files,omitempty"`
	// Duration of the measured load and of the unrecorded one before it; 0: it lasts until the
	// operations that the points count are done.
	Duration float64 `json:"duration_seconds" yaml:"duration,omitempty,span"`
	WarmUp   float64 `json:"warm_up_seconds" yaml:"warm_up,omitempty,warm-up"`
	// WarmUpLimit, where above 0, lets the unrecorded load go on from WarmUp until it is
	// steady, and ends it at this many seconds; see WarmUp.
	WarmUpLimit float64 `json:"warm_up_limit_seconds,omitempty" yaml:"warm_up_limit,omitempty,span"`
	// RampUp is the time over which the users of a closed loop begin evenly, in seconds. It is a part of
	// Duration.
	RampUp float64 `json:"ramp_up_seconds,omitempty" yaml:"ramp_up,omitempty,span"`
	// Arrivals of open loops: "constant" (default), "poisson" or JitteredArrivals.
	Arrivals string `json:"arrivals,omitempty"`
	// Consent is the text of a list of other hosts that may be loaded; see
	// docs/consent.md. Empty: this host only.
	Consent string `json:"consent,omitempty"`
	// Objective is a limit such as "p99<50ms,errors<0.1%"; empty means none.
	Objective string `json:"objective,omitempty" yaml:"objective,omitempty"`
	// Effort limits the search for a capacity.
	Effort SearchEffort `json:"search,omitzero" yaml:"search,omitempty"`
	// Lateness is the delay, in seconds, beyond its own limit with which the generator may send 1 % of the
	// operations before it counts as the limit. It hardly changes medians and costs, but percentiles in the
	// tail.
	Lateness float64 `json:"lateness_seconds,omitempty" yaml:"lateness,omitempty,span"`
	// Cores are those of the generator; empty means any.
	Cores []int `json:"cores,omitempty"`
	// Client says how the generator connects. Zero values are those of the load engine.
	Client LoadClient `json:"client,omitzero"`
}

// Lengthened returns the load with its times, those of the warm-up included, multiplied by a factor.
func (l Load) Lengthened(times float64) Load {
	l.Duration, l.WarmUp, l.WarmUpLimit = times*l.Duration, times*l.WarmUp, times*l.WarmUpLimit
	return l
}

// LongestWarmUp returns the longest time of the warm-up, in seconds.
func (l Load) LongestWarmUp() float64 { return max(l.WarmUp, l.WarmUpLimit) }

// LoadClient says how a generator connects.
type LoadClient struct {
	Connections int     `json:"connections,omitempty"` // of an open loop, in all
	Threads     int     `json:"threads,omitempty"`     // that send, over plain HTTP/1.1
	Timeout     float64 `json:"timeout_seconds,omitempty"`
	HTTP2       bool    `json:"http2,omitempty"` // in clear text with http://
	Roots       []byte  `json:"roots,omitempty"` // certificates to trust, PEM; empty: the host's
	// TraceShare is the share of the flows whose spans services are asked to record; 0: requests do not mention
	// traces.
	TraceShare float64 `json:"trace_share,omitempty"`
}

// SearchEffort bounds the cost of a search for the capacity. Zero values are those of the load engine.
type SearchEffort struct {
	// Duration of each probe, in seconds; zero: that of the load.
	Duration float64 `json:"duration_seconds,omitempty" yaml:"duration,omitempty,span"`
	// Resolution is the ratio of the highest rate that passed and the lowest that
	// failed at which a search ends.
	Resolution float64 `json:"resolution,omitempty" yaml:"resolution,omitempty"`
	// Votes is the number of probes that decide near the capacity; with 1 the capacity is not confirmed
	// afterwards, neither a little below and above it nor by a longer load.
	Votes int `json:"votes,omitempty" yaml:"votes,omitempty"`
}

// Generator makes the unit that puts a system under load, and reads what it
// reports. That unit leads: it waits until the system is ready, plays the load
// between start and finished, and reports after stop.
type Generator interface {
	Unit(job LoadJob) (UnitSpec, error)
	Read(report UnitReport) (LoadReport, error)
}

// LoadJob is one trial's load. Give Rate for an open loop, Users for a closed one,
// or Count; with none the scenario's own load is played.
type LoadJob struct {
	Load
	// Target is the URL of the system.
	Target string
	// Unit is the unit whose address replaces host and port of Target; empty means
	// that they stay as they are.
	Unit  string
	Rate  float64 // flows per second
	Users int
	// Count is the number of flows of a load that sends as fast as the generator's connections get answers. It
	// replaces Rate and Users, and Duration is its limit.
	Count int
	// Over is the time over which the flows of Count are due evenly, in seconds; 0: all are due at once.
	Over float64
	Seed uint64 // of every random choice
	// Search asks for the highest rate that meets the objective. It begins at a rate between Rate and twice Rate
	// that Seed and Variant choose, so that searches do not all end on the same few rates.
	Search  bool
	Variant string // whose capacity is searched for
	Ready   ReadyCheck
	// Look says where to look if the target is not ready in time; empty: not known.
	Look string
	// Settle, where it has a path, is asked once after the last operation, of the
	// warm-up and of every probe of a search too; the load is over when the answer
	// comes. A system whose answers come before its work is done holds it back until
	// all is final. One that is not there, or says with a 5xx that it cannot tell, is
	// asked again. After Timeout the load fails.
	Settle ReadyCheck
	// Between is the path that is asked instead where another load follows at once, after the
	// warm-up and the probes of a search: what is hardly seen need not be waited for there.
	// Empty: that of Settle.
	Between string
	// History is a file in the trial's directory that gets a JSON line for every
	// attempt at an operation; empty means none.
	History string
}

// The time for which units rest before a load, so that their idle usage can be metered: a small share of the
// load.
const (
	restShare    = 0.05
	shortestRest = 200 * time.Millisecond
	longestRest  = time.Second
)

// Rest returns how long the system rests before the load; 0 before a search, which measures no costs.
func (j LoadJob) Rest() time.Duration {
	if j.Search {
		return 0
	}
	length := j.Duration
	if j.Count > 0 {
		length = j.Over // Duration is its limit
	}
	return min(max(time.Duration(restShare*length*float64(time.Second)), shortestRest), longestRest)
}

// ReadyCheck says when a system may be loaded: as soon as a GET of Path is
// answered with a status below 400 or, without a path, as soon as it accepts a
// connection. After Timeout it will not do so any more.
type ReadyCheck struct {
	Path    string  `json:"path,omitempty"`
	Timeout float64 `json:"timeout_seconds"`
}

// OperationOutcome holds the results of one operation of a load: a step of its scenario.
type OperationOutcome struct {
	Name   string           `json:"name"`
	Sent   int64            `json:"sent"`
	OK     int64            `json:"ok"`
	Errors map[string]int64 `json:"errors,omitempty"` // by kind
	// Median, P99 and Longest are response times in seconds; 0: none.
	Median  float64 `json:"median"`
	P99     float64 `json:"p99"`
	Longest float64 `json:"longest"`
}

// LoadReport holds the results of a generator.
type LoadReport struct {
	// Offered and Achieved are flows per second; Offered is 0 in a closed loop.
	Offered  float64
	Achieved float64
	Duration float64 // of the load, in seconds
	Sent     int64   // operations
	OK       int64
	Unsent   int64            // operations that were due and never sent
	Errors   map[string]int64 // by kind
	// Limited says why the generator, not the system, was the limit; empty: it
	// was not.
	Limited []string
	// Late says of response times, by quantile (0: the mean, 1: the longest), why late sendings of the
	// generator may have moved them. The rest of the load counts; nil: they moved none, or the load is Limited.
	Late map[float64]string
	// Unchecked are the operations whose answers nobody reads.
	Unchecked []string
	// Measures holds the measured numbers of the generator: response and service times, SendLateness,
	// Goodput, Transfer, Requests, BadStatus, Capacity, Relief.
	Measures []Measure
	// Spectra are the distributions of response and service times.
	Spectra map[string][]Quantile
	// Operations holds the results of each operation, in the order of the scenario.
	Operations []OperationOutcome
	Course     []Slice  // of one load; none of a search
	Cohorts    *Cohorts // likewise; nil where they were not counted
	Search     *Search  // nil where it was one load
	WarmUp     *WarmUp  // nil where it was to last a fixed time
	Network    string   // how a probe has found the one before the system; empty: it has none of its own
	// Missed says which parts of the objective the load did not meet.
	Missed []string
	// Remarks holds what a reader has to know beside the figures: the server's texts with unexpected
	// statuses, and what a closed loop may hide.
	Remarks []string
}
