// Package meter measures the usage of a trial's units, and the condition of the host.
//
// It has three parts: Meter (CPU time, context switches, memory and bytes of running processes between
// two marks, and CPU time by thread), the environment of a Host (its properties and missing capabilities) and
// the observations of a Host (steal, other processes, pressure and the speed of a fixed computation around a
// trial). The usage of units comes from the Linux kernel's own accounts: process CPU clocks, /proc and, for
// containers, control groups. The units are not changed, traced or slowed down by signals.
//
// It is not a profiler, knows no deployment and starts no process. For a quantity that cannot be read it
// gives a reason instead of zero.
//
// Entry points: New, Meter.Watch and Meter.Threads for units, NewHost for the machine. DESIGN.md in this
// folder explains the choice of each source and its limits.
package meter

import (
	"context"
	"errors"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Meter meters units that run as Linux processes on this host. Use New: the zero value is not valid.
type Meter struct {
	// share is the share of one core that sampling may cost between the marks.
	share float64
	// shortest is the shortest pause between two sampling rounds.
	shortest time.Duration
}

// New returns a meter whose sampling takes at most 0.4 % of one core between the marks of a trial,
// regardless of the number of units: it measures its own cost and samples less often if rounds are
// expensive. It samples at most every 100 ms.
func New() *Meter { return &Meter{share: 0.004, shortest: 100 * time.Millisecond} }

// Watch samples the memory of the units until Stop or until ctx ends. The error names a unit that does
// not run.
func (m *Meter) Watch(ctx context.Context, units []lab.Unit) (lab.Metering, error) {
	if len(units) == 0 {
		return nil, errors.New("no units to meter")
	}
	w := newWorker(m, units)
	for _, unit := range units {
		if unit.Standby { // it may start later
			w.probes = append(w.probes, &lives{})
			continue
		}
		p, about, err := openSource(unit)
		if err != nil {
			w.close()
			return nil, err
		}
		w.probes = append(w.probes, p)
		w.sources[unit.Role] = about
	}
	run := &metering{
		asked: make(chan func(), 1),
		ended: make(chan struct{}),
		work:  w,
	}
	run.ctx, run.stop = context.WithCancelCause(ctx)
	w.interrupted = func() bool { return len(run.asked) > 0 }
	begun := make(chan error, 1)
	go run.loop(begun)
	if err := <-begun; err != nil {
		<-run.ended
		return nil, err
	}
	return run, nil
}

// pause returns the time to wait after a sampling round of the given CPU time.
func (m *Meter) pause(cost time.Duration) time.Duration {
	return max(m.shortest, time.Duration(float64(cost)/m.share))
}
