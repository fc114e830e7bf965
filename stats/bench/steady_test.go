package main

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/stats"
)

// TestTooFewExperimentsAreRefused before any is played.
func TestTooFewExperimentsAreRefused(t *testing.T) {
	if err := bench("", 19, 1); err == nil || !strings.Contains(err.Error(), "-experiments is 19: give 20") {
		t.Errorf("19 experiments: %v", err)
	}
}

// TestSteadyServersAreCalledSteady: over all rates, durations and response times, at most 1 % of the
// experiments with a server are called not steady.
func TestSteadyServersAreCalledSteady(t *testing.T) {
	for _, s := range append(steadyServers(), halfUsed()) {
		t.Run(s.name, func(t *testing.T) {
			called, played := 0.0, 0
			for _, one := range loads([]float64{10, 100}, []float64{2, 5}, s.name == halfUsed().name) {
				for _, share := range verdicts(one, s, steadyBlocks, 6, 3) {
					called, played = called+share, played+1
				}
			}
			if share := called / float64(played); share > 0.01 {
				t.Errorf("%.1f %% of %d experiments are called not steady", 100*share, played)
			}
		})
	}
}

// TestServersThatChangeAreFound: in at least 95 % of experiments, with loads that have enough operations. The
// last server pauses every 3 s, and needs a longer load than the others.
func TestServersThatChangeAreFound(t *testing.T) {
	for i, s := range unsteadyServers() {
		one := load{rate: 100, seconds: []float64{5, 5, 5, 10}[i], base: 0.006}
		if found := stats.Mean(verdicts(one, s, steadyBlocks, 20, 5)); found < 0.95 {
			t.Errorf("%s at %v: found in %.0f %%", s.name, one, 100*found)
		}
	}
}

// TestOneAnswerAboveItsPercentileIsNoChange: this load, of 20 ms with every 50th answer 80 ms, was once
// called unsteady.
func TestOneAnswerAboveItsPercentileIsNoChange(t *testing.T) {
	one := load{rate: 100, seconds: 2, base: 0.02}
	if share := stats.Mean(verdicts(one, steadyServers()[2], 3, 50, 1)); share > 0 {
		t.Errorf("called not steady in %.0f %%", 100*share)
	}
}
