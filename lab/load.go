package lab

import (
	"encoding/json"
	"time"
)

// Factors of points that have the same meaning in all systems under load.
const (
	FactorRate       = "rate"        // operations per second of an open loop
	FactorPerMinute  = "per_minute"  // operations per minute of an open loop
	FactorUsers      = "users"       // number of users of a closed loop
	FactorSearchFrom = "search_from" // rate at which the search for the capacity begins
	FactorCores      = "cores"       // processors that all units of the system share
	FactorReplicas   = "replicas"    // number of replicas of units that can have several
)

// Factors of points that replace values of LoadClient.
const (
	FactorConnections = "connections"
	FactorTraceShare  = "trace_share"
	FactorThreads     = "threads"
)

// Figures of audits that have the same meaning in all systems under load.
const (
	FigureOffered  = "offered_rate"  // flows per second; a flow is one operation unless FigureFlow is set
	FigureAchieved = "achieved_rate" // flows per second that were begun
	FigureHeld     = "held"          // 1: the rate was achieved, and operations did not pile up
	// FigureLimited is 1 if the generator, not the system, was the limit.
	FigureLimited = "generator_limited"
	FigureErrors  = "error_share" // the share of operations without a right answer
	// FigureObjective is 1 if the load met the objective, else 0.
	FigureObjective = "objective_met"
	// FigureFlow is the number of operations of a flow; absent if it is one.
	FigureFlow = "operations_per_flow"
)

// RoleGenerator is the role of the unit that makes the load. Its usage is no cost of the
// system.
const RoleGenerator = "generator"

// JitteredArrivals are due at random moments within intervals of equal length. Arrivals at
// equal distances can keep in step with timers of the system, which shifts all times.
const JitteredArrivals = "jittered"

// Load is the load of every trial of a study. Points set the values that vary, such as the
// rate.
type Load struct {
	// Scenario is a scenario file (cleave-scenario/1) as JSON.
	Scenario json.RawMessage `json:"scenario"`
	// Files holds the files that the scenario names.
	Files map[string][]byte `json:"files,omitempty"`
	// Duration is the time of the measured load, and WarmUp that of the unrecorded load before
	// it. If Duration is 0, the load lasts until the number of operations of the point is done.
	Duration float64 `json:"duration_seconds" yaml:"duration,omitempty,span"`
	WarmUp   float64 `json:"warm_up_seconds" yaml:"warm_up,omitempty,warm-up"`
	// WarmUpLimit, if above 0, lets the unrecorded load continue after WarmUp until it is
	// steady, but no longer than this many seconds; see type WarmUp.
	WarmUpLimit float64 `json:"warm_up_limit_seconds,omitempty" yaml:"warm_up_limit,omitempty,span"`
	// RampUp is the time, in seconds, over which the users of a closed loop start one after another at equal
	// distances. It is a part of Duration.
	RampUp float64 `json:"ramp_up_seconds,omitempty" yaml:"ramp_up,omitempty,span"`
	// Arrivals of open loops are "constant" (default), "poisson" or JitteredArrivals.
	Arrivals string `json:"arrivals,omitempty"`
	// Consent is the text of a list of other hosts that may be loaded; see
	// docs/consent.md. Empty: only this host.
	Consent string `json:"consent,omitempty"`
	// Objective is a condition such as "p99<50ms,errors<0.1%"; empty means none.
	Objective string `json:"objective,omitempty" yaml:"objective,omitempty"`
	// Effort limits the search for a capacity.
	Effort SearchEffort `json:"search,omitzero" yaml:"search,omitempty"`
	// Lateness, in seconds, is added to the usual limit for the delay of sends: if the generator sends more than
	// 1 % of the operations later than that, it counts as the limit. Such delays hardly change medians and
	// costs, but they change high percentiles.
	Lateness float64 `json:"lateness_seconds,omitempty" yaml:"lateness,omitempty,span"`
	// Cores are the processors of the generator; empty means any.
	Cores []int `json:"cores,omitempty"`
	// Client says how the generator connects. Zero values mean the defaults of the load engine.
	Client LoadClient `json:"client,omitzero"`
}

// Lengthened returns the load with its duration and its warm-up multiplied by a factor.
func (l Load) Lengthened(times float64) Load {
	l.Duration = times * l.Duration
	l.WarmUp = times * l.WarmUp
	l.WarmUpLimit = times * l.WarmUpLimit
	return l
}

// LongestWarmUp returns the longest time of the warm-up, in seconds.
func (l Load) LongestWarmUp() float64 { return max(l.WarmUp, l.WarmUpLimit) }

// LoadClient says how a generator connects.
type LoadClient struct {
	Connections int     `json:"connections,omitempty"` // their number in an open loop
	Threads     int     `json:"threads,omitempty"`     // threads that send, over plain HTTP/1.1
	Timeout     float64 `json:"timeout_seconds,omitempty"`
	HTTP2       bool    `json:"http2,omitempty"` // without TLS if the URL begins with http://
	Roots       []byte  `json:"roots,omitempty"` // trusted certificates, PEM; empty: those of the host
	// TraceShare is the share of the flows whose spans services are asked to record; 0: requests do not mention
	// traces.
	TraceShare float64 `json:"trace_share,omitempty"`
}

// SearchEffort limits the cost of a search for the capacity. Zero values mean the defaults of the load
// engine.
type SearchEffort struct {
	// Duration is that of each probe, in seconds; zero: that of the load.
	Duration float64 `json:"duration_seconds,omitempty" yaml:"duration,omitempty,span"`
	// Resolution ends a search: it is the ratio of the lowest rate that failed to the
	// highest that passed.
	Resolution float64 `json:"resolution,omitempty" yaml:"resolution,omitempty"`
	// Votes is the number of probes that decide about a rate near the capacity. Unless it is 1, the search also
	// confirms the capacity at the end: by probes a little below and above it, and by a longer load.
	Votes int `json:"votes,omitempty" yaml:"votes,omitempty"`
}

// Generator makes the unit that puts a system under load, and reads the report of that unit.
// The unit is the lead: it waits until the system is ready, plays the load between the
// command start and the event finished, and reports after the command stop.
type Generator interface {
	Unit(job LoadJob) (UnitSpec, error)
	Read(report UnitReport) (LoadReport, error)
}

// LoadJob is the load of one trial. Set Rate for an open loop, Users for a closed one, or
// Count. If none is set, the load of the scenario is played.
type LoadJob struct {
	Load
	// Target is the URL of the system.
	Target string
	// Unit is the unit whose address replaces host and port of Target. If it is empty, they
	// are not replaced.
	Unit  string
	Rate  float64 // flows per second
	Users int
	// Count is the number of flows after which the load ends. It replaces Rate and Users, and Duration is its
	// limit.
	Count int
	// Over is the time, in seconds, over which the flows of Count are due at equal distances; 0: all are due at
	// once, so that the generator sends as fast as its connections get answers.
	Over float64
	Seed uint64 // of every random choice
	// Search asks for the highest rate that meets the objective. It begins at a rate between Rate and twice Rate
	// that Seed and Variant choose, so that searches do not all end on the same few rates.
	Search  bool
	Variant string // whose capacity is searched for
	Ready   ReadyCheck
	// Look says where the user can look for the reason if the target is not ready in time;
	// empty: unknown.
	Look string
	// Settle, if it has a path, is a request after the last operation, also after that of the
	// warm-up and of every probe of a search. The load is over when it is answered. A system
	// that answers operations before all of their work is done must answer this request only
	// when all work is done. If the system is unavailable, or answers with a 5xx because it
	// does not know, the request is repeated. After Timeout the load fails.
	Settle ReadyCheck
	// Between replaces the path of Settle if another load follows at once, which is so after
	// the warm-up and after probes of a search. There, work with hardly any effect on the next
	// load need not be awaited. Empty: the path of Settle.
	Between string
	// History is a file in the trial's directory to which a JSON line is written for every
	// attempt at an operation; empty means none.
	History string
}

// The time for which units rest before a load, so that their idle usage can be metered. It is a small share
// of the load's duration.
const (
	restShare    = 0.05
	shortestRest = 200 * time.Millisecond
	longestRest  = time.Second
)

// Rest returns how long the system rests before the load. It returns 0 for a search, which measures no costs.
func (j LoadJob) Rest() time.Duration {
	if j.Search {
		return 0
	}
	length := j.Duration
	if j.Count > 0 {
		length = j.Over // Duration is its limit
	}
	return min(max(Seconds(restShare*length), shortestRest), longestRest)
}

// ReadyCheck says when a system is ready for the load: as soon as it answers a GET of Path
// with a status below 400 or, without a path, as soon as it accepts a connection. After
// Timeout it counts as failed.
type ReadyCheck struct {
	Path    string  `json:"path,omitempty"`  // of the URL; absent: a connection is enough
	Timeout float64 `json:"timeout_seconds"` // for the whole wait
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
	// Limited says why the generator, not the system, was the limit; empty: the generator was
	// not the limit.
	Limited []string
	// Late says by quantile (0: the mean, 1: the longest) why that response time may be wrong because the
	// generator sent too late. All else of the load is valid. Nil: there is no such time, or the load is
	// Limited.
	Late map[float64]string
	// Unchecked lists the operations whose answers nothing checks but their status.
	Unchecked []string
	// Measures holds the measured numbers of the generator: response and service times, SendLateness,
	// Goodput, Transfer, Requests, BadStatus, Capacity, Relief.
	Measures []Measure
	// Spectra holds the distributions of response and service times.
	Spectra map[string][]Quantile
	// Operations holds the results of each operation, in the order of the scenario.
	Operations []OperationOutcome
	Course     []Slice  // of one load; nil for a search
	Cohorts    *Cohorts // of one load; nil if they were not counted
	Search     *Search  // nil if it was one load
	WarmUp     *WarmUp  // nil if it was to last a fixed time
	Network    string   // the simulated network before the system, as a probe measured it; empty: there is none
	// Missed lists the parts of the objective that the load did not meet.
	Missed []string
	// Remarks lists what readers must know besides the figures: texts of the server with unexpected statuses,
	// and effects that a closed loop may hide.
	Remarks []string
}
