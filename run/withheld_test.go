package run

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestClocksApart checks the difference of the clocks of two hosts, and the adjustment of this host's clock
// during the trial.
func TestClocksApart(t *testing.T) {
	for name, c := range map[string]struct {
		clocks                *lab.Clocks
		wall, monotonic, want time.Duration
	}{
		"one clock":              {nil, time.Minute, time.Minute, 0},
		"one clock, set back":    {nil, time.Minute, 62 * time.Second, 2 * time.Second},
		"two clocks":             {&lab.Clocks{ApartSeconds: 2}, time.Minute, time.Minute, 2 * time.Second},
		"two clocks, one is set": {&lab.Clocks{ApartSeconds: 1}, time.Minute, time.Second, time.Minute},
	} {
		if got := clocksApart(c.clocks, c.wall, c.monotonic); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestTimesBelowTheDifferenceOfClocksAreWithheld checks that times of less than ten times the difference of
// the clocks are withheld, with the reason, and no others.
func TestTimesBelowTheDifferenceOfClocksAreWithheld(t *testing.T) {
	metrics := []lab.Metric{
		{Name: "completion", Quantity: lab.CompletionTime, Clocks: true},
		{Name: "staleness", Quantity: lab.Staleness, Clocks: true},
		{Name: "response", Quantity: lab.ResponseTime},
	}
	for name, c := range map[string]struct {
		clocks *lab.Clocks
		left   []string
	}{
		"one clock":            {nil, []string{"completion", "response", "staleness"}},
		"a difference of 2 ms": {&lab.Clocks{ApartSeconds: 0.002}, []string{"completion", "response"}},
		"a difference of 1 s":  {&lab.Clocks{ApartSeconds: 1}, []string{"response"}},
	} {
		t.Run(name, func(t *testing.T) {
			trial := lab.Trial{Clocks: c.clocks,
				Measures: map[string]float64{"completion": 0.021, "staleness": 0.019, "response": 0.001},
				Spectra:  map[string][]lab.Quantile{lab.CompletionTime: nil, lab.Staleness: nil, lab.ResponseTime: nil}}
			withholdByClocks(&trial, metrics)
			if left := slices.Sorted(maps.Keys(trial.Measures)); !slices.Equal(left, c.left) {
				t.Errorf("left are %q, want %q", left, c.left)
			}
			if len(trial.Spectra) != len(trial.Measures) || len(trial.Unmeasured) != 3-len(c.left) {
				t.Errorf("spectra %v, unmeasured %v", trial.Spectra, trial.Unmeasured)
			}
			for metric, why := range trial.Unmeasured {
				if !strings.HasPrefix(why, "clocks differ by up to ") {
					t.Errorf("%s is not available: %q", metric, why)
				}
			}
		})
	}
}
