package lab

import "time"

// NotesSchema versions notes.json.
const NotesSchema = "cleave-notes/1"

// Notes holds the user's tags and note of a run: notes.json of a result folder.
type Notes struct {
	Schema string   `json:"schema"`
	Tags   []string `json:"tags"`
	Text   string   `json:"text"`
}

// ListedRun is a run in a list of runs.
type ListedRun struct {
	Name     string // path of its folder below the folder of all runs: "rego2021/20261101T080000Z-1"
	State    RunState
	Created  time.Time
	Study    string
	Title    string
	Question string
	Variants []string // without twins
	Sentence string   // of the answer
	Headline *Headline
	Valid    int // trials that count
	Planned  int // trials; 0: unknown
	Host     string
	Commit   string
	Notes    Notes
	Damaged  string // why parts of it cannot be read; empty: it is intact
}

// RunState is the state of a run.
type RunState string

// The states of runs.
const (
	RunPlaying  RunState = "playing"  // a process of Cleave is writing into the folder
	RunReported RunState = "reported" // it has a report
	RunStopped  RunState = "stopped"  // no process is writing, and there is no report
)

// ListedTrial is a trial in the list of those of a run.
type ListedTrial struct {
	Name           string // of its folder: "0012", or "0012-1" for an invalid attempt
	Number         int
	Attempt        int
	Block          int
	Variant        string
	Point          string
	Started        time.Time
	Valid          bool
	Reason         string // why it is invalid
	Operations     int64
	ElapsedSeconds float64
	Damaged        string // why parts of it cannot be read; empty: it is intact
}

// LeftOut counts the runs or trials that a list does not show.
type LeftOut struct {
	Beyond int  // beyond the maximum length of a list
	Unread int  // not read, because the files of the others had reached the byte limit of a list
	Unseen bool // a folder could not be read, or there are more folders or entries than are searched
}

// LogEnd is the end of the log of a unit.
type LogEnd struct {
	Unit string
	Text string
	Cut  int64 // bytes of the log before Text
}
