package meter

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// worker reads all units of one trial. One goroutine uses it at a time.
type worker struct {
	meter   *Meter
	probes  []source // one per unit, in the order given to Watch
	roles   []string // distinct, in order of appearance
	roleOf  []int    // index into roles, one per unit
	scratch *scratch
	// interrupted says that a mark or something else waits: a sampling round then
	// gives up, since a late mark would count what units do after the last operation.
	interrupted func() bool

	started    time.Time
	startedCPU []int64 // nanoseconds of each unit at Watch
	startedOwn int64   // nanoseconds of this thread at Watch
	ownTotal   int64   // nanoseconds of this thread, Watch to the end
	wait       time.Duration

	marks   []mark // at most two
	current []int64
	memory  memory
	samples []lab.UsageSample
	notes   []string          // what the figures do not hold
	sources map[string]string // by role
}

// mark is one reading of all units.
type mark struct {
	units []counters // in the order given to Watch
	// at and own: the edge of the measured window, on the wall clock and on the
	// meter's own CPU clock (nanoseconds).
	at  time.Time
	own int64
}

// newWorker groups the units by role.
func newWorker(m *Meter, units []lab.Unit) *worker {
	w := &worker{meter: m, scratch: newScratch(), wait: m.shortest, sources: map[string]string{}}
	index := make(map[string]int)
	for _, unit := range units {
		at, known := index[unit.Role]
		if !known {
			at = len(w.roles)
			index[unit.Role] = at
			w.roles = append(w.roles, unit.Role)
		}
		w.roleOf = append(w.roleOf, at)
	}
	w.current = make([]int64, len(units))
	w.memory = newMemory(len(units), len(w.roles))
	return w
}

// close gives all descriptors back.
func (w *worker) close() {
	for _, p := range w.probes {
		p.close()
	}
}

// own reads this thread's CPU clock in nanoseconds. It cannot fail on Linux:
// every thread has this clock.
func (w *worker) own() int64 {
	value, _ := w.scratch.clock(unix.CLOCK_THREAD_CPUTIME_ID)
	return value
}

// begin notes where the series starts.
func (w *worker) begin() error {
	w.startedOwn = w.own()
	w.started = time.Now()
	var err error
	w.startedCPU, err = w.cpu()
	return err
}

// finish notes what the meter has cost.
func (w *worker) finish() {
	w.ownTotal = w.own() - w.startedOwn
}

// cpu reads the CPU clocks of all units, in nanoseconds, one system call per unit.
func (w *worker) cpu() ([]int64, error) {
	values := make([]int64, len(w.probes))
	for i, p := range w.probes {
		var err error
		if values[i], err = p.cpu(w.scratch); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// complete reports whether both marks are taken.
func (w *worker) complete() bool { return len(w.marks) == 2 }

// mark takes the next mark: memory outside, CPU clocks at the very edge.
func (w *worker) mark() error {
	next := mark{units: make([]counters, len(w.probes))}
	switch len(w.marks) {
	case 0:
		if err := w.sampleAll(); err != nil {
			return err
		}
		if err := errors.Join(w.readAccounts(&next), w.readClocks(&next)); err != nil {
			return err
		}
		next.own, next.at = w.own(), time.Now()
		w.marks = append(w.marks, next)
	case 1:
		next.own, next.at = w.own(), time.Now()
		if err := errors.Join(w.readClocks(&next), w.readAccounts(&next)); err != nil {
			return err
		}
		w.marks = append(w.marks, next)
		return w.sampleAll()
	default:
		return errors.New("third mark refused: a trial has two, before the start signal and after the last operation")
	}
	return nil
}

// readClocks reads every unit's CPU clock into a mark.
func (w *worker) readClocks(m *mark) error {
	values, err := w.cpu()
	for i, value := range values {
		m.units[i].cpu = value
	}
	return err
}

// readAccounts reads everything else that is counted.
func (w *worker) readAccounts(m *mark) error {
	for i, p := range w.probes {
		if err := p.accounts(w.scratch, &m.units[i]); err != nil {
			return err
		}
	}
	return nil
}

// sampleAll takes the sample that belongs to a mark, without regard to others
// that wait, and sets the pause before the next round by what it cost.
func (w *worker) sampleAll() error {
	before := w.own()
	if _, err := w.sample(true, func() bool { return false }); err != nil {
		return err
	}
	w.wait = w.meter.pause(time.Duration(w.own() - before))
	return nil
}

// round takes a periodic sample. A unit that has gone spoils the round; the
// next mark reports it.
func (w *worker) round() {
	before := w.own()
	complete, err := w.sample(len(w.marks) > 0, w.interrupted)
	if err == nil && complete {
		w.wait = w.meter.pause(time.Duration(w.own() - before))
	}
}

// sample reads the memory of all units and keeps it, unless giveUp says so
// between two units; it reports whether the sample is complete. Counted samples
// go into the mean and the peak.
func (w *worker) sample(counted bool, giveUp func() bool) (bool, error) {
	for i, p := range w.probes {
		if giveUp() {
			return false, nil
		}
		var err error
		if w.current[i], err = p.memory(w.scratch); err != nil {
			return false, err
		}
	}
	cpu, err := w.cpu()
	if err != nil {
		return false, err
	}
	if counted {
		w.memory.add(w.current, w.roleOf)
	}
	w.samples = append(w.samples, lab.UsageSample{
		Seconds:     time.Since(w.started).Seconds(),
		CPUSeconds:  time.Duration(sum(cpu) - sum(w.startedCPU)).Seconds(),
		MemoryBytes: sum(w.current),
	})
	return true, nil
}

// result is the use between the marks.
func (w *worker) result() (lab.Metered, error) {
	if !w.complete() {
		return lab.Metered{}, fmt.Errorf("%d of 2 marks were taken: mark before the start signal and after the last operation", len(w.marks))
	}
	return w.metered(), nil
}
