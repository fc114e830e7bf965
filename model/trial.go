package model

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
)

// OfTrial returns the measurement of a trial of a study with these metrics. known is false if the CPU time of
// some unit was not measured. The rate is that of the trial's point; it is 0 if users never pause, and the
// caller has to set it. The CPU time of the load generator counts only if it shared the host with all units.
func OfTrial(t lab.Trial, metrics []lab.Metric) (measured Measurement, known bool) {
	measure := func(quantity, per string) float64 {
		const noQuantile = 0 // it is the mean
		m, _ := lab.FindMetric(metrics, quantity, noQuantile, per)
		return t.Measures[m.Name]
	}
	cpu := measure(lab.CPU, lab.PerOperation)
	used := t.Metered.Used()
	if cpu == 0 || used.Lacks("cpu_seconds") {
		return Measurement{}, false
	}
	n := int(math.Round(used.CPUSeconds / cpu)) // number of operations
	var points []Point
	for _, q := range t.Spectra[lab.ResponseTime] {
		points = append(points, Point{q.Share, q.Value})
	}
	took := OfPoints(points, Meter, n)
	if mean := measure(lab.ResponseTime, ""); mean > 0 {
		took.Mean = duration(mean)
	}
	measured = Measurement{Rate: t.Point.Levels[lab.FactorRate], Users: int(t.Point.Levels[lab.FactorUsers]),
		Time: took, CPU: Distribution{Mean: duration(cpu), Source: Meter, N: n}}
	generator := t.Metered.Roles[lab.RoleGenerator].CPUSeconds
	if generator > 0 && n > 0 && t.Metered.Processors > 0 { // Processors is 0 if there were several hosts
		measured.Generator = Distribution{Mean: duration(generator / float64(n)), Source: Meter, N: n}
	}
	return measured, true
}
