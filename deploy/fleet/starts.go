package fleet

import (
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// canBeUsed notes that the unit can be used from now on.
func (u *Unit) canBeUsed() { u.usable.Store(int64(time.Since(u.asked))) }

// Starts returns what a deployment says of its platform for itself: how long the present lives of
// its units took, and all until the lead unit was ready. It counts from NewSupervisor.
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
