package run

import (
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// clocksApart returns the largest possible difference between the clocks of two units: that of their hosts,
// plus the adjustment of this host's clock during the trial. byWall and byMonotonic are the length of the
// trial by this host's two clocks.
func clocksApart(clocks *lab.Clocks, byWall, byMonotonic time.Duration) time.Duration {
	apart := (byWall - byMonotonic).Abs()
	if clocks != nil {
		apart += lab.Seconds(clocks.ApartSeconds)
	}
	return apart
}

// withholdByClocks removes times that were measured between the clocks of two hosts from a trial, if the
// difference of the clocks is too large for such short times.
func withholdByClocks(trial *lab.Trial, metrics []lab.Metric) {
	for _, m := range metrics {
		value, measured := trial.Measures[m.Name]
		if !m.Clocks || !measured || trial.Clocks.CanMeasure(value) {
			continue
		}
		apart := lab.Seconds(trial.Clocks.ApartSeconds).Round(time.Microsecond)
		withhold(trial, m, fmt.Sprintf("clocks differ by up to %v, and it was %.3g s", apart, value))
	}
}

// withholdLate removes the times since operations were due from a trial if late sending may have distorted
// them, and the cohorts, which consist of such times. late holds the reasons, by the quantile of the time.
func withholdLate(trial *lab.Trial, metrics []lab.Metric, late map[float64]string) {
	for _, m := range metrics {
		why, distorted := late[m.Quantile]
		_, measured := trial.Measures[m.Name]
		if distorted && measured && m.FromDue() {
			withhold(trial, m, why)
			trial.Cohorts = nil
			trial.Late = true
		}
	}
}

// withhold removes a metric from a trial, with the distribution of its quantity, and records why it is not
// measured.
func withhold(trial *lab.Trial, m lab.Metric, why string) {
	delete(trial.Measures, m.Name)
	delete(trial.Spectra, m.Quantity)
	if trial.Unmeasured == nil {
		trial.Unmeasured = map[string]string{}
	}
	trial.Unmeasured[m.Name] = why
}
