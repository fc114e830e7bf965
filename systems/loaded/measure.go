package loaded

import (
	"maps"

	"github.com/cleave-lab/cleave/lab"
)

// Measure returns the values of a trial that come from the generator, with outages, and the generator's
// report. AddCost adds the cost of the system.
func (b Base) Measure(
	metrics []lab.Metric, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, lab.LoadReport, error) {
	load, err := b.Report(left.Reports)
	if err != nil {
		return lab.Measured{}, load, err
	}
	found := ReadMetrics(metrics, p, load)
	if Searches(p) {
		return found, load, nil
	}
	// The duration of a counted load is only a limit: divide by the time it took.
	if _, counted := p.Level(b.Counted); counted && metered.WindowSeconds > 0 {
		found.Values[lab.Goodput] = float64(load.OK) / metered.WindowSeconds
	}
	return found, load, addOutage(found, left)
}

// AddCost adds the peak memory and, if there were operations, the CPU time per operation, unless they were
// not metered. The usage of the excluded roles is not part of the system's cost.
func AddCost(values map[string]float64, metered lab.Metered, operations int64, excluded ...string) {
	used := metered.Used(excluded...)
	if !used.Lacks("peak_memory_bytes") {
		values[peakMemory] = float64(used.PeakMemoryBytes)
	}
	if operations > 0 && !used.Lacks("cpu_seconds") {
		values[CPUPerOperation] = used.CPUSeconds / float64(operations)
	}
}

// ReadMetrics returns the values of metrics in the generator's report. A search plays many loads, so it has
// only a capacity.
func ReadMetrics(metrics []lab.Metric, p lab.Point, load lab.LoadReport) lab.Measured {
	found := lab.Measured{Values: map[string]float64{}, Spectra: map[string][]lab.Quantile{}}
	for _, m := range metrics {
		value, isMeasured := m.Measured(load.Measures)
		isMeant := m.Quantity == lab.Capacity || !Searches(p)
		if isMeasured && isMeant {
			found.Values[m.Name] = value
		}
	}
	found.WarmUp = load.WarmUp
	found.Network = load.Network
	found.Search = load.Search
	if Searches(p) {
		return found
	}
	maps.Copy(found.Spectra, load.Spectra)
	found.Course = load.Course
	found.Cohorts = load.Cohorts
	found.Operations = load.Operations
	found.Remarks = load.Remarks
	found.Late = load.Late
	if load.Sent > 0 {
		found.Values[lab.FigureErrors] = errorShare(load)
	}
	// Only open loads have an offered rate of which a share is achieved, and not all systems have the metric.
	_, isAsked := lab.FindMetric(metrics, lab.Achieved, 0, "")
	_, hasRate := p.Rate()
	if isAsked && hasRate && load.Offered > 0 {
		found.Values[achievedShare] = min(load.Achieved/load.Offered, 1)
	}
	return found
}
