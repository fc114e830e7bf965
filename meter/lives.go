package meter

import (
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// lives is a unit that is killed and started again while it is metered, or that starts later than the
// metering. Its accounts are the sums over its lives, that is, its processes one after the other. Between
// two lives it uses nothing.
type lives struct {
	present source   // nil between two lives
	former  counters // sums over the lives that have ended
	ended   int      // number of these lives
}

// lifeShift moves the number of a life into the upper half of a thread's id, because the kernel may give
// the same ids to a later life.
const lifeShift = 32

// close implements source.
func (l *lives) close() {
	if l.present != nil {
		l.present.close()
	}
}

// cpu implements source.
func (l *lives) cpu(s *scratch) (int64, error) {
	if l.present == nil {
		return l.former.cpu, nil
	}
	now, err := l.present.cpu(s)
	return l.former.cpu + now, err
}

// accounts implements source.
func (l *lives) accounts(s *scratch, c *counters) error {
	cpu := c.cpu // of the mark, which reads the CPU clock apart from the accounts
	*c = l.former
	c.cpu = cpu
	c.tasks = slices.Clone(l.former.tasks)
	c.missing = nil
	noteAll(&c.missing, l.former.missing)
	c.stat.threads = 0 // threads of former lives have ended
	if l.present == nil {
		return nil
	}
	var now counters
	if err := l.present.accounts(s, &now); err != nil {
		return err
	}
	c.add(now, l.ended)
	return nil
}

// add adds the accounts of life number life. The processes are replaced by those of that life.
func (c *counters) add(now counters, life int) {
	c.stat.userTicks += now.stat.userTicks
	c.stat.systemTicks += now.stat.systemTicks
	c.stat.threads += now.stat.threads
	for _, t := range now.tasks {
		t.id += life << lifeShift
		c.tasks = append(c.tasks, t)
	}
	c.read += now.read
	c.written += now.written
	c.received += now.received
	c.sent += now.sent
	c.processes = now.processes
	c.largest = max(c.largest, now.largest)
	noteAll(&c.missing, now.missing)
}

// memory implements source.
func (l *lives) memory(s *scratch) (int64, error) {
	if l.present == nil {
		return 0, nil
	}
	return l.present.memory(s)
}

// memoryMissing implements source.
func (l *lives) memoryMissing() string {
	if l.present == nil {
		return ""
	}
	return l.present.memoryMissing()
}

// end reads the accounts of the present life for the last time.
func (l *lives) end(s *scratch) error {
	var last counters
	if err := l.present.accounts(s, &last); err != nil {
		return err
	}
	cpu, err := l.present.cpu(s) // last, because it matters most and grows until the end
	if err != nil {
		return err
	}
	l.former.cpu += cpu
	l.former.add(last, l.ended)
	l.ended++
	l.present.close()
	l.present = nil
	return nil
}

// suspend ends the present life of a unit.
func (w *worker) suspend(name string) error {
	i, err := w.find(name)
	if err != nil {
		return err
	}
	unit, known := w.probes[i].(*lives)
	if !known {
		unit = &lives{present: w.probes[i]}
		w.probes[i] = unit
	}
	if unit.present == nil {
		return fmt.Errorf("unit %q is suspended already", name)
	}
	if err := unit.end(w.scratch); err != nil {
		return err
	}
	w.notes = append(w.notes, fmt.Sprintf("unit %s was read for the last time %.3f s after metering began and "+
		"then killed: what it used between the reading and its end is in no figure",
		name, time.Since(w.started).Seconds()))
	return nil
}

// resume begins a new life of a suspended unit.
func (w *worker) resume(unit lab.Unit) error {
	i, err := w.find(unit.Name)
	if err != nil {
		return err
	}
	dead, suspended := w.probes[i].(*lives)
	if !suspended || dead.present != nil {
		return fmt.Errorf("unit %q cannot be resumed: it is not suspended", unit.Name)
	}
	present, about, err := openSource(unit)
	if err != nil {
		return err
	}
	dead.present = present
	w.units[i] = unit
	w.sources[unit.Role] = about
	return nil
}

// find returns the index of a unit in the order of Watch.
func (w *worker) find(name string) (int, error) {
	i := slices.IndexFunc(w.units, func(u lab.Unit) bool { return u.Name == name })
	if i < 0 {
		return i, fmt.Errorf("there is no unit %q among those that are metered", name)
	}
	return i, nil
}
