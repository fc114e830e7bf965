package lab

import "time"

// PastRun holds the parts of a run that a History uses.
type PastRun struct {
	Name        string
	Created     time.Time
	Study       string
	Title       string
	Headline    *Headline
	Environment Environment
	Comparisons []Comparison
}

// History follows the headline of a run over all runs of its study.
type History struct {
	Headline Headline
	Runs     []HistoryRun    // the oldest first
	Courses  []HistoryCourse // one for each bar of the headline
}

// HistoryRun is one run of a History.
type HistoryRun struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Environment lists the differences from the run before.
	Environment []EnvironmentChange `json:"environment"`
}

// HistoryCourse follows one bar of a headline over the runs.
type HistoryCourse struct {
	Bar     Bar             `json:"bar"`
	Ratios  []*Ratio        `json:"ratios"` // by run; null if the run did not compare it
	Changes []HistoryChange `json:"changes"`
	Levels  []HistoryLevel  `json:"levels"` // between the changes, in order
	// Unsearched is the reason why no changes were searched for; empty: they were.
	Unsearched string `json:"unsearched,omitempty"`
}

// HistoryLevel is a part of a course in which its level does not change.
type HistoryLevel struct {
	First int     `json:"first"` // index of its first run that has the ratio
	Last  int     `json:"last"`  // index of its last one
	Mean  float64 `json:"mean"`  // geometric mean of the ratios
}

// HistoryChange is a change of the level of a course.
type HistoryChange struct {
	Run    int     `json:"run"`    // index of the first run on the new level
	Factor float64 `json:"factor"` // the new level divided by the one before
	P      float64 `json:"p"`      // p-value against no change
	// Elsewhere is true if the environment, too, changed between the last run on the old level that has the
	// ratio and the first run on the new one. The change may then not come from the system.
	Elsewhere bool `json:"elsewhere"`
}
