package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
)

func TestJobsArePlainJSON(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"users.csv": "name\nAda\n", "times": "0\n"} {
		testset.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	job := jobFor(t, "http://127.0.0.1/")
	job.Spec.Dir = dir
	job.Spec.Load = scenario.Load{Replay: "times"}
	job.Spec.Scenario.Data = map[string]scenario.Data{"people": {CSV: "users.csv"}}
	packed, err := job.Pack()
	testset.Must(t, err)
	text, err := json.Marshal(packed)
	testset.Must(t, err)
	got, err := ParseJob(string(text))
	testset.Must(t, err)
	other := t.TempDir()
	testset.Must(t, got.unpack(other))
	if _, err := got.Spec.Check(); err != nil {
		t.Errorf("the job cannot be played elsewhere: %v", err)
	}
	if job.Spec.Scenario.Data["people"].CSV != "users.csv" {
		t.Error("packing changes the job that it was made from")
	}
}

func TestJobsThatNoAgentTakes(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:           `its schema is ""`,
		`nothing`:      "job",
		`@/does/not/x`: "no such file",
		`{"schema":"cleave-agent/1","made":["8.8.8.0/24"]}`: "it is not private",
		`{"schema":"cleave-agent/1","made":["0.0.0.0/0"]}`:  "it is not private",
	} {
		if _, err := ParseJob(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	job := Job{Files: map[string][]byte{"../escape": nil}}
	if err := job.unpack(t.TempDir()); err == nil {
		t.Error("a file outside the folder was written")
	}
}
