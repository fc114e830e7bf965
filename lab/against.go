package lab

// Against is one run held against an earlier one of the same variants: the document of
// `cleave report BEFORE AFTER --json`.
type Against struct {
	Schema string  `json:"schema"`
	Before RunNote `json:"before"`
	After  RunNote `json:"after"`
	// Confidence is that of the intervals, and Margin the smallest difference that
	// matters: those of the later run.
	Confidence float64 `json:"confidence"`
	Margin     float64 `json:"margin"`
	// Environment has what is not the same of the two, host and settings.
	Environment []EnvironmentChange `json:"environment"`
	// Missing says what one of the runs has and the other has not.
	Missing []string      `json:"missing"`
	Metrics []Metric      `json:"metrics"` // of both
	Changes []Change      `json:"changes"`
	Gates   []GateVerdict `json:"gates"`
}

// RunNote names a run.
type RunNote struct {
	Folder string `json:"folder"`
	Study  string `json:"study"`
	Trials int    `json:"trials"` // that count
	// Calibration is the median time in seconds of a fixed amount of computation.
	Calibration float64 `json:"calibration_median_seconds"`
}

// EnvironmentChange is a fact that is not the same in both runs, each as text.
type EnvironmentChange struct {
	Fact   string `json:"fact"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Change is after / before of a metric of one variant at one point. The samples are the
// trials of each run: what differs between the two sittings beside what was changed is in
// the ratio, and not in its interval.
type Change struct {
	Metric  string  `json:"metric"`
	Variant string  `json:"variant"`
	Point   string  `json:"point"`
	Before  float64 `json:"before"` // mean over the trials
	After   float64 `json:"after"`
	Ratio
	Verdict ComparisonVerdict `json:"verdict"`
	Words   string            `json:"words"`
	// Unsteady says why the figure may be another with longer trials, and Instability by which
	// factor, either way: verdicts and gates bear that. Absent where both runs are steady.
	Unsteady    string  `json:"unsteady,omitempty"`
	Instability float64 `json:"instability,omitempty"`
}

// GateVerdict tells whether a change kept within its limit.
type GateVerdict struct {
	Gate string `json:"gate"` // as it was asked for: "p99>1.05x"
	// Failed are the changes that are shown to be beyond the limit, Open those that may be.
	Failed []Change `json:"failed"`
	Open   []Change `json:"open"`
}
