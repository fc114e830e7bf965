// Package loadedtest stands in for the load generator in tests of systems. It is for tests only.
package loadedtest

import "github.com/cleave-lab/cleave/lab"

// Generator implements lab.Generator: it plays nothing, keeps the job of its last unit and returns its
// Report.
type Generator struct {
	Job    lab.LoadJob
	Report lab.LoadReport
}

// Unit keeps the job.
func (g *Generator) Unit(job lab.LoadJob) (lab.UnitSpec, error) {
	g.Job = job
	return lab.UnitSpec{Runnable: lab.Runnable{Program: "load"}}, nil
}

// Read returns the report.
func (g *Generator) Read(lab.UnitReport) (lab.LoadReport, error) { return g.Report, nil }
