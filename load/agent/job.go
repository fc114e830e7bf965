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

// EventSecond is the event that an agent sends every second if its job asks for it; the
// data is a trial.Second.
const EventSecond lab.EventKind = "second"

// EventRows is the event with operations that have ended, sent by an agent if its job asks
// for them; the data is a list of record.Row as gob, which costs half of JSON, in
// base64. When the load is finished they are all there.
const EventRows lab.EventKind = "rows"

// Limits of a job's own file, and of a file that is packed into a job, in bytes.
const (
	maxJob    = 512 << 20
	maxPacked = 256 << 20
)

// Job describes the work of an agent.
type Job struct {
	Schema string     `json:"schema"`
	Spec   trial.Spec `json:"spec"`
	// Unit is the unit of the layout that is loaded: its address, which the deployer
	// has put into the environment, replaces the host of the target.
	Unit string `json:"unit,omitempty"`
	// Allow is the text of an allow list; the agent asks for consent itself.
	Allow string `json:"allow,omitempty"`
	// Made are addresses of hosts that Cleave made. Only private and benchmarking
	// ranges can be.
	Made []netip.Prefix `json:"made,omitempty"`
	// Await names what the agent waits for before it is ready.
	Await Await `json:"await,omitzero"`
	// Settle names whom to ask when the load, or a part of it, has got its last answer;
	// the load is over when the answer comes. See trial.Settle.
	Settle Await `json:"settle,omitzero"`
	// Between is the path to ask instead where another load follows at once, after the
	// warm-up and the probes of a search; empty: that of Settle.
	Between string `json:"between,omitempty"`
	// Warmup is played before the agent is ready, and thrown away. With WarmupLimit it
	// goes on until the load is steady (stats.WarmedUp), so long at most.
	Warmup      scenario.Duration `json:"warmup,omitempty"`
	WarmupLimit scenario.Duration `json:"warmup_limit,omitempty"`
	// Objective is for Search and Abort; see package objective.
	Objective string `json:"objective,omitempty"`
	// Search looks for the highest rate that meets the objective, from the load's on.
	Search bool `json:"search,omitempty"`
	// Resolution and Votes are those of trial.Quest.
	Resolution float64 `json:"resolution,omitempty"`
	Votes      int     `json:"votes,omitempty"`
	// MaxSteal is that of trial.Quest; 0: nobody watches the host.
	MaxSteal float64 `json:"max_steal_share,omitempty"`
	// Abort breaks the load off when the objective is lost.
	Abort bool `json:"abort,omitempty"`
	// Seconds asks for an event every second.
	Seconds bool `json:"seconds,omitempty"`
	// Loaded asks for lab.EventLoaded every second, of the loads of a search, too.
	Loaded bool `json:"loaded,omitempty"`
	// Rows asks for every operation of a load, but not of a warm-up or a search.
	Rows bool `json:"rows,omitempty"`
	// History is the name of a file that the agent hands over: one record.Attempt per
	// line and operation.
	History string `json:"history,omitempty"`
	// Files are those that scenario and load name, for an agent on another host,
	// by their path. The spec's folder is a temporary one then.
	Files map[string][]byte `json:"files,omitempty"`
}

// Await is a check that the target is there.
type Await struct {
	// For is how long to wait at most; zero: not at all.
	For scenario.Duration `json:"for,omitempty"`
	// Path is asked for by GET until the status is below 400; empty: a connection is
	// enough.
	Path string `json:"path,omitempty"`
	// Look is advice for the case that it is not there in time; empty: none.
	Look string `json:"look,omitempty"`
}

// Report is an agent's account of its job.
type Report struct {
	Schema  string        `json:"schema"`
	Outcome trial.Outcome `json:"outcome"`
	// Course is the load of a fixed job, second by second.
	Course []lab.Slice `json:"course,omitempty"`
	// WarmUp is how a warm-up went that was to go on until the load was steady.
	WarmUp *lab.WarmUp `json:"warm_up,omitempty"`
	// Network is how a probe has found the one before the system; see lab.Network.
	Network string `json:"network,omitempty"`
}

// ReadReport reads what a generator unit handed in.
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

// ParseJob reads a job from its JSON, or from a file after @.
func ParseJob(text string) (Job, error) {
	data := []byte(text)
	if path, is := strings.CutPrefix(text, "@"); is {
		var err error
		if data, err = inputfile.Read(path, maxJob); err != nil {
			return Job{}, fmt.Errorf("job: %w", err)
		}
	}
	var job Job
	if err := json.Unmarshal(data, &job); err != nil {
		return job, fmt.Errorf("job: %w", err)
	}
	return job, job.check()
}

// check finds what an agent cannot do.
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

// private reports whether a network is one of those that nobody owns.
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

// Pack puts the files that scenario and load name into the job, under names of
// their own, so that another host can play it.
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
	j.Spec.Scenario.Data, j.Spec.Dir = data, ""
	return j, nil
}

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
