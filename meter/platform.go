package meter

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hostUnit is a unit whose processes are those of a host, such as the daemons of a platform: all processes in
// the PID namespace of its process, or those of some names. It excludes processes in namespaces below,
// such as those of containers.
//
// It does not count the accounts of ended children: a program that has waited for the first process of a
// container has the time of the container in them.
type hostUnit struct {
	tree
	programs  []string // names of its processes; none: all
	namespace string
	seen      map[int]int64 // CPU time at the last reading, by process, nanoseconds
	ended     int64         // CPU time of ended processes whose number was reused, nanoseconds
}

// openHostUnit opens the processes of a host.
func openHostUnit(whole tree) (*hostUnit, error) {
	h := &hostUnit{tree: whole, programs: whole.root.unit.Span.Programs(), seen: map[int]int64{}}
	h.find = h.processes
	s := newScratch()
	h.namespace = namespaceOf(whole.root.dir, "", s)
	if h.namespace == "" {
		return nil, fmt.Errorf("unit %q: its PID namespace cannot be read", whole.root.unit.Name)
	}
	if err := h.refresh(s); err != nil {
		return nil, err
	}
	switch {
	case len(h.members) > 0:
		return h, nil
	case h.programs == nil:
		return nil, gone(whole.root.unit)
	}
	return nil, fmt.Errorf("unit %q: no process called %s can be seen here: start it, or deploy in another way",
		whole.root.unit.Name, strings.Join(h.programs, ", "))
}

// namespaceOf returns the name of the PID namespace of a process. process is the path of its folder below
// the open folder dir, with a slash at the end; "": dir itself is its folder. It returns "" if the process
// has ended or may not be read.
func namespaceOf(dir int, process string, s *scratch) string {
	n, err := unix.Readlinkat(dir, process+"ns/pid", s.buffer)
	if err != nil {
		return ""
	}
	return string(s.buffer[:n])
}

// processes returns the processes of the host that have one of the names.
func (h *hostUnit) processes(s *scratch) (map[int]bool, error) {
	children, err := families(s)
	if err != nil {
		return nil, err
	}
	proc, err := unix.Open("/proc", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	now := map[int]bool{}
	for _, siblings := range children {
		for _, pid := range siblings {
			folder := strconv.Itoa(pid) + "/"
			if h.called(proc, folder, s) && namespaceOf(proc, folder, s) == h.namespace {
				now[pid] = true
			}
		}
	}
	return now, unix.Close(proc)
}

// called reports whether a process has one of the names, or true if there are none. The kernel keeps the
// first 15 bytes of a name, so a longer name in programs matches nothing.
func (h *hostUnit) called(proc int, folder string, s *scratch) bool {
	if len(h.programs) == 0 {
		return true
	}
	text, err := s.file(proc, folder+"comm")
	return err == nil && slices.Contains(h.programs, strings.TrimSpace(string(text)))
}

// cpu implements source. A process that has ended counts with its last reading.
func (h *hostUnit) cpu(s *scratch) (int64, error) {
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
			h.ended += before
			sum += before
		}
		h.seen[pid] = now
	}
	for _, used := range h.seen {
		sum += used
	}
	return sum, nil
}

// accounts implements source.
func (h *hostUnit) accounts(s *scratch, c *counters) error {
	if err := h.addAll(s, c); err != nil {
		return err
	}
	c.processes = h.readProcesses(s, (*probe).daemon)
	return nil
}

// daemon returns the name of a platform's process: its program, with the subcommand in its first
// argument. Other arguments do not describe its role.
func (p *probe) daemon(s *scratch) (name, file string) {
	text, err := s.file(p.dir, "cmdline")
	words := strings.Split(string(text), "\x00")
	name = path.Base(words[0])
	if err != nil || words[0] == "" {
		return "unknown", ""
	}
	if len(words) > 1 && isSubcommand(words[1]) {
		name += " " + words[1]
	}
	return name, ""
}

// isSubcommand reports whether an argument consists of lower-case letters and hyphens, and is no flag.
func isSubcommand(argument string) bool {
	return argument != "" && argument[0] != '-' && strings.Trim(argument, "abcdefghijklmnopqrstuvwxyz-") == ""
}
