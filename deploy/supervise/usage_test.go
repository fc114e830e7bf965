package supervise

import (
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// TestUnitsSayWhatTheyUsedBeforeTheLoad: what they had used when they were first asked is not
// in it, nor is what they used under load. After a rest that is too short nothing is told.
func TestUnitsSayWhatTheyUsedBeforeTheLoad(t *testing.T) {
	said := func(cpu time.Duration) []*lab.UsageAnswer { return []*lab.UsageAnswer{{CPUNanoseconds: int64(cpu)}} }
	begun := time.Now()
	for rest, want := range map[time.Duration]float64{500 * time.Millisecond: 0.5, 100 * time.Millisecond: 0} {
		m := selfMetering{units: []lab.Unit{{Name: "core", Role: "core"}}, watched: selfMark{begun, said(time.Second)},
			marks: []selfMark{{begun.Add(rest), said(1250 * time.Millisecond)}, {begun.Add(2 * time.Second), said(3 * time.Second)}}}
		used, err := m.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if used.Units[0].IdleCores != want || used.Roles["core"].IdleCores != want || (used.IdleSeconds > 0) != (want > 0) {
			t.Errorf("%g processors in %g s of rest, of the role %g, want %g", used.Units[0].IdleCores, used.IdleSeconds, used.Roles["core"].IdleCores, want)
		}
	}
}
