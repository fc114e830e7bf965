// Package loadedtest holds a fake load generator for tests of systems.
package loadedtest

import "github.com/cleave-lab/cleave/lab"

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
