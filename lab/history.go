package lab

import "time"

// PastRun holds the parts of a run that a history reads.
type PastRun struct {
	Name        string
	Created     time.Time
	Study       string
	Title       string
	Headline    *Headline
	Environment Environment
	Comparisons []Comparison
}

// History is a headline over the runs of a study.
type History struct {
	Headline Headline // of the run that it is about
	Runs     []HistoryRun
	Courses  []HistoryCourse // one for each bar of the headline
}

// HistoryRun is one run of a history, the oldest first.
type HistoryRun struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Environment lists the differences from the run before.
	Environment []EnvironmentChange `json:"environment"`
}

// HistoryCourse follows one bar of a headline over the runs.
type HistoryCourse struct {
	Bar     Bar             `json:"bar"`
	Ratios  []*Ratio        `json:"ratios"` // by run; null where it was not compared
	Changes []HistoryChange `json:"changes"`
	// Unsearched says why no changes were looked for; empty: they were.
	Unsearched string `json:"unsearched,omitempty"`
}

// HistoryChange is a change of the level of a course.
type HistoryChange struct {
	Run    int     `json:"run"` // the first one on the new level
	Factor float64 `json:"factor"`
	P      float64 `json:"p"`
	// Elsewhere: the environment of that run is not that of the last run before it that has the ratio, or has
	// changed in between.
	Elsewhere bool `json:"elsewhere"`
}
