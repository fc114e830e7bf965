package meter

import (
	"context"
	"errors"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Meter reads units that run as Linux processes on this host. The zero value
// is not ready: use New.
type Meter struct {
	// share of one core that sampling may cost between the marks.
	share float64
	// shortest pause between two sampling rounds.
	shortest time.Duration
}

// New returns a meter whose sampling takes at most 0.4 % of one core between the marks
// of a trial, whatever the number of units: it measures its own cost and samples less
// often when rounds are expensive. It never samples more often than every 100 ms.
func New() *Meter {
	return &Meter{share: 0.004, shortest: 100 * time.Millisecond}
}

// Watch begins to sample the memory of the units until Stop or until ctx ends.
// It fails with the unit's name when a unit does not run.
func (m *Meter) Watch(ctx context.Context, units []lab.Unit) (lab.Metering, error) {
	if len(units) == 0 {
		return nil, errors.New("no units to meter")
	}
	w := newWorker(m, units)
	for _, unit := range units {
		if unit.Standby {
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
		ctx:   ctx,
		asked: make(chan request, 1),
		stop:  make(chan struct{}),
		ended: make(chan struct{}),
		work:  w,
	}
	w.interrupted = func() bool { return len(run.asked) > 0 }
	begun := make(chan error, 1)
	go run.loop(begun)
	if err := <-begun; err != nil {
		<-run.ended
		return nil, err
	}
	return run, nil
}

// pause returns the time to wait after a sampling round that took so much CPU time.
func (m *Meter) pause(cost time.Duration) time.Duration {
	return max(m.shortest, time.Duration(float64(cost)/m.share))
}
