package lab

import "time"

// PastRun is what a history needs of a run.
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
	// Environment has what is not the same as in the run before.
	Environment []EnvironmentChange `json:"environment"`
}

// HistoryCourse is how a bar of a headline went over the runs.
type HistoryCourse struct {
	Bar     Bar             `json:"bar"`
	Ratios  []*Ratio        `json:"ratios"` // by run; null where it was not compared
	Changes []HistoryChange `json:"changes"`
	// Unsearched says why no changes were looked for; empty: they were.
	Unsearched string `json:"unsearched,omitempty"`
}

// HistoryChange is where the level of a course changes.
type HistoryChange struct {
	Run    int     `json:"run"` // the first one on the new level
	Factor float64 `json:"factor"`
	P      float64 `json:"p"`
	// Elsewhere: the environment of that run is not that of the last run before it that has the ratio, or has
	// changed in between.
	Elsewhere bool `json:"elsewhere"`
}
