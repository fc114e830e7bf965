package lab

import "time"

// NotesSchema versions notes.json.
const NotesSchema = "cleave-notes/1"

// Notes are the tags and the note that the user gave a run: notes.json of a result folder.
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
	Planned  int // trials; 0: not known yet
	Host     string
	Commit   string
	Notes    Notes
	Damaged  string // why some of it cannot be read; empty: all can
}

// RunState is the state of a run.
type RunState string

// The states of runs.
const (
	RunPlaying  RunState = "playing"  // a Cleave plays into the folder
	RunReported RunState = "reported" // its report is there
	RunStopped  RunState = "stopped"  // nobody plays it, and there is no report
)

// ListedTrial is a trial in the list of those of a run.
type ListedTrial struct {
	Name           string // of its folder: "0012", or "0012-1" of an attempt that does not count
	Number         int
	Attempt        int
	Block          int
	Variant        string
	Point          string
	Started        time.Time
	Valid          bool
	Reason         string // why it does not count
	Operations     int64
	ElapsedSeconds float64
	Damaged        string // why some of it cannot be read; empty: all can
}

// LeftOut counts the entries of a folder that a list of runs, or of trials, does not show.
type LeftOut struct {
	Beyond int  // more of them than a list has
	Unread int  // whose files were not read, since those of the others had as many bytes as are read for a list
	Unseen bool // there are more folders than are looked into, or more entries of one than are read
}

// LogEnd is the end of the log of a unit.
type LogEnd struct {
	Unit string
	Text string
	Cut  int64 // bytes before it
}
