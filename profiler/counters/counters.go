// Package counters counts the instructions and cycles that programs take, with the counters of the
// processor itself (perf_event_open(2) with PERF_COUNT_HW_INSTRUCTIONS and PERF_COUNT_HW_CPU_CYCLES).
// Few virtual machines have them.
//
// Entry points: Start, then Counting.End.
package counters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// event is an event that the kernel can count.
type event struct {
	kind   uint32
	config uint64
}

// Counting counts until its End.
type Counting struct {
	threads []countedThread
}

// countedThread has the descriptor of each event of a thread.
type countedThread struct {
	role        string
	descriptors [2]int
}

// closed is the descriptor of an event that was not opened.
const closed = -1

// Start begins to count the events of the processes that have these threads, in user mode and in the
// kernel. Threads and processes that they start later are included. The error wraps that of the kernel.
func Start(threads []lab.ThreadUse) (*Counting, error) {
	return start(threads, [2]event{
		{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
		{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
	})
}

// start begins to count two events. Tests count events that every kernel has.
func start(threads []lab.ThreadUse, events [2]event) (*Counting, error) {
	c := &Counting{}
	seen := map[int]bool{}
	for _, t := range threads {
		if seen[t.PID] {
			continue
		}
		seen[t.PID] = true
		if err := c.add(t, events); err != nil {
			c.close()
			return nil, fmt.Errorf("count the instructions of process %d of unit %s: %w", t.PID, t.Unit, err)
		}
	}
	return c, nil
}

// add begins to count the threads of a process. Threads that they start later inherit the counters. A
// thread that starts during add may be missed; units that wait for their load start none.
func (c *Counting) add(of lab.ThreadUse, events [2]event) error {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", of.PID))
	if err != nil {
		return nil // it has ended
	}
	for _, entry := range entries {
		thread, _ := strconv.Atoi(entry.Name()) // always a number: the kernel writes it
		one := countedThread{of.Role, [2]int{closed, closed}}
		var err error
		for i, e := range events {
			if one.descriptors[i], err = e.open(thread); err != nil {
				break
			}
		}
		c.threads = append(c.threads, one)
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it has ended since it was listed
			return err
		}
	}
	return nil
}

// open begins to count for a thread, and for the threads and processes that it starts later.
func (e event) open(thread int) (fd int, err error) {
	attributes := unix.PerfEventAttr{Type: e.kind, Config: e.config,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        unix.PerfBitInherit | unix.PerfBitExcludeHv}
	attributes.Size = uint32(unsafe.Sizeof(attributes))
	fd, err = unix.PerfEventOpen(&attributes, thread, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV):
		err = fmt.Errorf("%w: the processor, or the hypervisor above it, shows no performance counters", err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		err = fmt.Errorf("%w: lower kernel.perf_event_paranoid or run with CAP_PERFMON", err)
	}
	return fd, err
}

// End ends the counting and returns what was counted since Start, by role.
func (c *Counting) End() (map[string]lab.Counted, error) {
	defer c.close()
	all := map[string]lab.Counted{}
	for _, t := range c.threads {
		var counts [2]float64
		for i, fd := range t.descriptors {
			if fd == closed {
				continue
			}
			var err error
			if counts[i], err = read(fd); err != nil {
				return nil, fmt.Errorf("read the counters of the processor: %w", err)
			}
		}
		sum := all[t.role]
		all[t.role] = lab.Counted{Instructions: sum.Instructions + counts[0], Cycles: sum.Cycles + counts[1]}
	}
	return all, nil
}

// read returns a count. If the processor has fewer counters than events, the kernel lets the events take
// turns, and read extrapolates the count to the whole time.
func read(fd int) (float64, error) {
	var text [3 * 8]byte // the count, and the nanoseconds in which it was wanted and in which it ran
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return 0, err
	}
	if n != len(text) {
		return 0, fmt.Errorf("the kernel gave %d bytes, not %d", n, len(text))
	}
	number := func(at int) uint64 { return binary.NativeEndian.Uint64(text[8*at:]) }
	return scaled(number(0), number(1), number(2))
}

// scaled extrapolates a count from the time in which it ran to the time in which it was wanted.
func scaled(count, wanted, ran uint64) (float64, error) {
	if ran == 0 && wanted > 0 {
		return 0, errors.New("the processor had no free counter: stop other programs that count, such as perf")
	}
	if ran == 0 {
		return 0, nil // the thread did not run
	}
	return float64(count) * (float64(wanted) / float64(ran)), nil
}

func (c *Counting) close() {
	for _, t := range c.threads {
		for _, fd := range t.descriptors {
			if fd != closed {
				_ = unix.Close(fd) // nothing was written to it
			}
		}
	}
	c.threads = nil
}
