package agent

import (
	"context"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

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
		deploytest.Must(t, h.Watch(nil, nil))
		if metered {
			deploytest.Must(t, h.Metered(None{}, &lab.Metered{}))
		}
		deploytest.Must(t, h.Stop(None{}, nil))
		if m.ends != 1 {
			t.Errorf("Metered was called: %t; the metering was ended %d times, want once", metered, m.ends)
		}
	}
}
