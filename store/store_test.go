package store

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// plan returns a plan of one trial.
func plan() lab.Plan {
	return lab.Plan{
		Schema: lab.PlanSchema, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Profile: "full",
		Study: lab.Study{
			Name: "rego2021", Design: lab.Design{Seed: 7, Blocks: 2},
			Points: []lab.Point{{Name: "s1", Levels: map[string]float64{"pings": 5}}},
		},
		Trials: []lab.PlannedTrial{{Number: 1, Block: 1, Variant: "threads", Point: "s1", Seed: 1 << 52}},
	}
}

// create returns a new result folder with that plan and no trials.
func create(t *testing.T) *Folder {
	t.Helper()
	f, err := Create(t.TempDir(), plan(), lab.Environment{"kernel": {Value: "6.1"}})
	testset.Must(t, err)
	return f
}

// trial returns the record of an attempt at a trial, which counts only if it is valid.
func trial(number, attempt int, valid bool) lab.Trial {
	return lab.Trial{
		Schema: lab.TrialSchema, Number: number, Attempt: attempt, Valid: valid, Variant: "threads",
		Point: lab.Point{Name: "s1", Levels: map[string]float64{"pings": 5}}, Started: time.Unix(0, 0).UTC(),
		Metered: lab.Metered{Total: lab.Usage{CPUSeconds: 1.5}},
	}
}

func TestPlanAndEnvironmentComeBackAsWritten(t *testing.T) {
	f := create(t)
	again, err := Open(f.Dir())
	testset.Must(t, err)
	got, err := again.Plan()
	if err != nil || !reflect.DeepEqual(got, plan()) {
		t.Errorf("Plan = %+v, %v; want %+v", got, err, plan())
	}
	environment, err := again.Environment()
	if err != nil || environment["kernel"].Value != "6.1" {
		t.Errorf("Environment = %v, %v", environment, err)
	}
	if name := filepath.Base(f.Dir()); name != "20260102T030405Z-7" {
		t.Errorf("folder is called %s", name)
	}
}

func TestLatestPointsToTheNewestFolder(t *testing.T) {
	root := t.TempDir()
	for _, second := range []int{5, 6} {
		p := plan()
		p.Created = p.Created.Add(time.Duration(second) * time.Second)
		_, err := Create(root, p, nil)
		testset.Must(t, err)
	}
	latest, err := Open(filepath.Join(root, "rego2021", "latest"))
	if err != nil || filepath.Base(latest.Dir()) != "20260102T030411Z-7" {
		t.Errorf("latest is %v, %v", latest, err)
	}
}

func TestTrialsComeBackInPlayingOrder(t *testing.T) {
	f := create(t)
	for _, saved := range []lab.Trial{trial(2, 1, true), trial(1, 2, true), trial(1, 1, false)} {
		testset.Must(t, f.Save(saved, map[string]string{"../worker": "oh dear\n"}))
	}
	got, err := f.Trials()
	testset.Must(t, err)
	want := []lab.Trial{trial(1, 1, false), trial(1, 2, true), trial(2, 1, true)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Trials = %+v, want %+v", got, want)
	}
	log, err := os.ReadFile(f.Path("trials/0001-1/logs/.._worker.log"))
	if err != nil || string(log) != "oh dear\n" {
		t.Errorf("log is %q, %v", log, err)
	}
}

func TestUnitsAndSeriesAreTables(t *testing.T) {
	f := create(t)
	saved := trial(1, 1, true)
	saved.Metered.Units = []lab.UnitUsage{{Unit: lab.Unit{Name: "core", Role: "core", PID: 12},
		Usage: lab.Usage{CPUSeconds: 0.25, Threads: 3, IdleCores: 0.125,
			Unavailable: map[string]string{"user_seconds": "too short"}}},
		{Unit: lab.Unit{Name: "db", Role: "db"}, Usage: lab.Usage{
			Unavailable: map[string]string{"idle_cores": "not metered"}}}}
	saved.Metered.Processes = []lab.ProcessUsage{
		{Unit: "other", Name: "sh"}, // no such unit: it gets no row
		{Unit: "core", Name: "java server.jar", Processes: 2, CPUSeconds: 0.125, PeakMemoryBytes: 7, ReadBytes: 5,
			WrittenBytes: 6, ReceivedBytes: 3, SentBytes: 4},
	}
	saved.Metered.IdleSeconds = 0.2
	saved.Metered.Samples = []lab.UsageSample{{Seconds: 0.5, CPUSeconds: 0.25, MemoryBytes: 4096}}
	testset.Must(t, f.Save(saved, nil))
	for name, want := range map[string]string{
		"units.csv": "core,core,12,0.250000000,,0.000000000,0,0,3,0,0,0,0,,,,,0.125000\n" +
			"core,core,,0.125000000,,,,,,7,,5,6,java server.jar,2,3,4,\n" +
			"db,db,0,0.000000000,0.000000000,0.000000000,0,0,0,0,0,0,0,,,,,",
		"series.csv": "0.500000000,0.250000000,4096",
	} {
		data, err := os.ReadFile(f.Path("trials/0001/" + name))
		testset.Must(t, err)
		if _, err := csv.NewReader(strings.NewReader(string(data))).ReadAll(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, rows, _ := strings.Cut(string(data), "\n"); rows != want+"\n" {
			t.Errorf("%s is %q, want %q", name, rows, want)
		}
	}
}

func TestAHalfWrittenTrialIsNotRead(t *testing.T) {
	f := create(t)
	testset.Must(t, os.MkdirAll(f.Path("trials/0001.part"), 0o755))
	if got, err := f.Trials(); err != nil || len(got) != 0 {
		t.Errorf("Trials = %v, %v; want none", got, err)
	}
	if err := f.Save(trial(1, 1, true), nil); err != nil {
		t.Errorf("Save over a half-written trial: %v", err)
	}
}

func TestDamagedRecordsAreNamed(t *testing.T) {
	f := create(t)
	testset.Must(t, f.Save(trial(1, 1, true), nil))
	path := f.Path("trials/0001/trial.json")
	testset.Must(t, os.WriteFile(path, []byte("{"), 0o644))
	if _, err := f.Trials(); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
		t.Errorf("Trials: %v, want the damaged file named", err)
	}
	// The analysis uses buckets as indexes.
	for _, cohorts := range []lab.Cohorts{{Lag: -1}, {All: []lab.Cohort{{Buckets: []int{1}}}},
		{All: []lab.Cohort{{}, {Buckets: []int{lab.TimeBuckets}, Counts: []int64{1}}}},
		{All: []lab.Cohort{{Buckets: []int{-1}, Counts: []int64{1}}}},
		{All: []lab.Cohort{{OK: -1}}}, {All: []lab.Cohort{{Buckets: []int{1}, Counts: []int64{-1}}}}} {
		damaged := trial(1, 1, true)
		damaged.Cohorts = &cohorts
		testset.Must(t, f.Save(damaged, nil))
		if _, err := f.Trials(); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
			t.Errorf("Trials with the cohorts %+v: %v, want the damaged file named", cohorts, err)
		}
	}
}

func TestOpenRefusesOtherFoldersAndOtherSchemas(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is no result folder") {
		t.Errorf("Open: %v", err)
	}
	f := create(t)
	testset.Must(t, f.Write("plan.json", []byte(`{"schema": "cleave-plan/99"}`)))
	if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), "cleave-plan/99") {
		t.Errorf("Plan: %v, want the schema refused", err)
	}
}

// smallDisk mounts a disk of 256 KiB and returns its folder. It skips the test without the right to mount.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		if errors.Is(err, syscall.EPERM) {
			t.Skip("mounting a small disk needs root: run the tests as root")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

func TestAFullDiskIsNamedAndFinishedTrialsStay(t *testing.T) {
	f, err := Create(smallDisk(t), plan(), nil)
	testset.Must(t, err)
	testset.Must(t, f.Save(trial(1, 1, true), nil))
	err = f.Save(trial(2, 1, true), map[string]string{"worker": strings.Repeat("x", 1<<20)})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(),
		"is full: make room, then continue with --resume") {
		t.Errorf("Save on a full disk: %v", err)
	}
	got, err := f.Trials()
	if err != nil || len(got) != 1 {
		t.Errorf("%d trials kept, %v; want the first", len(got), err)
	}
	if err := f.Save(trial(3, 1, true), nil); err != nil {
		t.Errorf("the failed trial still fills the disk: %v", err)
	}
}

// TestALockOnAFullDisk checks that a Lock that cannot write the process ID says why, and holds no lock.
func TestALockOnAFullDisk(t *testing.T) {
	f, err := Create(smallDisk(t), plan(), nil)
	testset.Must(t, err)
	filler := f.Path("filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	defer f.Unlock() // a lock that is left would keep the disk from being unmounted
	if err := f.Lock(); err == nil || !strings.Contains(err.Error(), "is full: make room") {
		t.Errorf("Lock on a full disk: %v", err)
	}
	testset.Must(t, os.Remove(filler))
	other, err := Open(f.Dir())
	testset.Must(t, err)
	testset.Must(t, other.Lock())
	other.Unlock()
}

func TestALockWhoseHolderHasNotWrittenItsIDYet(t *testing.T) {
	f := create(t)
	other, err := Open(f.Dir())
	testset.Must(t, err)
	testset.Must(t, errors.Join(other.Lock(), other.lock.Truncate(0)))
	defer other.Unlock()
	if err := f.Lock(); err == nil || !strings.HasPrefix(err.Error(), "another process is playing into") {
		t.Errorf("Lock: %v", err)
	}
}

func TestAFolderThatCannotBeWrittenIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testset.Must(t, os.WriteFile(file, nil, 0o644))
	if _, err := Create(file, plan(), nil); err == nil ||
		!strings.Contains(err.Error(), "choose another folder with --results") {
		t.Errorf("Create below a file: %v", err)
	}
}

func TestTwoRunsOfOneSecondHaveAFolderEach(t *testing.T) {
	root := t.TempDir()
	seen := map[string]bool{}
	for range 3 {
		f, err := Create(root, plan(), nil)
		testset.Must(t, err)
		if seen[f.Dir()] {
			t.Errorf("%s is used twice", f.Dir())
		}
		seen[f.Dir()] = true
	}
}
