package meter

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// tree is a unit of several processes: a root and all its descendants, or only the descendants. A process
// that has ended counts through its parent: the kernel adds the accounts of a child to those of the parent
// that waits for it.
//
// A child whose parent ignores SIGCHLD is lost when it ends. The kernel counts the time of ended children
// in whole ticks.
type tree struct {
	root     *probe
	members  map[int]*probe                       // by process id
	find     func(*scratch) (map[int]bool, error) // returns the current processes of the unit
	noMemory string                               // why the memory of a member cannot be read; "": it can
	// last is the highest CPU time read so far, in nanoseconds. Because of whole ticks a later reading can
	// be lower, by less than one tick per parent.
	last int64
}

// attempts is the number of times that a tree is read if processes end meanwhile. After that, the last
// reading counts as it is.
const attempts = 4

// nanosecondsPerTick is the length of a tick.
const nanosecondsPerTick = int64(time.Second) / ticksPerSecond

// memoryMissing implements source.
func (t *tree) memoryMissing() string { return t.noMemory }

// close implements source.
func (t *tree) close() {
	for _, p := range t.members {
		p.close()
	}
	t.root.close()
}

// descendants returns all descendants of the root, and the root itself unless the unit excludes it.
func (t *tree) descendants(s *scratch) (map[int]bool, error) {
	children, err := families(s)
	if err != nil {
		return nil, err
	}
	now := map[int]bool{}
	if t.root.unit.Span != lab.SpanBelow {
		now[t.root.unit.PID] = true
	}
	for queue := []int{t.root.unit.PID}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			now[child] = true
			queue = append(queue, child)
		}
	}
	return now, nil
}

// refresh updates the members to the current processes of the unit.
func (t *tree) refresh(s *scratch) error {
	if _, err := t.root.life(s); err != nil {
		return err
	}
	now, err := t.find(s)
	if err != nil {
		return err
	}
	for pid, p := range t.members {
		if _, err := s.file(p.dir, "stat"); err != nil || !now[pid] {
			p.close()
			delete(t.members, pid)
		}
	}
	for pid := range now {
		if t.members[pid] == nil {
			if err := t.admit(pid); err != nil {
				return err
			}
		}
	}
	return nil
}

// pids returns the numbers of the current processes of the unit.
func (t *tree) pids() ([]int, error) {
	err := t.refresh(newScratch())
	return slices.Collect(maps.Keys(t.members)), err
}

// admit adds a process to the members, unless it has ended.
func (t *tree) admit(pid int) error {
	unit := t.root.unit
	unit.PID = pid
	p, err := openProbe(unit)
	switch {
	case err == nil:
		t.members[pid] = p
	case !errors.Is(err, os.ErrProcessDone):
		return err
	}
	return nil
}

// families returns the children of every process of this host, by the number of the parent.
func families(s *scratch) (map[int][]int, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // only read
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	children := make(map[int][]int)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := s.file(int(folder.Fd()), name+"/stat")
		if err != nil {
			continue // it has ended since
		}
		if found, err := parseStat(text); err == nil {
			children[int(found.parent)] = append(children[int(found.parent)], pid)
		}
	}
	return children, nil
}

// cpu implements source.
func (t *tree) cpu(s *scratch) (int64, error) {
	var sum int64
	for range attempts {
		if err := t.refresh(s); err != nil {
			return 0, err
		}
		var complete bool
		if sum, complete = t.clocks(s); complete {
			break
		}
	}
	t.last = max(t.last, sum)
	return t.last, nil
}

// clocks adds up the CPU time of ended processes, and then that of living ones. A process that ends in
// between is in neither: then complete is false.
func (t *tree) clocks(s *scratch) (sum int64, complete bool) {
	complete = true
	for _, p := range t.all() {
		text, err := s.file(p.dir, "stat")
		ended, wrong := parseStat(text)
		isRead := err == nil && wrong == nil
		complete = complete && isRead
		sum += (ended.childUserTicks + ended.childSystemTicks) * nanosecondsPerTick
	}
	for _, p := range t.members {
		own, err := s.clock(p.clock)
		complete = complete && err == nil
		sum += own
	}
	return sum, complete
}

// all returns the members, and the root even if it is not a member, because it has the accounts of
// orphans.
func (t *tree) all() []*probe {
	all := make([]*probe, 0, len(t.members)+1)
	for _, p := range t.members {
		all = append(all, p)
	}
	if t.root.unit.Span == lab.SpanBelow {
		all = append(all, t.root)
	}
	return all
}

// accounts implements source.
func (t *tree) accounts(s *scratch, c *counters) error {
	err := t.addAll(s, c)
	t.addOrphans(s, c)
	c.processes = t.readProcesses(s, (*probe).name)
	tellApart(t.root, c.processes)
	return err
}

// addAll adds up the accounts of the members. It starts again if one ends meanwhile.
func (t *tree) addAll(s *scratch, c *counters) error {
	for range attempts {
		if err := t.refresh(s); err != nil {
			return err
		}
		*c = counters{cpu: c.cpu}
		if t.addUp(s, c) {
			break
		}
	}
	return nil
}

// addUp adds the accounts of the members and reports whether none has ended.
func (t *tree) addUp(s *scratch, c *counters) bool {
	complete := true
	for _, p := range t.members {
		var one counters
		if err := p.accounts(s, &one); err != nil {
			complete = false
			continue
		}
		c.stat.userTicks += one.stat.userTicks + one.stat.childUserTicks
		c.stat.systemTicks += one.stat.systemTicks + one.stat.childSystemTicks
		c.stat.threads += one.stat.threads
		c.tasks = append(c.tasks, one.tasks...)
		c.read += one.read
		c.written += one.written
		c.largest += one.largest
		noteAll(&c.missing, one.missing)
	}
	return complete
}

// addOrphans adds the accounts of ended processes of a root that is not a member.
func (t *tree) addOrphans(s *scratch, c *counters) {
	if t.root.unit.Span != lab.SpanBelow {
		return
	}
	var root counters
	t.root.transferred(s, &root)
	c.read += root.read
	c.written += root.written
	if text, err := s.file(t.root.dir, "stat"); err == nil {
		ended, _ := parseStat(text)
		c.stat.userTicks += ended.childUserTicks
		c.stat.systemTicks += ended.childSystemTicks
	}
}

// memory implements source.
func (t *tree) memory(s *scratch) (int64, error) {
	if err := t.refresh(s); err != nil {
		return 0, err
	}
	var sum int64
	for _, p := range t.members {
		size, err := p.memory(s)
		if err != nil {
			continue // it has ended, and its memory is free
		}
		sum += size
		p.last = size
		p.peak = max(p.peak, size)
		if p.noMemory != "" {
			t.noMemory = p.noMemory
		}
	}
	return sum, nil
}
