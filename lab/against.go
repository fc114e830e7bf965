package lab

// Against compares a run with an earlier one of the same variants: the document of
// `cleave report BEFORE AFTER --json`.
type Against struct {
	Schema string  `json:"schema"`
	Before RunNote `json:"before"`
	After  RunNote `json:"after"`
	// Confidence is that of the intervals, and Margin the smallest difference that
	// matters: those of the later run.
	Confidence float64 `json:"confidence"`
	Margin     float64 `json:"margin"`
	// Environment lists the differences between hosts and settings.
	Environment []EnvironmentChange `json:"environment"`
	// Missing lists what only one of the runs has, in sentences.
	Missing []string      `json:"missing"`
	Metrics []Metric      `json:"metrics"` // of both
	Changes []Change      `json:"changes"`
	Gates   []GateVerdict `json:"gates"`
}

// RunNote names a run.
type RunNote struct {
	Folder string `json:"folder"`
	Study  string `json:"study"`
	Trials int    `json:"trials"` // valid ones
	// Calibration is the median time in seconds of a fixed amount of computation.
	Calibration float64 `json:"calibration_median_seconds"`
}

// EnvironmentChange is a fact that differs between the runs, with its values as texts.
type EnvironmentChange struct {
	Fact   string `json:"fact"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Change is after / before of a metric of one variant at one point. The samples are the
// trials of each run: other differences between the two runs, such as the state of the
// host, affect the ratio but are not in its interval. A change from 0 or to 0 has no ratio:
// it is 0 then; 1 if both are 0.
type Change struct {
	Metric  string  `json:"metric"`
	Variant string  `json:"variant"`
	Point   string  `json:"point"`  // empty in a GateVerdict: the variant is not compared at all
	Before  float64 `json:"before"` // mean over the trials
	After   float64 `json:"after"`  // likewise
	Ratio
	Verdict ComparisonVerdict `json:"verdict"`
	Words   string            `json:"words"`
	// Unsteady is the reason why longer trials may give another figure, and Instability the
	// factor, in either direction: verdicts and gates account for it. Absent if both runs
	// are steady.
	Unsteady    string  `json:"unsteady,omitempty"`
	Instability float64 `json:"instability,omitempty"`
}

// GateVerdict reports the changes beyond the limit of a gate.
type GateVerdict struct {
	Gate string `json:"gate"` // as the user wrote it: "p99>1.05x"
	// Failed lists the changes that are beyond the limit, Open those that may be.
	Failed []Change `json:"failed"`
	Open   []Change `json:"open"`
}

// The standings of a gate.
const (
	GateKept   = "kept"
	GateFailed = "failed"
	GateOpen   = "open"
)

// Standing returns GateFailed if a change is beyond the limit, else GateOpen if one may be, else GateKept.
func (v GateVerdict) Standing() string {
	switch {
	case len(v.Failed) > 0:
		return GateFailed
	case len(v.Open) > 0:
		return GateOpen
	}
	return GateKept
}
