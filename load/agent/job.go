package agent

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/trial"
)

// Schema versions jobs and reports.
const Schema = "cleave-agent/1"

// eventSecond is the event that an agent sends every second if its job asks for it. Its
// data is a trial.Second.
const eventSecond lab.EventKind = "second"

// eventRows is the event with operations that have ended, if the job asks for them. Its data is a list of
// record.Row in base64 of gob, which costs half of JSON. All rows are sent before the event finished.
const eventRows lab.EventKind = "rows"

// Limits of the text of a job, and of a file that is packed into a job, in bytes.
const (
	maxJob    = 512 << 20
	maxPacked = 256 << 20
)

// Job describes the work of an agent.
type Job struct {
	Schema string     `json:"schema"`
	Spec   trial.Spec `json:"spec"`
	// Unit is the unit of the layout that gets the load. Its address, which the deployer
	// has put into the environment, replaces the host of the target.
	Unit string `json:"unit,omitempty"`
	// Allow is the text of an allow list; the agent asks for consent itself.
	Allow string `json:"allow,omitempty"`
	// Made holds the addresses of hosts that Cleave made. They must be in private or benchmarking ranges.
	Made []netip.Prefix `json:"made,omitempty"`
	// Await describes the answer for which the agent waits before it is ready.
	Await Await `json:"await,omitzero"`
	// Settle describes the answer for which the agent waits after the load, before it reports that the load is
	// over; see trial.Trial.Settle. Without a path the agent does not wait.
	Settle Await `json:"settle,omitzero"`
	// Between is the path to ask for instead of Settle.Path if another load follows at once, as after a
	// warm-up and after a probe of a search. Empty: the same path.
	Between string `json:"between,omitempty"`
	// Warmup is the length of an unrecorded load before the agent is ready. With WarmupLimit it continues
	// until the load is steady (stats.WarmedUp), or until that limit.
	Warmup      scenario.Duration `json:"warmup,omitempty"`
	WarmupLimit scenario.Duration `json:"warmup_limit,omitempty"`
	// Objective is the objective of Search and Abort; see package objective.
	Objective string `json:"objective,omitempty"`
	// Search looks for the highest rate that meets the objective, starting at the rate of the load.
	Search bool `json:"search,omitempty"`
	// Resolution and Votes are those of trial.CapacitySearch.
	Resolution float64 `json:"resolution,omitempty"`
	Votes      int     `json:"votes,omitempty"`
	// MaxSteal is that of trial.CapacitySearch; 0: the host is not observed.
	MaxSteal float64 `json:"max_steal_share,omitempty"`
	// Abort ends the load early when the objective can no longer be met.
	Abort bool `json:"abort,omitempty"`
	// Seconds asks for an event every second.
	Seconds bool `json:"seconds,omitempty"`
	// Loaded asks for lab.EventLoaded every second, also during a search.
	Loaded bool `json:"loaded,omitempty"`
	// Rows asks for every operation of a load, but not of a warm-up or a search.
	Rows bool `json:"rows,omitempty"`
	// History is the name of a file with one record.Attempt per line, which the agent sends to the
	// conductor.
	History string `json:"history,omitempty"`
	// Files holds the files that scenario and load name, by their names in the spec, for
	// an agent on another host. The spec's folder is a temporary one then.
	Files map[string][]byte `json:"files,omitempty"`
}

// Await is a state of the target to wait for.
type Await struct {
	// For is the longest time to wait; zero: do not wait.
	For scenario.Duration `json:"for,omitempty"`
	// Path is the path of a GET that must have a status below 400; empty: a connection
	// is enough.
	Path string `json:"path,omitempty"`
	// Look is advice for the error message if the time is up; empty: none.
	Look string `json:"look,omitempty"`
}

// Report is the result of an agent's job.
type Report struct {
	Schema  string        `json:"schema"`
	Outcome trial.Outcome `json:"outcome"`
	// Course is the load, second by second; nil for a search.
	Course []lab.Slice `json:"course,omitempty"`
	// WarmUp is the course of a warm-up that continued until the load was steady.
	WarmUp *lab.WarmUp `json:"warm_up,omitempty"`
	// Network is the result of a probe of the simulated network in front of the system; see lab.Network.
	Network string `json:"network,omitempty"`
}

// ReadReport reads the report that a generator unit has sent.
func ReadReport(r lab.UnitReport) (Report, error) {
	var report Report
	if err := json.Unmarshal(r.Data, &report); err != nil {
		return report, fmt.Errorf("report of the generator %s: %w", r.Unit, err)
	}
	if report.Schema != Schema {
		return report, fmt.Errorf("report of the generator %s: its schema is %q, want %q: use the same version "+
			"of cleave everywhere", r.Unit, report.Schema, Schema)
	}
	return report, nil
}

// ParseJob reads a job from JSON, or from the file whose name follows an @.
func ParseJob(text string) (Job, error) {
	data := []byte(text)
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		var err error
		if data, err = inputfile.Read(path, maxJob); err != nil {
			return Job{}, fmt.Errorf("job: %w", err)
		}
	}
	return decodeJob(data)
}

// decodeJob decodes a job and checks it.
func decodeJob(data []byte) (Job, error) {
	var job Job
	if err := json.Unmarshal(data, &job); err != nil {
		return job, fmt.Errorf("job: %w", err)
	}
	return job, job.check()
}

// check returns an error for a job that an agent cannot do.
func (j *Job) check() error {
	if j.Schema != Schema {
		return fmt.Errorf("job: its schema is %q, want %q: use the same version of cleave everywhere", j.Schema,
			Schema)
	}
	for _, p := range j.Made {
		if !private(p) {
			return fmt.Errorf("job: %s cannot be a network that cleave made: it is not private", p)
		}
	}
	return nil
}

// private reports whether a network lies in a range that is reserved for private use or benchmarks.
func private(p netip.Prefix) bool {
	for _, network := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
		"198.18.0.0/15", "127.0.0.0/8", "fc00::/7", "::1/128"} {
		known := netip.MustParsePrefix(network)
		if p.Bits() >= known.Bits() && known.Contains(p.Addr()) {
			return true
		}
	}
	return false
}

// Pack returns the job with the files that the data of its scenario and the load of its spec name, under new
// names, so that another host can play it. Spec.Load must be filled in: files of Scenario.Load are not
// packed.
func (j Job) Pack() (Job, error) {
	j.Files = make(map[string][]byte)
	take := func(path, name string) (string, error) {
		if path == "" {
			return "", nil
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(j.Spec.Dir, path)
		}
		text, err := inputfile.Read(path, maxPacked)
		j.Files[name] = text
		return name, err
	}
	var err error
	if j.Spec.Load.Replay, err = take(j.Spec.Load.Replay, "arrivals"); err != nil {
		return j, err
	}
	data := make(map[string]scenario.Data, len(j.Spec.Scenario.Data))
	for name, d := range j.Spec.Scenario.Data {
		if d.CSV, err = take(d.CSV, name+".csv"); err != nil {
			return j, err
		}
		if d.JSONL, err = take(d.JSONL, name+".jsonl"); err != nil {
			return j, err
		}
		data[name] = d
	}
	j.Spec.Scenario.Data = data
	j.Spec.Dir = ""
	return j, nil
}

// unpack writes the files of a packed job into a folder.
func (j *Job) unpack(dir string) error {
	for name, text := range j.Files {
		if !filepath.IsLocal(name) || filepath.Base(name) != name {
			return fmt.Errorf("job: %q is not a plain file name", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	j.Spec.Dir = dir
	return nil
}
