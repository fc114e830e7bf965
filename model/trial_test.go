package model

import (
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestATrialIsAMeasurement: the percentiles are those of the trial's spectrum. The number of operations
// is the CPU time divided by the CPU time per operation.
func TestATrialIsAMeasurement(t *testing.T) {
	metrics := []lab.Metric{{Name: "cpu", Quantity: lab.CPU, Per: lab.PerOperation},
		{Name: "p50", Quantity: lab.ResponseTime, Quantile: 0.5}, {Name: "mean", Quantity: lab.ResponseTime}}
	trial := lab.Trial{Point: lab.Point{Levels: map[string]float64{lab.FactorRate: 60}},
		Metered: lab.Metered{Roles: map[string]lab.Usage{"shop": {CPUSeconds: 1},
			lab.RoleGenerator: {CPUSeconds: 9}}},
		Measures: map[string]float64{"cpu": 0.002, "p50": 9, "mean": 0.008},
		Spectra: map[string][]lab.Quantile{lab.ResponseTime: {{Share: 0.5, Value: 0.005},
			{Share: 0.99, Value: 0.05}}}}
	m, known := OfTrial(trial, metrics)
	if !known || m.Rate != 60 || m.Users != 0 || m.Placement != "" ||
		m.CPU.Mean != 2*time.Millisecond || m.CPU.N != 500 || m.CPU.Source != Meter ||
		m.Time.Mean != 8*time.Millisecond || m.Time.N != 500 || len(m.Time.Quantiles) != 2 ||
		m.Time.Quantiles["p50"] != 5*time.Millisecond || m.Time.Quantiles["p99"] != 50*time.Millisecond {
		t.Errorf("%+v, %t", m, known)
	}
	if m.Generator.Mean != 0 {
		t.Errorf("%+v, although the generator may have run on another host", m.Generator)
	}
	trial.Metered.Processors = 2 // known only if all units and the generator shared a host
	if m, _ := OfTrial(trial, metrics); m.Generator.Mean != 18*time.Millisecond || m.Generator.N != 500 {
		t.Errorf("%+v, want 18 ms for each of 500 operations", m.Generator)
	}
	trial.Metered.Roles["database"] = lab.Usage{Unavailable: map[string]string{"cpu_seconds": "it runs already"}}
	if m, known := OfTrial(trial, metrics); known {
		t.Errorf("%+v of a trial whose database was not metered", m)
	}
	delete(trial.Metered.Roles, "database")
	trial.Measures = nil
	if m, known := OfTrial(trial, metrics); known {
		t.Errorf("%+v of a trial that was not metered", m)
	}
}
