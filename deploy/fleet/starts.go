package fleet

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// canBeUsed records that the unit can be used from now on.
func (u *Unit) canBeUsed() { u.usable.Store(int64(time.Since(u.asked))) }

// Starts returns how long the present lives of the units took to start, and how long all took until the lead
// unit was ready, counted from NewSupervisor.
func (s *Supervisor) Starts() lab.PlatformCost {
	var cost lab.PlatformCost
	for _, u := range s.All() {
		took := time.Duration(u.usable.Load())
		if took == 0 {
			continue
		}
		cost.Starts = append(cost.Starts, lab.UnitStart{Unit: u.Spec.Name, Seconds: took.Seconds()})
		if u.Spec.Name == s.lead {
			cost.ReadySeconds = u.asked.Add(took).Sub(s.begun).Seconds()
		}
	}
	return cost
}
