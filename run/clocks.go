package run

import (
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// clocksApart returns how far apart the clocks of two units can be: as far as those of their
// hosts are, and as far as this host's was set during the trial. byWall and byMonotonic are how
// long the trial took by this host's two clocks.
func clocksApart(clocks *lab.Clocks, byWall, byMonotonic time.Duration) time.Duration {
	apart := (byWall - byMonotonic).Abs()
	if clocks != nil {
		apart += time.Duration(clocks.ApartSeconds * float64(time.Second))
	}
	return apart
}

// withholdByClocks takes out of a trial what it has measured from one host's clock to another's,
// where that is too short a time for clocks which are that far apart.
func withholdByClocks(trial *lab.Trial, metrics []lab.Metric) {
	for _, m := range metrics {
		value, measured := trial.Measures[m.Name]
		if !m.Clocks || !measured || trial.Clocks.Tells(value) {
			continue
		}
		apart := time.Duration(trial.Clocks.ApartSeconds * float64(time.Second)).Round(time.Microsecond)
		withhold(trial, m, fmt.Sprintf("clocks differ by up to %v, and it was %.3g s", apart, value))
	}
}

// withholdLate takes out of a trial the times from when operations were due that the generator may have moved
// by sending late, and how the load went on, which is followed in such times.
func withholdLate(trial *lab.Trial, metrics []lab.Metric, late map[float64]string) {
	for _, m := range metrics {
		why, moved := late[m.Quantile]
		_, measured := trial.Measures[m.Name]
		if moved && measured && m.FromDue() {
			withhold(trial, m, why)
			trial.Cohorts, trial.Late = nil, true
		}
	}
}

// withhold takes a metric out of a trial.
func withhold(trial *lab.Trial, m lab.Metric, why string) {
	delete(trial.Measures, m.Name)
	delete(trial.Spectra, m.Quantity)
	if trial.Unmeasured == nil {
		trial.Unmeasured = map[string]string{}
	}
	trial.Unmeasured[m.Name] = why
}
