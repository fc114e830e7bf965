package meter

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// ticksPerSecond is the number of ticks per second. The user and system times in /proc/<pid>/stat are in
// ticks. A tick is 1/100 s on every architecture that Go supports, whatever the timer of the kernel.
const ticksPerSecond = 100

// sampled holds the sum and the peak of a memory size over samples, in bytes.
type sampled struct {
	sum     int64
	peak    int64
	samples int64
}

// add adds one sample.
func (s *sampled) add(bytes int64) {
	s.sum += bytes
	s.peak = max(s.peak, bytes)
	s.samples++
}

// mean returns the mean over the samples, in bytes; 0 without samples.
func (s *sampled) mean() int64 { return s.sum / max(1, s.samples) }

// memory holds the sampled memory of each unit, of each role and of all units. Roles and the total have
// samples of their own, because the peak of a sum is not the sum of the peaks.
type memory struct {
	units []sampled
	roles []sampled
	total sampled
	sums  []int64 // of the current round, one per role; a field only to reuse the memory
}

// newMemory returns the memory of a number of units and roles before the first sample.
func newMemory(units, roles int) memory {
	return memory{units: make([]sampled, units), roles: make([]sampled, roles), sums: make([]int64, roles)}
}

// add adds one round of samples. sizes (in bytes) and roleOf (indexes of roles) have one entry per unit.
func (m *memory) add(sizes []int64, roleOf []int) {
	clear(m.sums)
	for i, size := range sizes {
		m.units[i].add(size)
		m.sums[roleOf[i]] += size
	}
	for role, size := range m.sums {
		m.roles[role].add(size)
	}
	m.total.add(sum(sizes))
}

// sum adds up values.
func sum(values []int64) int64 {
	var total int64
	for _, value := range values {
		total += value
	}
	return total
}

// metered returns the usage between the two marks, by unit, by role and in total.
func (w *worker) metered() lab.Metered {
	deltas := make([]lab.Usage, len(w.probes))
	splits := make([]stat, len(w.probes))
	byRole := make([][]int, len(w.roles))
	all := make([]int, len(w.probes))
	for i := range w.probes {
		deltas[i], splits[i] = w.difference(i)
		byRole[w.roleOf[i]] = append(byRole[w.roleOf[i]], i)
		all[i] = i
	}
	combine := func(members []int, s sampled) lab.Usage {
		group := w.group(members, deltas, splits)
		group.MeanMemoryBytes = s.mean()
		group.PeakMemoryBytes = s.peak
		return group
	}
	window := w.marks[1].at.Sub(w.marks[0].at)
	idle := w.idle()
	inWindow := time.Duration(w.marks[1].own - w.marks[0].own)
	result := lab.Metered{
		Total:               combine(all, w.memory.total),
		Roles:               make(map[string]lab.Usage, len(w.roles)),
		Samples:             w.samples,
		Course:              w.usageCourse(),
		Notes:               w.notes,
		Sources:             w.sources,
		OwnCPUSeconds:       time.Duration(w.ownTotal).Seconds(),
		OwnWindowCPUSeconds: inWindow.Seconds(),
		WindowSeconds:       window.Seconds(),
		OwnShare:            inWindow.Seconds() / window.Seconds(),
		IdleSeconds:         idle.Seconds(),
	}
	for role, members := range byRole {
		result.Roles[w.roles[role]] = combine(members, w.memory.roles[role])
	}
	host := thisHost() // a meter reads units of its own host
	for i, unit := range w.units {
		usage := combine([]int{i}, w.memory.units[i])
		result.Units = append(result.Units, lab.UnitUsage{Unit: unit, Host: host, Usage: usage})
		if unit.Span != "" {
			result.Processes = append(result.Processes, w.processes(i, usage)...)
		}
	}
	return result
}

// thisHost returns the host of this process, or zero if its kernel has no identity.
func thisHost() lab.UnitHost {
	run, err := os.ReadFile(lab.KernelRun)
	if err != nil {
		return lab.UnitHost{}
	}
	return lab.UnitHost{KernelRun: strings.TrimSpace(string(run)), Processors: runtime.NumCPU()}
}

// idle returns the time from Watch to the first mark, or 0 if it was too short to measure the idle units.
func (w *worker) idle() time.Duration {
	if rested := w.marks[0].at.Sub(w.started); rested >= lab.ShortestIdle {
		return rested
	}
	return 0
}

// difference returns the usage of one unit between the marks, without the sampled memory and without user and
// system time. It also returns the user and system ticks between the marks, for split.
func (w *worker) difference(i int) (lab.Usage, stat) {
	open, closing := &w.marks[0].units[i], &w.marks[1].units[i]
	voluntary, involuntary := switchesBetween(open.tasks, closing.tasks)
	usage := lab.Usage{
		Units:                      1,
		CPUSeconds:                 time.Duration(closing.cpu - open.cpu).Seconds(),
		VoluntaryContextSwitches:   voluntary,
		InvoluntaryContextSwitches: involuntary,
		Threads:                    int(closing.stat.threads),
		IdleCores:                  w.idleCores(i),
		PeakResidentBytes:          closing.largest,
		ReadBytes:                  closing.read - open.read,
		WrittenBytes:               closing.written - open.written,
		Unavailable:                missing(w.probes[i], open, closing),
	}
	ticks := stat{
		userTicks:   closing.stat.userTicks - open.stat.userTicks,
		systemTicks: closing.stat.systemTicks - open.stat.systemTicks,
	}
	return usage, ticks
}

// idleCores returns the mean number of processors that a unit used before the first mark.
func (w *worker) idleCores(i int) float64 {
	idle := w.idle()
	if idle == 0 {
		return 0
	}
	return float64(w.marks[0].units[i].cpu-w.startedCPU[i]) / float64(idle.Nanoseconds())
}

// missing returns the reasons why quantities are missing at a mark or in the samples, or nil if all are
// there.
func missing(p source, open, closing *counters) map[string]string {
	var all map[string]string
	noteAll(&all, open.missing)
	noteAll(&all, closing.missing)
	if reason := p.memoryMissing(); reason != "" {
		note(&all, reason, "peak_memory_bytes", "mean_memory_bytes")
	}
	return all
}

// switchesBetween adds up the context switches between two marks, of the threads that live at the closing
// mark. Switches of threads that have ended are lost: the kernel does not show them. If a counter of a thread
// is lower than before, the thread is a new one with the id of an old one: all its switches count.
func switchesBetween(open, closing []task) (voluntary, involuntary int64) {
	before := make(map[int]task, len(open))
	for _, t := range open {
		before[t.id] = t
	}
	for _, t := range closing {
		voluntary += t.voluntary
		involuntary += t.involuntary
		old, known := before[t.id]
		if known && old.voluntary <= t.voluntary && old.involuntary <= t.involuntary {
			voluntary -= old.voluntary
			involuntary -= old.involuntary
		}
	}
	return voluntary, involuntary
}

// group adds up the usage of members, which are indexes of units, and splits their CPU time. For a quantity
// that some members lack, it gives the reason of the first of them.
func (w *worker) group(members []int, deltas []lab.Usage, splits []stat) lab.Usage {
	var total lab.Usage
	var ticks stat
	lacking := make(map[string][]int)
	for _, i := range members {
		d := deltas[i]
		total.Units++
		total.CPUSeconds += d.CPUSeconds
		total.VoluntaryContextSwitches += d.VoluntaryContextSwitches
		total.InvoluntaryContextSwitches += d.InvoluntaryContextSwitches
		total.Threads += d.Threads
		total.IdleCores += d.IdleCores
		total.PeakResidentBytes += d.PeakResidentBytes
		total.ReadBytes += d.ReadBytes
		total.WrittenBytes += d.WrittenBytes
		ticks.userTicks += splits[i].userTicks
		ticks.systemTicks += splits[i].systemTicks
		for metric := range d.Unavailable {
			lacking[metric] = append(lacking[metric], i)
		}
	}
	for metric, units := range lacking {
		first := slices.Min(units)
		reason := deltas[first].Unavailable[metric]
		if len(members) > 1 {
			reason = fmt.Sprintf("%d of %d units, first %s: %s", len(units), len(members),
				w.units[first].Name, reason)
		}
		note(&total.Unavailable, reason, metric)
	}
	split(&total, ticks)
	return total
}

// splitTicks is the number of ticks per unit that a split needs. The kernel counts whole ticks, so every
// unit of a group may lack up to one tick of either kind: with 20 ticks per unit, the error of user and
// system time is 5 % of the CPU time.
const splitTicks = 20

// split divides the exact CPU time into user and system time, in proportion to the kernel's ticks. If there
// are too few ticks, it notes that both times are unavailable.
func split(u *lab.Usage, ticks stat) {
	n := ticks.userTicks + ticks.systemTicks
	if n < int64(splitTicks*u.Units) {
		reason := fmt.Sprintf("%d ticks of %g s are too few to tell user from system time: %d units need %d",
			n, 1.0/ticksPerSecond, u.Units, splitTicks*u.Units)
		note(&u.Unavailable, reason, "user_seconds", "system_seconds")
		return
	}
	u.UserSeconds = u.CPUSeconds * float64(ticks.userTicks) / float64(n)
	u.SystemSeconds = u.CPUSeconds * float64(ticks.systemTicks) / float64(n)
}
