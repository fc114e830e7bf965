package meter

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// probe reads one process. It holds the directory /proc/<pid> open: the descriptor never refers to a
// later process with the same id.
type probe struct {
	unit  lab.Unit
	dir   int   // descriptor of /proc/<pid>
	clock int32 // id of the CPU clock; see processClock
	// noMemory is the reason why the proportional set size cannot be read. Once set, reading is not tried
	// again.
	noMemory string
	// last and peak are memory sizes in bytes, used if the probe is one process of a tree.
	last, peak int64
}

// counters are a unit's accounts at one mark, since the start of the unit.
type counters struct {
	cpu            int64 // nanoseconds
	stat           stat
	tasks          []task
	read           int64     // bytes
	written        int64     // bytes
	largest        int64     // bytes of the largest resident set
	processes      []process // of a unit of several processes
	received, sent int64     // bytes of a container's network
	// missing holds the reason for every account that cannot be read, by the name of the metric in
	// lab.Usage; nil: none is missing.
	missing map[string]string
}

// task holds one thread's context switches since its start.
type task struct {
	id          int
	voluntary   int64
	involuntary int64
}

// source reads the usage of one unit.
type source interface {
	// cpu returns the CPU time since the unit started, in nanoseconds.
	cpu(s *scratch) (int64, error)
	// accounts reads everything except the CPU time, which the caller reads last before a trial and first
	// after it.
	accounts(s *scratch, c *counters) error
	// memory returns the proportional set size in bytes. It fails only if the unit has gone.
	memory(s *scratch) (int64, error)
	// memoryMissing returns the reason why memory cannot be read, or "".
	memoryMissing() string
	close()
}

// openSource finds the unit's processes. about describes the source and its limits.
func openSource(unit lab.Unit) (_ source, about string, _ error) {
	p, err := openProbe(unit)
	if err != nil || unit.Span == "" {
		return p, "/proc of its process; context switches of ended threads are missing", err
	}
	whole := tree{root: p, members: map[int]*probe{}}
	whole.find = whole.descendants
	if unit.Span == lab.SpanHost || unit.Span.Programs() != nil {
		h, err := openHostUnit(whole)
		if err != nil {
			whole.close()
			return nil, "", err
		}
		return h, "/proc of its processes; an ended process counts with the processor time at its last reading, " +
			"so very short ones are missing", nil
	}
	if unit.Span == lab.SpanContainer {
		if group, err := openGroup(p, groupRoot); err == nil {
			c := &container{tree: whole, group: group}
			c.find = c.processes
			return c, fmt.Sprintf("its control group (version %d) and /proc of its processes; "+
				"memory, threads, context switches and bytes of ended processes are missing", group.version), nil
		}
	}
	return &whole, "/proc of all its processes; the processor time of ended ones is in ticks of 10 ms, and " +
		"their memory, threads and context switches are missing", nil
}

// memoryMissing implements source.
func (p *probe) memoryMissing() string { return p.noMemory }

// openProbe finds the unit's process.
func openProbe(unit lab.Unit) (*probe, error) {
	path := "/proc/" + strconv.Itoa(unit.PID)
	dir, err := unix.Open(path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EMFILE) {
		return nil, fmt.Errorf("open %s of unit %q: %w: raise the limit of open files (ulimit -n)", path, unit.Name,
			err)
	}
	if err != nil {
		return nil, gone(unit)
	}
	return &probe{unit: unit, dir: dir, clock: processClock(unit.PID)}, nil
}

// gone returns the error for a unit that no longer runs.
func gone(unit lab.Unit) error {
	return fmt.Errorf("unit %q (pid %d) has gone; its log says why: %w", unit.Name, unit.PID, os.ErrProcessDone)
}

// close closes the descriptor. An error would lose nothing.
func (p *probe) close() { _ = unix.Close(p.dir) }

// cpu reads the process CPU clock, in nanoseconds of all threads, including ended ones.
func (p *probe) cpu(s *scratch) (int64, error) {
	value, err := s.clock(p.clock)
	if err != nil {
		return 0, gone(p.unit)
	}
	return value, nil
}

// life reads the stat file. It fails if the process has ended, even if its parent has not collected it
// yet.
func (p *probe) life(s *scratch) (stat, error) {
	text, err := s.file(p.dir, "stat")
	if err != nil {
		return stat{}, gone(p.unit)
	}
	result, err := parseStat(text)
	if err != nil {
		return stat{}, fmt.Errorf("unit %q (pid %d): %w", p.unit.Name, p.unit.PID, err)
	}
	if result.state == 'Z' || result.state == 'X' {
		return stat{}, gone(p.unit)
	}
	return result, nil
}

// accounts implements source.
func (p *probe) accounts(s *scratch, c *counters) error {
	var err error
	if c.stat, err = p.life(s); err != nil {
		return err
	}
	if err := p.switches(s, c); err != nil {
		return err
	}
	p.largest(s, c)
	p.transferred(s, c)
	return nil
}

// note records the reason why quantities cannot be read, by their names.
func note(missing *map[string]string, reason string, names ...string) {
	if *missing == nil {
		*missing = map[string]string{}
	}
	for _, name := range names {
		(*missing)[name] = reason
	}
}

// noteAll adds the reasons of another reading.
func noteAll(missing *map[string]string, more map[string]string) {
	for name, reason := range more {
		note(missing, reason, name)
	}
}

// switches reads the context switches of every living thread.
func (p *probe) switches(s *scratch, c *counters) error {
	ids, err := p.threads(s)
	if err != nil {
		return gone(p.unit)
	}
	c.tasks = make([]task, 0, len(ids))
	for _, id := range ids {
		text, err := s.file(p.dir, "task/"+id+"/status")
		if err != nil {
			continue // the thread ended between the two reads
		}
		number, err := strconv.Atoi(id)
		if err != nil {
			return fmt.Errorf("unit %q (pid %d): thread id %q is no number", p.unit.Name, p.unit.PID, id)
		}
		voluntary, found := lineValue(text, "voluntary_ctxt_switches:")
		involuntary, both := lineValue(text, "nonvoluntary_ctxt_switches:")
		if !found || !both {
			note(&c.missing, "the kernel does not count context switches in /proc/<pid>/status",
				"voluntary_context_switches", "involuntary_context_switches")
			return nil
		}
		c.tasks = append(c.tasks, task{number, voluntary, involuntary})
	}
	return nil
}

// threads lists the ids of the unit's threads.
func (p *probe) threads(s *scratch) (ids []string, err error) {
	fd, err := unix.Openat(p.dir, "task", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	for {
		n, err := unix.ReadDirent(fd, s.buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return ids, err
		}
		_, _, ids = unix.ParseDirent(s.buffer[:n], -1, ids)
	}
}

// largest reads the peak of the resident set.
func (p *probe) largest(s *scratch, c *counters) {
	text, err := s.file(p.dir, "status")
	kib, found := lineValue(text, "VmHWM:")
	if err != nil || !found {
		note(&c.missing, "no VmHWM in /proc/<pid>/status", "peak_resident_bytes")
		return
	}
	c.largest = kib << 10
}

// transferred reads the number of bytes of read and write calls.
func (p *probe) transferred(s *scratch, c *counters) {
	text, err := s.file(p.dir, "io")
	if err != nil {
		note(&c.missing, "read /proc/<pid>/io: "+err.Error(), "read_bytes", "written_bytes")
		return
	}
	c.read, _ = lineValue(text, "rchar:")
	c.written, _ = lineValue(text, "wchar:")
}

// memory implements source.
func (p *probe) memory(s *scratch) (int64, error) {
	if p.noMemory != "" {
		return 0, nil
	}
	text, err := s.file(p.dir, "smaps_rollup")
	if err == nil {
		if kib, found := lineValue(text, "Pss:"); found {
			return kib << 10, nil
		}
		err = errors.New("no Pss line")
	}
	reason := "read /proc/<pid>/smaps_rollup: " + err.Error()
	if _, err := p.life(s); err != nil {
		return 0, err
	}
	p.noMemory = reason
	return 0, nil
}
