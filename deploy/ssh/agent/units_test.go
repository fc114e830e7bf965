package agent

import (
	"context"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestMain lets the test program be the janitor of a trial.
func TestMain(m *testing.M) { deploytest.Main(m, process.Janitor, nil) }

// metering implements lab.Meter and lab.Metering. It counts the calls of Stop.
type metering struct {
	lab.Metering
	ends int
}

// Watch implements lab.Meter.
func (m *metering) Watch(context.Context, []lab.Unit) (lab.Metering, error) { return m, nil }

// Stop implements lab.Metering.
func (m *metering) Stop() (lab.Metered, error) {
	m.ends++
	return lab.Metered{}, nil
}

// TestMeteringEndsWithTheTrial checks that Stop ends the metering of a trial that has failed before Metered
// was called, and only then.
func TestMeteringEndsWithTheTrial(t *testing.T) {
	m := &metering{}
	h := &Host{meter: m}
	for _, metered := range []bool{false, true} {
		m.ends = 0
		testset.Must(t, h.Watch(nil, nil))
		if metered {
			testset.Must(t, h.Metered(None{}, &lab.Metered{}))
		}
		testset.Must(t, h.Stop(None{}, nil))
		if m.ends != 1 {
			t.Errorf("Metered was called: %t; the metering was ended %d times, want once", metered, m.ends)
		}
	}
}

// TestATrialForgetsTheLivesBeforeIt checks that the lives of a trial are kept until the next one begins, for
// their last output, and that no number is used twice.
func TestATrialForgetsTheLivesBeforeIt(t *testing.T) {
	h := &Host{scratch: &leftovers.Scratch{Dir: t.TempDir()},
		deployer: process.New("", deploytest.Part("janitor"), nil, deploytest.Label(t))}
	const trials = 3
	for trial := range trials {
		var ports []int
		testset.Must(t, h.Open(Trial{Name: string(rune('a' + trial))}, &ports))
		if number := h.add(&life{}); number != trial {
			t.Errorf("the life of trial %d has the number %d", trial, number)
		}
		testset.Must(t, h.Stop(None{}, nil))
		if _, err := h.life(trial); err != nil {
			t.Errorf("after the end of its trial: %v", err)
		}
	}
	if len(h.lives) != 1 {
		t.Errorf("%d lives are kept, want that of the last trial", len(h.lives))
	}
}
