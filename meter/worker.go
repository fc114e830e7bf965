package meter

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// worker reads all units of one trial. One goroutine may use it at a time.
type worker struct {
	meter   *Meter
	units   []lab.Unit // in the order given to Watch, each with its present process
	probes  []source   // readers of usage, one per unit
	roles   []string   // distinct, in order of appearance
	roleOf  []int      // index into roles, one per unit
	scratch *scratch
	// interrupted reports whether a request waits. A sampling round stops then, because a late mark would
	// count usage after the last operation.
	interrupted func() bool

	started    time.Time
	startedCPU []int64       // of each unit at Watch, nanoseconds
	startedOwn int64         // of this thread at Watch, nanoseconds
	ownTotal   int64         // of this thread and its helpers from Watch to the end, nanoseconds
	helped     int64         // of the helpers at the marks, nanoseconds
	wait       time.Duration // pause before the next periodic sample

	marks   []mark  // at most two
	current []int64 // memory of each unit at the last reading, bytes
	memory  memory  // means and peaks since the first mark
	samples []lab.UsageSample
	course  course               // CPU time and memory of the system over the measured window
	follows func(lab.UsedSecond) // called with every point of the course; nil: none
	notes   []string             // limits of the figures
	sources map[string]string    // descriptions of the sources, by role
}

// mark is one reading of all units.
type mark struct {
	units []counters // in the order given to Watch
	at    time.Time  // edge of the measured window
	own   int64      // CPU time of the meter itself then, nanoseconds
}

// newWorker returns the worker for units, which it groups by role.
func newWorker(m *Meter, units []lab.Unit) *worker {
	w := &worker{meter: m, units: slices.Clone(units), scratch: newScratch(), wait: m.shortest,
		sources: map[string]string{}}
	for _, unit := range units {
		at := slices.Index(w.roles, unit.Role)
		if at < 0 {
			at = len(w.roles)
			w.roles = append(w.roles, unit.Role)
		}
		w.roleOf = append(w.roleOf, at)
	}
	w.current = make([]int64, len(units))
	w.memory = newMemory(len(units), len(w.roles))
	return w
}

// close closes all descriptors.
func (w *worker) close() {
	for _, p := range w.probes {
		p.close()
	}
}

// own returns the CPU time of reading so far, in nanoseconds: that of this thread and of its helpers.
// Every thread has the clock on Linux, so reading it cannot fail.
func (w *worker) own() int64 {
	value, _ := w.scratch.clock(unix.CLOCK_THREAD_CPUTIME_ID)
	return value + w.helped
}

// manyUnits is the number of units from which on two threads read a mark, because everybody waits for it.
const manyUnits = 32

// each calls do for every unit, with its index in the order of Watch. From manyUnits on, two threads share
// the units. It returns the first error of each thread.
func (w *worker) each(do func(s *scratch, unit int) error) error {
	count := len(w.probes)
	through := func(s *scratch, from, to int) error {
		for unit := from; unit < to; unit++ {
			if err := do(s, unit); err != nil {
				return err
			}
		}
		return nil
	}
	if count < manyUnits {
		return through(w.scratch, 0, count)
	}
	helped := make(chan error)
	go func() {
		runtime.LockOSThread() // its CPU clock is read
		defer runtime.UnlockOSThread()
		helper := &worker{scratch: newScratch()}
		before := helper.own()
		err := through(helper.scratch, count/2, count)
		w.helped += helper.own() - before
		helped <- err
	}()
	err := through(w.scratch, 0, count/2)
	return errors.Join(err, <-helped)
}

// begin notes the clocks at the start of the metering.
func (w *worker) begin() error {
	w.startedOwn = w.own()
	w.started = time.Now()
	var err error
	w.startedCPU, err = w.cpu()
	return err
}

// finish notes the cost of the meter.
func (w *worker) finish() { w.ownTotal = w.own() - w.startedOwn }

// cpu reads the CPU clocks of all units, in nanoseconds, with one system call per unit.
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

// mark takes the next mark. It reads the CPU clocks at the edge of the window, and memory outside of it.
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
		next.own = w.own()
		next.at = time.Now()
		w.marks = append(w.marks, next)
	case 1:
		next.own = w.own()
		next.at = time.Now()
		if err := errors.Join(w.readClocks(&next), w.readAccounts(&next)); err != nil {
			return err
		}
		w.marks = append(w.marks, next)
		return w.sampleAll()
	default:
		return errors.New("third mark refused: a trial has two, before the start signal and after the last " +
			"operation")
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

// readAccounts reads all other accounts of every unit into a mark.
func (w *worker) readAccounts(m *mark) error {
	return w.each(func(s *scratch, unit int) error { return w.probes[unit].accounts(s, &m.units[unit]) })
}

// sampleAll takes the sample of a mark, even if requests wait, and sets the pause before the next round
// by its cost.
func (w *worker) sampleAll() error {
	before := w.own()
	err := w.each(func(s *scratch, unit int) (err error) {
		w.current[unit], err = w.probes[unit].memory(s)
		return err
	})
	if err == nil {
		err = w.keep(true)
	}
	w.wait = w.meter.pause(time.Duration(w.own() - before))
	return err
}

// round takes a periodic sample. If a unit has ended, it drops the sample; the next mark reports the
// unit.
func (w *worker) round() {
	before := w.own()
	for i, p := range w.probes {
		if w.interrupted() {
			return
		}
		var err error
		if w.current[i], err = p.memory(w.scratch); err != nil {
			return
		}
	}
	if w.keep(len(w.marks) > 0) == nil {
		w.wait = w.meter.pause(time.Duration(w.own() - before))
	}
}

// keep stores a sample of the memory that was read. If counted, the sample is part of the mean and the
// peak.
func (w *worker) keep(counted bool) error {
	cpu, err := w.cpu()
	if err != nil {
		return err
	}
	if counted {
		w.memory.add(w.current, w.roleOf)
	}
	w.follow(cpu)
	used := sum(cpu) - sum(w.startedCPU)
	w.samples = append(w.samples, lab.UsageSample{
		Seconds:     time.Since(w.started).Seconds(),
		CPUSeconds:  time.Duration(used).Seconds(),
		MemoryBytes: sum(w.current),
	})
	return nil
}

// result returns the usage between the marks.
func (w *worker) result() (lab.Metered, error) {
	if !w.complete() {
		return lab.Metered{}, fmt.Errorf("%d of 2 marks were taken: mark before the start signal and after the "+
			"last operation", len(w.marks))
	}
	return w.metered(), nil
}
