package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupRoot is the folder of the kernel's control groups.
const groupRoot = "/sys/fs/cgroup"

// container is a unit whose processes are those of a control group. The group counts the exact CPU time
// of all its processes, including ended ones, and its parts in user mode and in the kernel. The meter adds up
// all other accounts over its processes. Source: cpuacct.rst and cgroup-v2.rst of the Linux kernel.
type container struct {
	tree
	group group
}

// group is a control group, open for reading.
type group struct {
	dir     int // descriptor of its folder; with version 1, of the controller cpuacct
	version int
}

// openGroup opens the control group that counts the CPU time of a process, below the folder root. It fails if
// that is the group of the whole host.
func openGroup(p *probe, root string) (group, error) {
	text, err := newScratch().file(p.dir, "cgroup")
	if err != nil {
		return group{}, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(words) < 3 {
			continue
		}
		// The init system of a container moves itself into a group below that of the container.
		path := filepath.Clean("/" + strings.TrimSuffix(words[2], "/init.scope"))
		g := group{version: 1}
		folder := filepath.Join(root, words[1], path)
		switch {
		case slices.Contains(strings.Split(words[1], ","), "cpuacct"):
		case words[1] == "" && unix.Access(filepath.Join(root, "cgroup.controllers"), unix.F_OK) == nil:
			g.version = 2
			folder = filepath.Join(root, path)
		default:
			continue
		}
		if path == "/" {
			return group{}, errors.New("the unit is in the group of the whole host")
		}
		g.dir, err = unix.Open(folder, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return g, err
	}
	return group{}, fmt.Errorf("no control group counts the processor time of process %d", p.unit.PID)
}

// close implements source.
func (c *container) close() {
	_ = unix.Close(c.group.dir) // closing loses nothing
	c.tree.close()
}

// processes returns the processes of the group and of all groups below it.
func (c *container) processes(s *scratch) (map[int]bool, error) {
	now := map[int]bool{}
	if err := addProcesses(s, c.group.dir, now); err != nil {
		return nil, gone(c.root.unit)
	}
	return now, nil
}

// addProcesses adds the processes of the group in the open folder dir, and of all groups below it.
func addProcesses(s *scratch, dir int, to map[int]bool) error {
	text, err := s.file(dir, "cgroup.procs")
	if err != nil {
		return err
	}
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil {
			to[pid] = true
		}
	}
	var about unix.Stat_t
	if err := unix.Fstat(dir, &about); err != nil || about.Nlink == 2 {
		return err // a folder of the kernel has two links, and one more for each folder in it
	}
	entries, err := os.ReadDir("/proc/self/fd/" + strconv.Itoa(dir))
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		below, err := unix.Openat(dir, entry.Name(), unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // it has been removed since
		}
		// An error means that the group has been removed since, or is a threaded one, whose processes the group
		// above lists.
		_ = addProcesses(s, below, to)
		_ = unix.Close(below) // closing loses nothing
	}
	return err
}

// cpu implements source.
func (c *container) cpu(s *scratch) (int64, error) {
	if _, err := c.root.life(s); err != nil {
		return 0, err
	}
	if c.group.version == 1 {
		text, err := s.file(c.group.dir, "cpuacct.usage")
		nanoseconds, found := digits(text)
		if err != nil || !found {
			return 0, gone(c.root.unit)
		}
		return nanoseconds, nil
	}
	text, err := s.file(c.group.dir, "cpu.stat")
	microseconds, found := lineValue(text, "usage_usec ")
	if err != nil || !found {
		return 0, gone(c.root.unit)
	}
	return microseconds * int64(time.Microsecond), nil
}

// accounts implements source.
func (c *container) accounts(s *scratch, sum *counters) error {
	if err := c.addAll(s, sum); err != nil {
		return err
	}
	// Version 1 counts in ticks, version 2 in microseconds.
	file := "cpuacct.stat"
	user := "user "
	system := "system "
	perTick := int64(1)
	if c.group.version == 2 {
		file = "cpu.stat"
		user = "user_usec "
		system = "system_usec "
		perTick = nanosecondsPerTick / int64(time.Microsecond)
	}
	text, err := s.file(c.group.dir, file)
	if err != nil {
		return gone(c.root.unit)
	}
	inUser, _ := lineValue(text, user)
	inSystem, _ := lineValue(text, system)
	sum.stat.userTicks = inUser / perTick
	sum.stat.systemTicks = inSystem / perTick
	sum.processes = c.readProcesses(s, (*probe).name) // only counted: a container is one row
	sum.received, sum.sent = c.root.network(s)
	return nil
}
