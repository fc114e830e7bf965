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
	// Profiled: the trial ran under the profilers of the runtimes; its times are not compared.
	Profiled bool `json:"profiled,omitempty"`
	// Layers divides the CPU time of a profiled trial among layers.
	Layers []RoleLayers `json:"layers,omitempty"`
	// Valid: the trial counts. Reason is why it does not.
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
	// Parts holds the running parts of the architecture, with their usage, for its picture.
	Parts   []Part  `json:"parts,omitempty"`
	Metered Metered `json:"metered"`
	// Static holds the costs of the layout other than run time; nil: the trial did not reach its end.
	Static *StaticCost `json:"static,omitempty"`
	// Platform holds the cost of the units' platform.
	Platform   *PlatformCost `json:"platform,omitempty"`
	Conditions Conditions    `json:"conditions"`
	Audit      Audit         `json:"audit"`
	// Services holds the program and version of each backing service, by name.
	Services map[string]string `json:"services,omitempty"`
	// Measures holds the system's own figures of a trial, by the name of the metric (SystemInfo.Metrics).
	Measures map[string]float64 `json:"measures,omitempty"`
	// Unmeasured holds the metrics that this trial could not measure, with the reason.
	Unmeasured map[string]string `json:"unmeasured,omitempty"`
	// Late: the generator sent so late that some times from the intended start are Unmeasured.
	Late bool `json:"late,omitempty"`
	// Clocks compares the clocks of the units' hosts; nil: all have the conductor's.
	Clocks *Clocks `json:"clocks,omitempty"`
	// Spectra holds the distributions behind Measures, by quantity.
	Spectra map[string][]Quantile `json:"spectra,omitempty"`
	// ByOperation holds the results of each operation of the load, if it has several.
	ByOperation []OperationOutcome `json:"by_operation,omitempty"`
	// Course holds the results of the load, second by second.
	Course []Slice `json:"course,omitempty"`
	// Cohorts groups the operations of the load by their intended start.
	Cohorts *Cohorts `json:"cohorts,omitempty"`
	// Search records the search for the capacity; nil: there was none.
	Search *Search `json:"search,omitempty"`
	// WarmUp describes a warm-up that lasted until the load was steady.
	WarmUp *WarmUp `json:"warm_up,omitempty"`
	// Network is a probe's report on the network in front of the system, before the load.
	Network string `json:"network,omitempty"`
	// Links holds the reports of probes on the links of hosts, by host, before the load.
	Links map[string]string `json:"links,omitempty"`
	// Remarks holds the generator's remarks on the load, such as the texts of unexpected
	// statuses or the limits of a closed loop, and why spans may be missing.
	Remarks []string `json:"remarks,omitempty"`
	// Paths holds the critical paths of a median and of a slow operation, and the mean path of all traced ones.
	Paths []Path `json:"paths,omitempty"`
	// Traced holds the operations described by the spans of the units; nil: they were not asked for.
	Traced *TraceSet `json:"traced,omitempty"`
	// Arrivals lists the replicas that the platform has added, in order.
	Arrivals []Arrival `json:"arrivals,omitempty"`
	// Faults lists the faults of the trial, in the order of injection.
	Faults []FaultRecord `json:"faults,omitempty"`
}

// Phase is a part of a trial.
type Phase struct {
	Name    PhaseName `json:"name"`
	Seconds float64   `json:"seconds"`
}

// PhaseName is the name of a phase.
type PhaseName string

// The phases of a trial, in order. A trial that fails has only the first ones.
const (
	PhaseCalibration PhaseName = "calibration" // of the host; also the last of all
	PhaseStart       PhaseName = "start"       // backing services, preparations, units
	PhaseReady       PhaseName = "ready"       // until the lead unit is ready
	PhaseIdle        PhaseName = "idle"        // the units get no requests; see UnitSpec.Rest
	PhaseJob         PhaseName = "job"         // from mark to mark of the meter
	PhaseReports     PhaseName = "reports"     // units finish, hand over and report
	PhaseAudit       PhaseName = "audit"       // and what the system measures itself
	PhaseStop        PhaseName = "stop"        // until nothing is left
)

// Values returns the trial's metrics by name. A metric that could not be
// measured is absent. The system's own Measures replace metrics of the same name.
func (t Trial) Values() map[string]float64 {
	total := t.Metered.Total
	values := map[string]float64{"elapsed": t.ElapsedSeconds, "lifetime": t.LifetimeSeconds}
	set := func(name, source string, value float64) {
		if !total.Lacks(source) {
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

// TrialStore stores the trials of an experiment. Save returns after the record and
// the logs of the units, by name, are on the disk.
type TrialStore interface {
	Save(trial Trial, logs map[string]string) error
	// Trials returns every saved record, in playing order.
	Trials() ([]Trial, error)
}

// StoppingRule evaluates the data of a running experiment: the answers so far and, for an
// experiment that stops when all is decided, the trials that are still needed.
type StoppingRule interface {
	// Answers returns the answers to all questions of the experiment, given the records of
	// some blocks.
	Answers(played []Trial) []Answer
	// Needed returns a function that reports whether a planned trial is needed, given all
	// records of the blocks before. It is deterministic.
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
	Question string // identifies the answer
	Verdict  string // empty: undecided
	Text     string // question and verdict in a few words
}

// Progress shows the progress of an experiment.
type Progress interface {
	// Begin announces a plan, and the number of its trials that were played before.
	Begin(plan Plan, done int)
	// Further announces trials that are added to the plan.
	Further(trials []PlannedTrial)
	TrialStarted(planned PlannedTrial, attempt int)
	TrialEnded(trial Trial)
	// Look shows the headline over all blocks up to the given one.
	Look(block int, headline Headline)
	Note(text string)
	End()
}
