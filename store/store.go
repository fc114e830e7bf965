// Package store writes and reads result folders: the plan, the environment, one folder per trial with its
// record, resource use and logs, and the documents that are derived from them. docs/results.md explains every
// file and column.
//
// A file is written to a temporary name, flushed to the disk and renamed, so that it is never seen
// half-written.
//
// Entry points: Create, Open and Folder for a run that is played; OpenShelf and Shelf for many runs, which
// may be a stranger's.
package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/google/renameio/v2"
)

// Names of the files in a result folder.
const (
	planFile        = "plan.json"
	environmentFile = "environment.json"
	trialsDir       = "trials"
	trialFile       = "trial.json"
	unitsFile       = "units.csv"
	seriesFile      = "series.csv"
	logsDir         = "logs"
	latestLink      = "latest"
	lockFile        = "lock"
	progressFile    = "progress.jsonl"
	secondsFile     = "seconds.jsonl"
)

// maxDocument is the largest size of a file that is read, in bytes. The largest trials, of hundreds of
// units, have some megabytes.
const maxDocument = 256 << 20

// Folder is a result folder.
type Folder struct {
	dir  string
	lock *os.File // the locked file; nil: this process does not play into the folder
}

var _ lab.TrialStore = (*Folder)(nil)

// Create makes the folder <root>/<study>/<UTC time>-<seed>, writes the plan and the environment into it, and
// links <root>/<study>/latest to it.
func Create(root string, plan lab.Plan, environment lab.Environment) (*Folder, error) {
	name := plan.Created.UTC().Format("20060102T150405Z") + "-" + strconv.FormatUint(plan.Study.Design.Seed, 10)
	f := &Folder{dir: filepath.Join(root, plan.Study.Name, name)}
	if err := os.MkdirAll(filepath.Dir(f.dir), 0o755); err != nil {
		return nil, unwritable(root, err)
	}
	var err error
	if f.dir, err = makeNew(f.dir); err != nil {
		return nil, unwritable(f.dir, err)
	}
	if err := os.Mkdir(filepath.Join(f.dir, trialsDir), 0o755); err != nil {
		return nil, unwritable(f.dir, err)
	}
	if err := f.writeJSON(environmentFile, environment); err != nil {
		return nil, err
	}
	data, err := marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", planFile, err)
	}
	// The seal lets a later run check that this user's Cleave made the plan on this host (PlanWithSeal). The
	// plan is last: it makes the folder a result folder.
	if err := f.seal(data); err != nil {
		return nil, err
	}
	if err := f.Write(planFile, data); err != nil {
		return nil, err
	}
	link := filepath.Join(filepath.Dir(f.dir), latestLink)
	if err := renameio.Symlink(filepath.Base(f.dir), link); err != nil {
		return nil, fmt.Errorf("link latest results: %w", err)
	}
	return f, nil
}

// makeNew makes a new folder and returns its path. If the wanted name exists, it appends a number: two runs
// may begin in the same second.
func makeNew(wanted string) (string, error) {
	dir := wanted
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = wanted + "-" + strconv.Itoa(n)
	}
}

// unwritable wraps an error with the path that cannot be written, and advice.
func unwritable(path string, err error) error {
	return fmt.Errorf("cannot write results to %s: %w: choose another folder with --results", path, err)
}

// Open opens an existing result folder.
func Open(dir string) (*Folder, error) {
	info, err := os.Stat(filepath.Join(dir, planFile))
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no result folder (no %s): name one such as results/rego2021/latest", dir,
			planFile)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open result folder: %w", err)
	}
	return &Folder{dir: resolved}, nil
}

// Dir returns the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, name) }

// Plan reads the plan.
func (f *Folder) Plan() (lab.Plan, error) {
	data, err := inputfile.Read(f.Path(planFile), maxDocument)
	if err != nil {
		return lab.Plan{}, fmt.Errorf("read result folder: %w", err)
	}
	return f.decodePlan(json.NewDecoder(bytes.NewReader(data)))
}

// decodePlan decodes a plan and checks its schema.
func (f *Folder) decodePlan(decoder *json.Decoder) (lab.Plan, error) {
	var plan lab.Plan
	if err := decoder.Decode(&plan); err != nil {
		return plan, fmt.Errorf("%s is damaged: %w", f.Path(planFile), err)
	}
	if plan.Schema != lab.PlanSchema {
		return plan, fmt.Errorf("%s has schema %q, this cleave reads %q", f.Path(planFile), plan.Schema,
			lab.PlanSchema)
	}
	return plan, nil
}

// Environment reads the environment.
func (f *Folder) Environment() (lab.Environment, error) {
	var environment lab.Environment
	err := f.readJSON(environmentFile, &environment)
	return environment, err
}

// Save implements lab.TrialStore. The folder of a valid trial is named NUMBER, that of an invalid attempt
// NUMBER-ATTEMPT.
func (f *Folder) Save(trial lab.Trial, logs map[string]string) error {
	name := fmt.Sprintf("%04d", trial.Number)
	if !trial.Valid {
		name += "-" + strconv.Itoa(trial.Attempt)
	}
	place := f.Path(filepath.Join(trialsDir, name))
	draft := place + ".part"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	err := writeTrial(draft, trial, logs)
	if err == nil {
		err = replaceDir(draft, place)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("save trial %d: %w", trial.Number, err), os.RemoveAll(draft))
	}
	return nil
}

// writeTrial writes the files of a trial into a new folder.
func writeTrial(dir string, trial lab.Trial, logs map[string]string) error {
	if err := os.MkdirAll(filepath.Join(dir, logsDir), 0o755); err != nil {
		return err
	}
	record, err := marshal(trial)
	if err != nil {
		return err
	}
	files := map[string][]byte{trialFile: record, unitsFile: unitsCSV(trial.Metered),
		seriesFile: seriesCSV(trial.Metered.Samples)}
	for unit, text := range logs {
		files[filepath.Join(logsDir, safeName(unit)+".log")] = []byte(text)
	}
	for name, data := range files {
		if err := writeFile(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

// safeName replaces characters of a unit's name that are not safe in a file name: separators of paths, and
// control characters.
func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, name)
}

// Trials implements lab.TrialStore.
func (f *Folder) Trials() ([]lab.Trial, error) {
	entries, err := os.ReadDir(f.Path(trialsDir))
	if err != nil {
		return nil, fmt.Errorf("list trials: %w", err)
	}
	var trials []lab.Trial
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasSuffix(entry.Name(), ".part") {
			continue
		}
		var trial lab.Trial
		name := filepath.Join(trialsDir, entry.Name(), trialFile)
		if err := f.readJSON(name, &trial); err != nil {
			return nil, err
		}
		if trial.Cohorts != nil {
			if err := trial.Cohorts.Check(); err != nil {
				return nil, fmt.Errorf("%s is damaged: %w", f.Path(name), err)
			}
		}
		trials = append(trials, trial)
	}
	slices.SortFunc(trials, func(a, b lab.Trial) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Attempt, b.Attempt))
	})
	return trials, nil
}

// Progress opens the journal of the experiment, for appending.
func (f *Folder) Progress() (*os.File, error) { return f.openJournal(progressFile) }

// Seconds opens the journal of the current trial, for appending: a line for each second.
func (f *Folder) Seconds() (*os.File, error) { return f.openJournal(secondsFile) }

// RemoveSeconds removes the journal of the current trial, at the end of the experiment.
func (f *Folder) RemoveSeconds() error { return os.Remove(f.Path(secondsFile)) }

// openJournal opens a file for appending, which others read while it grows. It refuses links, pipes and
// devices.
func (f *Folder) openJournal(name string) (*os.File, error) {
	place := f.Path(name)
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file, err := os.OpenFile(place, flags, 0o644)
	if err != nil {
		return nil, explain(place, err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no regular file: remove it", place), err, file.Close())
	}
	return file, nil
}

// Write writes a derived document into the folder.
func (f *Folder) Write(name string, data []byte) error {
	return writeFile(f.Path(name), data)
}

func (f *Folder) writeJSON(name string, value any) error {
	data, err := marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return f.Write(name, data)
}

func (f *Folder) readJSON(name string, value any) error {
	data, err := inputfile.Read(f.Path(name), maxDocument)
	if err != nil {
		return fmt.Errorf("read result folder: %w", err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%s is damaged: %w", f.Path(name), err)
	}
	return nil
}

func marshal(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	return append(data, '\n'), err
}
