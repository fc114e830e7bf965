// Package loadedtest holds a fake load generator for tests of systems, and what it leaves behind.
package loadedtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// Generator is a lab.Generator that sends nothing. It keeps the job of its last unit and returns Report as
// the report of that unit.
type Generator struct {
	Job    lab.LoadJob
	Report lab.LoadReport
}

// Unit implements lab.Generator. It keeps the job.
func (g *Generator) Unit(job lab.LoadJob) (lab.UnitSpec, error) {
	g.Job = job
	return lab.UnitSpec{Runnable: lab.Runnable{Program: "load"}}, nil
}

// Read implements lab.Generator. It returns Report.
func (g *Generator) Read(lab.UnitReport) (lab.LoadReport, error) { return g.Report, nil }

// Left returns what the generator leaves behind: a folder with these lines of the history, and a report.
func Left(t *testing.T, history ...string) lab.Leftover {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.jsonl") // loaded.History, whose package is tested with this one
	testset.Must(t, os.WriteFile(path, []byte(strings.Join(history, "\n")+"\n"), 0o600))
	return lab.Leftover{Dir: dir, Reports: []lab.UnitReport{{Unit: lab.RoleGenerator}}}
}
