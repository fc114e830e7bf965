package deploytest

import (
	"errors"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
)

// usage has the lead burn processor time, and checks what the meter of the deployment reads of all units.
func usage(t *testing.T, s *suite) {
	l := Layout("front")
	l.Units[0].Args[0] = "burner"
	d := s.deploy(t, l)
	Await(t, d, lab.EventReady)
	checkUsage(t, meteredJob(t, d))
	end(t, d)
}

// meteredJob has a lead that is ready do its job, and returns the usage of all units meanwhile.
func meteredJob(t *testing.T, d lab.Deployment) lab.Metered {
	t.Helper()
	reads := lab.Meter(meter.New())
	if own := d.Meter(); own != nil {
		reads = own
	}
	return meteredDuring(t, reads, d.Units(), func() { finish(t, d) })
}

// meteredDuring returns the usage of units while do runs.
func meteredDuring(t *testing.T, reads lab.Meter, units []lab.Unit, do func()) lab.Metered {
	t.Helper()
	metering, err := reads.Watch(t.Context(), units)
	testset.Must(t, err)
	testset.Must(t, metering.Mark())
	do()
	err = metering.Mark()
	metered, stopped := metering.Stop()
	testset.Must(t, errors.Join(err, stopped))
	return metered
}

// checkUsage checks what was metered of a lead that did its job and of a server that only listened.
func checkUsage(t *testing.T, metered lab.Metered) {
	t.Helper()
	if used := metered.Roles["lead"].CPUSeconds; used < 0.9*Burnt || used > 1.5*Burnt {
		t.Errorf("the lead has used %g s, want about %g", used, Burnt)
	}
	if used := metered.Roles["server"].CPUSeconds; used > 0.3*Burnt {
		t.Errorf("a unit that only listens has used %g s", used)
	}
	if memory := metered.Roles["server"].PeakMemoryBytes; memory < 100<<10 || memory > 200<<20 {
		t.Errorf("a unit that only listens takes %d bytes of memory", memory)
	}
}

// limits checks that a lead with a fifth of a processor takes five times as long for its job, and that
// Preflight refuses limits that are larger than the host.
func limits(t *testing.T, s *suite) {
	l := Layout("front", "views")
	l.Units[1].Limits.CPU, l.Units[2].Limits.Memory = 1e4, 1<<50
	Says(t, s.Preflight(t.Context(), l), "front cannot be limited to 10000 processors",
		"views cannot be limited to 1125899906842624 bytes")
	l = Layout("front")
	l.Units[0].Args[0], l.Units[0].Limits = "burner", lab.Limits{CPU: 0.2, Memory: 128 << 20}
	d := s.deploy(t, l)
	Await(t, d, lab.EventReady)
	// The kernel may grant the quota of one period at once.
	if took, least := finish(t, d), 0.9*Burnt/l.Units[0].Limits.CPU; took < least {
		t.Errorf("the job took %g s, want at least %g with %s", took, least, l.Units[0].Limits)
	}
	end(t, d)
}

// limitOfMemory checks that a unit that needs more memory than its limit fails the trial with that reason.
func limitOfMemory(t *testing.T, s *suite) {
	l := withViews("hoard")
	l.Units[1].Limits.Memory = 64 << 20
	fails(t, s, l, "unit views ended: it needed more memory than its limit of 64 MiB")
}
