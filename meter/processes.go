package meter

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// process holds the usage of one process of a unit since the start of the process.
type process struct {
	probe   *probe // identifies it; the kernel may reuse its number
	name    string
	file    string // the script or file that it was started with; empty: none
	cpu     int64  // nanoseconds
	peak    int64  // highest memory since the last reading, bytes
	read    int64
	written int64
}

// restName is the name of the row for usage that no living process accounts for.
const restName = "processes that have ended"

// readProcesses reads every member, and starts a new peak for it. The function name names it.
func (t *tree) readProcesses(s *scratch, name func(*probe, *scratch) (name, file string)) []process {
	all := make([]process, 0, len(t.members))
	for _, p := range t.members {
		cpu, err := s.clock(p.clock)
		if err != nil {
			continue // it has ended since
		}
		var moved counters
		p.transferred(s, &moved)
		called, file := name(p, s)
		all = append(all, process{p, called, file, cpu, p.peak, moved.read, moved.written})
		p.peak = p.last
	}
	return all
}

// name returns the name of a process: its program, and the script or file that it was started with. It
// leaves out other arguments, which may be secrets.
func (p *probe) name(s *scratch) (name, file string) {
	text, err := s.file(p.dir, "cmdline")
	words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	program, _, _ := strings.Cut(words[0], " ") // some programs write a title over their arguments
	name = path.Base(strings.TrimRight(program, ":"))
	if err != nil || program == "" {
		return "unknown", ""
	}
	for _, word := range words[1:] {
		seen := "cwd/" + word
		if path.IsAbs(word) {
			seen = "root" + word
		}
		if word != "" && p.isFile(seen) {
			return name + " " + path.Base(word), word
		}
	}
	return name, ""
}

// isFile reports whether a path in the folder of the process in /proc is, or leads to, a regular file.
func (p *probe) isFile(path string) bool {
	var found unix.Stat_t
	err := unix.Fstatat(p.dir, path, &found, 0)
	return err == nil && found.Mode&unix.S_IFMT == unix.S_IFREG
}

// network returns the bytes that the process's network has received and sent, or zeros if it is the
// network of this host.
func (p *probe) network(s *scratch) (received, sent int64) {
	var own, theirs unix.Stat_t
	err := errors.Join(unix.Stat("/proc/self/ns/net", &own), unix.Fstatat(p.dir, "ns/net", &theirs, 0))
	if err != nil || own.Ino == theirs.Ino {
		return 0, 0
	}
	text, err := s.file(p.dir, "net/dev")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		device, figures, _ := strings.Cut(line, ":")
		const sentAt = 8 // after eight figures about received data
		if all := strings.Fields(figures); len(all) > sentAt && strings.TrimSpace(device) != "lo" {
			in, _ := digits([]byte(all[0]))
			out, _ := digits([]byte(all[sentAt]))
			received, sent = received+in, sent+out
		}
	}
	return received, sent
}

// processes divides the usage of a unit of several processes by the names of the processes. A container
// is one row with the name of its role, which is that of its service.
func (w *worker) processes(i int, whole lab.Usage) []lab.ProcessUsage {
	unit := w.units[i]
	open, closing := &w.marks[0].units[i], &w.marks[1].units[i]
	if unit.Span == lab.SpanContainer {
		return []lab.ProcessUsage{{Unit: unit.Name, Name: unit.Role, Processes: len(closing.processes),
			CPUSeconds: whole.CPUSeconds, PeakMemoryBytes: whole.PeakMemoryBytes, ReadBytes: whole.ReadBytes,
			WrittenBytes:  whole.WrittenBytes,
			ReceivedBytes: closing.received - open.received, SentBytes: closing.sent - open.sent}}
	}
	var rows []lab.ProcessUsage
	rest := whole.CPUSeconds
	for _, now := range closing.processes {
		before := process{}
		if at := slices.IndexFunc(open.processes, func(p process) bool { return p.probe == now.probe }); at >= 0 {
			before = open.processes[at]
		}
		at := slices.IndexFunc(rows, func(r lab.ProcessUsage) bool { return r.Name == now.name })
		if at < 0 {
			at = len(rows)
			rows = append(rows, lab.ProcessUsage{Unit: unit.Name, Name: now.name})
		}
		used := time.Duration(now.cpu - before.cpu).Seconds()
		rest -= used
		rows[at].Processes++
		rows[at].CPUSeconds += used
		rows[at].PeakMemoryBytes += now.peak
		rows[at].ReadBytes += now.read - before.read
		rows[at].WrittenBytes += now.written - before.written
	}
	const tick = 1.0 / ticksPerSecond // the kernel's precision for ended processes
	if len(rows) > 0 && rest > tick {
		rows = append(rows, lab.ProcessUsage{Unit: unit.Name, Name: restName, CPUSeconds: rest})
	}
	slices.SortFunc(rows, func(a, b lab.ProcessUsage) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
