// Package loadedtest is for tests of systems. It has a fake load generator, writes the history that a
// generator leaves behind, and checks the steps of explanations.
package loadedtest

import (
	"os"
	"path/filepath"
	"regexp"
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
	path := filepath.Join(dir, "history.jsonl") // loaded.History; tests of loaded import this package
	testset.Must(t, os.WriteFile(path, []byte(strings.Join(history, "\n")+"\n"), 0o600))
	return lab.Leftover{Dir: dir, Reports: []lab.UnitReport{{Unit: lab.RoleGenerator}}}
}

// validName matches names that variants of stored plans may have, as yamlfile.IsName.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,63}$`)

// Steps returns the stops and the changes of an explanation, or its error instead of the changes. It
// fails the test unless every stop can be built and stored, and each step leads from one to the next.
func Steps(t *testing.T, s lab.Explainable, from, to lab.Variant) (stops []lab.Variant, changes string) {
	t.Helper()
	stops, steps, err := s.Steps(from, to)
	if err != nil {
		return nil, err.Error()
	}
	for _, stop := range stops {
		if err := s.Describe().Check(stop); err != nil || !validName.MatchString(stop.Name) {
			t.Errorf("%q is no name, or cannot be built: %v", stop.Name, err)
		}
	}
	if len(steps) != len(stops)-1 {
		t.Fatalf("%d steps lead along %d stops", len(steps), len(stops))
	}
	var all []string
	for i, step := range steps {
		var changed []string
		for _, c := range step.Changes {
			changed = append(changed, c.String())
		}
		all = append(all, strings.Join(changed, " with "))
		if step.Before != stops[i].Name || step.Variant != stops[i+1].Name {
			t.Errorf("step %d leads from %s to %s, the stops are %s and %s", i, step.Before, step.Variant,
				stops[i].Name, stops[i+1].Name)
		}
	}
	return stops, strings.Join(all, ", ")
}
