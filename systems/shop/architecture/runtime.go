package architecture

import (
	"slices"

	"github.com/cleave-lab/cleave/systems/shop"
)

// The values of KnobRuntime.
const (
	runtimeDefault    = "default"
	runtimeSharedHost = "shared-host"
)

// SharesHost reports whether Go's runtime in a unit is configured for a shared host: fewer threads, and a
// slower monitor. By default it wakes threads on every processor for every bit of work, and its monitor
// interrupts them: other units need these processors. A unit with files of its own keeps the default: its
// threads wait in the kernel, so it needs more threads, and a monitor that notices a waiting thread at once.
func (d Design) SharesHost(unit Unit) bool {
	return d.SharedHost && d.mayShare(unit)
}

// mayShare reports whether a unit is among others and has no files of its own.
func (d Design) mayShare(unit Unit) bool {
	return d.instances() > 1 && !d.keepsFiles(unit)
}

// keepsFiles reports whether a unit has a database or documents in files of its own.
func (d Design) keepsFiles(unit Unit) bool {
	return slices.ContainsFunc(unit.Components, func(component string) bool {
		if slices.Contains(shop.Components(), component) {
			return d.Database == sqlite
		}
		return d.Documents == sqlite
	})
}

// ShareOf returns the number of processors, of those of the host, that each unit may use at once: twice an
// even share, rounded up, since the busiest unit has more work than the others.
func (d Design) ShareOf(processors int) int {
	units := d.instances()
	return min(processors, (2*processors+units-1)/units)
}

// instances returns the number of units of all kinds.
func (d Design) instances() (n int) {
	for _, unit := range d.Units {
		n += unit.Replicas
	}
	return n
}
