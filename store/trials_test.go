package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// runOfShelf is the name of the run that played returns.
const runOfShelf = "rego2021/20260102T040405Z-7"

// played returns a shelf with a run of two trials with logs. The first attempt at the second one is invalid.
func played(t *testing.T) (*Shelf, *Folder) {
	t.Helper()
	s, folders := shelf(t, 1)
	invalid := trial(2, 1, false)
	invalid.Reason = "busy"
	for _, saved := range []lab.Trial{trial(1, 1, true), invalid, trial(2, 2, true)} {
		logs := map[string]string{"b": "", "a": strings.Repeat("a line\n", maxLog/7+1)}
		testset.Must(t, folders[0].Save(saved, logs))
	}
	return s, folders[0]
}

// TestTrialsOfARun checks the list of a run's trials, with damaged and too long records and with a byte
// limit, the record of a trial, and the metrics of the run.
func TestTrialsOfARun(t *testing.T) {
	s, folder := played(t)
	testset.Must(t, os.WriteFile(folder.Path("trials/0002/trial.json"), []byte(`{"number": "x"`), 0o600))
	trials, left, err := s.Trials(runOfShelf)
	if err != nil || left != (lab.LeftOut{}) || len(trials) != 3 {
		t.Fatalf("Trials = %+v, %+v, %v", trials, left, err)
	}
	byName := map[string]lab.ListedTrial{}
	for _, one := range trials {
		byName[one.Name] = one
	}
	if one := byName["0002-1"]; one.Valid || one.Reason != "busy" || one.Variant != "threads" ||
		one.Point != "s1" {
		t.Errorf("an attempt that does not count is %+v", one)
	}
	if one := byName["0001"]; !one.Valid || one.Number != 1 || one.Damaged != "" {
		t.Errorf("a trial that counts is %+v", one)
	}
	if byName["0002"].Damaged == "" {
		t.Error("a damaged trial is like others")
	}
	if record, err := s.Trial(runOfShelf, "0001"); err != nil || record.Metered.Total.CPUSeconds != 1.5 {
		t.Errorf("Trial = %+v, %v", record, err)
	}
	metrics, err := s.Metrics(runOfShelf)
	if err != nil || len(metrics) != len(lab.JobMetrics()) {
		t.Errorf("Metrics = %+v, %v", metrics, err)
	}
	long := []byte(`{"number": 1, "pad": "` + strings.Repeat("x", maxHead) + `"}`)
	testset.Must(t, os.WriteFile(folder.Path("trials/0002/trial.json"), long, 0o600))
	trials, _, err = s.Trials(runOfShelf)
	if err != nil || !slices.ContainsFunc(trials, func(one lab.ListedTrial) bool {
		return strings.Contains(one.Damaged, "beyond its first 4194304 bytes")
	}) {
		t.Errorf("with a long record: %+v, %v", trials, err)
	}
	s.maxBytes = 1
	if trials, left, err := s.Trials(runOfShelf); err != nil || len(trials) != 1 ||
		left != (lab.LeftOut{Unread: 2}) {
		t.Errorf("with a limit of one byte Trials = %+v, %+v, %v", trials, left, err)
	}
}

// TestEndsOfLogs checks that Logs returns the last whole lines of each log, and nothing for a trial without
// logs.
func TestEndsOfLogs(t *testing.T) {
	s, folder := played(t)
	logs, more, err := s.Logs(runOfShelf, "0001")
	if err != nil || more != 0 || len(logs) != 2 {
		t.Fatalf("Logs = %+v, %d, %v", logs, more, err)
	}
	long := logs[0]
	if long.Unit != "a" || !strings.HasPrefix(long.Text, "a line\na line\n") || len(long.Text) > maxLog ||
		long.Cut+int64(len(long.Text)) != int64(7*(maxLog/7+1)) {
		t.Errorf("the end of a long log of %s is %.20q with %d bytes cut", long.Unit, long.Text, long.Cut)
	}
	testset.Must(t, os.RemoveAll(folder.Path("trials/0001/logs")))
	if logs, more, err := s.Logs(runOfShelf, "0001"); err != nil || more != 0 || len(logs) != 0 {
		t.Errorf("without logs: %+v, %d, %v", logs, more, err)
	}
}

// TestTrialsOutsideAreNotRead checks that neither links nor names lead to files outside of the run's folder.
func TestTrialsOutsideAreNotRead(t *testing.T) {
	s, folder := played(t)
	outside := filepath.Join(t.TempDir(), "outside.log")
	logs := folder.Path("trials/0001/logs")
	other := folder.Path("trials/0003")
	err := errors.Join(os.WriteFile(outside, []byte("a secret"), 0o600),
		os.Symlink(outside, filepath.Join(logs, "c.log")), syscall.Mkfifo(filepath.Join(logs, "d.log"), 0o600),
		os.Mkdir(other, 0o700), os.Symlink(outside, filepath.Join(other, trialFile)))
	testset.Must(t, err)
	if found, _, err := s.Logs(runOfShelf, "0001"); err != nil || len(found) != 2 {
		t.Errorf("logs are %+v, %v; want the two files", found, err)
	}
	for _, name := range []string{"", ".", "..", "../..", "0001/logs", "../trials/0001", "9", "0003"} {
		if _, err := s.Trial(runOfShelf, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("trial %q: %v", name, err)
		}
		if _, _, err := s.Logs(runOfShelf, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("logs of %q: %v", name, err)
		}
	}
	if _, _, err := s.Trials("rego2021/../.."); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("trials of a path that is no run: %v", err)
	}
}
