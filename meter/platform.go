package meter

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// host is a unit whose processes are those of a host, such as the daemons of a platform: all
// that are in the PID namespace of its process, or those of some names there. What is in
// a namespace below, as containers are, is not among them.
//
// The accounts of ended children are no part of it: a program that has waited for a
// container's first process has that one's time in them.
type host struct {
	tree
	programs  []string // none: all
	namespace string
	seen      map[int]int64 // nanoseconds, by process: when it was last looked at
	ended     int64         // nanoseconds of processes whose number another one has by now
}

// openHost finds the processes of a host.
func openHost(whole tree) (*host, error) {
	h := &host{tree: whole, programs: whole.root.unit.Span.Programs(), seen: map[int]int64{}}
	h.find = h.processes
	s := newScratch()
	h.namespace = namespaceOf(whole.root.dir, "", s)
	if h.namespace == "" {
		return nil, fmt.Errorf("unit %q: its PID namespace cannot be read", whole.root.unit.Name)
	}
	if err := h.refresh(s); err != nil {
		return nil, err
	}
	if len(h.members) == 0 {
		return nil, fmt.Errorf("no process called %s can be seen here", strings.Join(h.programs, ", "))
	}
	return h, nil
}

// namespaceOf names the PID namespace of a process, whose folder lies below an open one; "":
// it has ended, or may not be looked at.
func namespaceOf(dir int, process string, s *scratch) string {
	n, err := unix.Readlinkat(dir, process+"ns/pid", s.buffer)
	if err != nil {
		return ""
	}
	return string(s.buffer[:n])
}

// processes returns those of the host that have one of the names.
func (h *host) processes(s *scratch) (map[int]bool, error) {
	children, err := families(s)
	if err != nil {
		return nil, err
	}
	proc, err := unix.Open("/proc", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	now := map[int]bool{}
	for _, brood := range children {
		for _, pid := range brood {
			folder := strconv.Itoa(pid) + "/"
			if h.called(proc, folder, s) && namespaceOf(proc, folder, s) == h.namespace {
				now[pid] = true
			}
		}
	}
	return now, unix.Close(proc)
}

// called reports whether a process has one of the names, where there are some. The kernel
// keeps 15 bytes of a name.
func (h *host) called(proc int, folder string, s *scratch) bool {
	if len(h.programs) == 0 {
		return true
	}
	text, err := s.file(proc, folder+"comm")
	return err == nil && slices.Contains(h.programs, strings.TrimSpace(string(text)))
}

// cpu implements source. What has ended counts as it was last seen.
func (h *host) cpu(s *scratch) (int64, error) {
	if err := h.refresh(s); err != nil {
		return 0, err
	}
	sum := h.ended
	for pid, p := range h.members {
		now, err := s.clock(p.clock)
		if err != nil {
			continue // it has ended since
		}
		if before := h.seen[pid]; now < before {
			h.ended, sum = h.ended+before, sum+before
		}
		h.seen[pid] = now
	}
	for _, used := range h.seen {
		sum += used
	}
	return sum, nil
}

// accounts implements source.
func (h *host) accounts(s *scratch, c *counters) error {
	if err := h.addAll(s, c); err != nil {
		return err
	}
	c.processes = h.readProcesses(s)
	for i, p := range c.processes {
		c.processes[i].name = p.probe.daemon(s)
	}
	return nil
}

// daemon returns what a process of a platform is called: its program, and the part of it that it
// was told to be. Files that it was started with tell nothing of it.
func (p *probe) daemon(s *scratch) string {
	text, err := s.file(p.dir, "cmdline")
	words := strings.Split(string(text), "\x00")
	name := path.Base(words[0])
	if err != nil || words[0] == "" {
		return "unknown"
	}
	if len(words) > 1 && words[1] != "" && strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz-") == "" &&
		words[1][0] != '-' {
		name += " " + words[1]
	}
	return name
}
