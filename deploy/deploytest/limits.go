package deploytest

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

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
