package lab

import (
	"maps"
	"time"
)

// Trial is the record of one fresh deployment under one load, measured once.
type Trial struct {
	Schema  string    `json:"schema"`
	Number  int       `json:"number"`
	Attempt int       `json:"attempt"` // 1 for the first
	Block   int       `json:"block"`
	Variant string    `json:"variant"`
	Point   Point     `json:"point"`
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	// Lengthened is the factor by which load and warm-up were longer than planned; 0: as planned.
	Lengthened float64 `json:"lengthened,omitempty"`
	// Profiled: under the profilers of the runtimes; its times are compared with nothing.
	Profiled bool `json:"profiled,omitempty"`
	// Layers divides the CPU time of a profiled trial among layers.
	Layers []RoleLayers `json:"layers,omitempty"`
	// Valid trials count. Reason says why one does not.
	Valid  bool   `json:"valid"`
	Reason string `json:"reason,omitempty"`
	// Units counts the units that ran.
	Units      int   `json:"units"`
	Operations int64 `json:"operations"`
	// ElapsedSeconds: start signal to last finish, on the lead unit's clock.
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	// LifetimeSeconds: spawn of the first unit to exit of the last.
	LifetimeSeconds float64 `json:"lifetime_seconds"`
	// Phases divides the trial's time, from its first calibration to its last. Only PhaseJob is measured.
	Phases []Phase `json:"phases,omitempty"`
	// Parts are the picture of the architecture: what ran, and what it used.
	Parts   []Part  `json:"parts,omitempty"`
	Metered Metered `json:"metered"`
	// Static holds the cost of the layout beside run time; nil: the trial was not played to its end.
	Static *StaticCost `json:"static,omitempty"`
	// Platform holds the usage of the units' platform beside them.
	Platform   *PlatformCost `json:"platform,omitempty"`
	Conditions Conditions    `json:"conditions"`
	Audit      Audit         `json:"audit"`
	// Services tells what each backing service really was, with its version, by name.
	Services map[string]string `json:"services,omitempty"`
	// Measures holds the system's own figures of a trial, by the name of the metric (SystemInfo.Metrics).
	Measures map[string]float64 `json:"measures,omitempty"`
	// Unmeasured are metrics that this trial cannot tell, with the reason.
	Unmeasured map[string]string `json:"unmeasured,omitempty"`
	// Late: the generator sent so late that some times from when operations were due are Unmeasured.
	Late bool `json:"late,omitempty"`
	// Clocks are those of the units' hosts; nil: all have the conductor's.
	Clocks *Clocks `json:"clocks,omitempty"`
	// Spectra are the distributions behind them, by quantity.
	Spectra map[string][]Quantile `json:"spectra,omitempty"`
	// ByOperation holds the results of each operation of the load, where it has several.
	ByOperation []OperationOutcome `json:"by_operation,omitempty"`
	// Course holds the course of the load, second by second.
	Course []Slice `json:"course,omitempty"`
	// Cohorts are its operations by when they were due.
	Cohorts *Cohorts `json:"cohorts,omitempty"`
	// Search records the search for the capacity; nil: there was none.
	Search *Search `json:"search,omitempty"`
	// WarmUp describes the load before it, where that lasts until it is steady.
	WarmUp *WarmUp `json:"warm_up,omitempty"`
	// Network is a probe's report of the network before the system, from before the load.
	Network string `json:"network,omitempty"`
	// Links holds probes' reports of the links of hosts, by host, from before the load.
	Links map[string]string `json:"links,omitempty"`
	// Remarks are the generator's on the load: what the server said with unexpected
	// statuses, and what a closed loop may hide; and why spans may be missing.
	Remarks []string `json:"remarks,omitempty"`
	// Paths show where the time of single operations went.
	Paths []Path `json:"paths,omitempty"`
	// Traced holds the operations that the spans of the units describe; nil: nobody asked for them.
	Traced *TraceSet `json:"traced,omitempty"`
	// Arrivals are replicas that the platform has added, in their order.
	Arrivals []Arrival `json:"arrivals,omitempty"`
	// Faults lists the faults of the trial, in the order in which they were done.
	Faults []FaultRecord `json:"faults,omitempty"`
}

// Phase is a part of a trial.
type Phase struct {
	Name    PhaseName `json:"name"`
	Seconds float64   `json:"seconds"`
}

// PhaseName names a part of a trial.
type PhaseName string

// The phases of a trial, in their order. One that fails ends early.
const (
	PhaseCalibration PhaseName = "calibration" // of the host; also the last of all
	PhaseStart       PhaseName = "start"       // backing services, preparations, units
	PhaseReady       PhaseName = "ready"       // until the lead unit is
	PhaseIdle        PhaseName = "idle"        // nobody asks anything of the units; see UnitSpec.Rest
	PhaseJob         PhaseName = "job"         // from mark to mark of the meter
	PhaseReports     PhaseName = "reports"     // units finish, hand over and report
	PhaseAudit       PhaseName = "audit"       // and what the system measures itself
	PhaseStop        PhaseName = "stop"        // until nothing is left
)

// Values returns the trial's metrics by name. A metric that could not be
// measured is absent. What the system measured itself replaces what follows
// from the units as a whole.
func (t Trial) Values() map[string]float64 {
	total := t.Metered.Total
	values := map[string]float64{"elapsed": t.ElapsedSeconds, "lifetime": t.LifetimeSeconds}
	set := func(name, source string, value float64) {
		if _, missing := total.Unavailable[source]; !missing {
			values[name] = value
		}
	}
	set("cpu", "cpu_seconds", total.CPUSeconds)
	set("peak_memory", "peak_memory_bytes", float64(total.PeakMemoryBytes))
	if t.Operations > 0 {
		n := float64(t.Operations)
		values["elapsed_per_operation"] = t.ElapsedSeconds / n
		set("cpu_per_operation", "cpu_seconds", total.CPUSeconds/n)
		switches := total.VoluntaryContextSwitches + total.InvoluntaryContextSwitches
		set("context_switches_per_operation", "voluntary_context_switches", float64(switches)/n)
	}
	maps.Copy(values, t.Measures)
	return values
}

// TrialStore keeps what an experiment has produced. Save returns after the
// record and the logs of the units, by name, are safe on disk.
type TrialStore interface {
	Save(trial Trial, logs map[string]string) error
	// Trials returns every saved record, in playing order.
	Trials() ([]Trial, error)
}

// StoppingRule looks at the data of an experiment that is still played: what they answer
// already and, of one that stops when all is decided, which trials it still needs.
type StoppingRule interface {
	// Answers are all that the experiment can answer, given the records of some blocks.
	Answers(played []Trial) []Answer
	// Needed returns what tells whether a planned trial is needed, given all records of
	// the blocks before. Of the same records it always says the same.
	Needed(played []Trial) func(PlannedTrial) bool
	// Lengths returns the factors by which the load and its warm-up become longer from now on, by point,
	// given all records of the blocks before; none: they stay as planned. The same records give the same
	// factors.
	Lengths(played []Trial) map[string]float64
	// Headline returns the comparison that would lead the answer after these records; nil: none yet.
	Headline(played []Trial) *Headline
}

// Answer is an experiment's answer to one of its questions before its end.
type Answer struct {
	Question string // it tells answers apart
	Verdict  string // empty: undecided
	Text     string // question and verdict in a few words
}

// Progress is told how an experiment goes. Implementations show it.
type Progress interface {
	Begin(plan Plan, done int)
	// Further says which trials are played beyond the plan, before they are.
	Further(trials []PlannedTrial)
	TrialStarted(planned PlannedTrial, attempt int)
	TrialEnded(trial Trial)
	// Look shows the headline over all blocks so far, the given one being the last.
	Look(block int, headline Headline)
	Note(text string)
	End()
}
