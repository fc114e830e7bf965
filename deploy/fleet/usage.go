package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/lab"
)

// usageAtOnce bounds the number of units that are asked at the same time.
const usageAtOnce = 64

// SelfMeter returns a meter that asks the units themselves over their control connections, for hosts whose
// /proc and cgroups cannot be read. Foreign units are not metered.
func (s *Supervisor) SelfMeter() lab.Meter { return selfMeter{s} }

// selfMeter implements lab.Meter by questions to units.
type selfMeter struct{ supervisor *Supervisor }

// Watch implements lab.Meter.
func (m selfMeter) Watch(ctx context.Context, units []lab.Unit) (lab.Metering, error) {
	metering := &selfMetering{ctx: ctx, supervisor: m.supervisor, units: units, former: map[string]former{}}
	answers, err := metering.read()
	metering.start = selfMark{time.Now(), answers}
	return metering, err
}

// selfMetering implements lab.Metering by two marks.
type selfMetering struct {
	ctx        context.Context
	supervisor *Supervisor
	units      []lab.Unit
	// start holds the answers at Watch: usage from there to the first mark is idle usage.
	start  selfMark
	mu     sync.Mutex
	marks  []selfMark
	former map[string]former // lives that were ended between the marks, by unit
	notes  []string
}

// former holds the usage of a unit's former lives between the marks.
type former struct {
	used  lab.Usage
	began *lab.UsageAnswer // at the start of the present life
	away  bool             // there is no present life yet
}

// selfMark holds the answers of all units at one moment.
type selfMark struct {
	at      time.Time
	answers []*lab.UsageAnswer // in the order of the units; nil: not asked
}

// Mark implements lab.Metering.
func (m *selfMetering) Mark() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	answers, err := m.read()
	m.marks = append(m.marks, selfMark{time.Now(), answers})
	return err
}

// read asks all units of ours at once, except those that were killed and are not running again yet.
func (m *selfMetering) read() ([]*lab.UsageAnswer, error) {
	answers := make([]*lab.UsageAnswer, len(m.units))
	group, ctx := errgroup.WithContext(m.ctx)
	group.SetLimit(usageAtOnce)
	for i, unit := range m.units {
		u := m.supervisor.Named(unit.Name)
		if u == nil || u.Spec.Foreign || m.former[unit.Name].away {
			continue
		}
		group.Go(func() (err error) {
			answers[i], err = u.askUsage(ctx)
			return err
		})
	}
	err := group.Wait()
	return answers, err
}

// askUsage asks the unit for its usage.
func (u *Unit) askUsage(ctx context.Context) (*lab.UsageAnswer, error) {
	var answer lab.UsageAnswer
	if _, err := u.ask(ctx, lab.CommandUsage, u.usage, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Suspend implements lab.Metering. It asks the unit now, because a killed unit cannot answer.
func (m *selfMetering) Suspend(unit string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.askBetweenMarks(unit, func(i int, answer *lab.UsageAnswer) {
		// The next life counts from zero.
		m.former[unit] = former{used: m.used(i, answer), began: &lab.UsageAnswer{}, away: true}
		m.notes = append(m.notes,
			fmt.Sprintf("unit %s was asked for the last time %.3f s after metering began and then killed: "+
				"what it used between its answer and its end is in no figure", unit, time.Since(m.start.at).Seconds()))
	})
}

// Resume implements lab.Metering. All usage of the new life counts, unless it begins after the load.
func (m *selfMetering) Resume(unit lab.Unit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.marks) == 2 {
		return nil
	}
	return m.askBetweenMarks(unit.Name, func(_ int, answer *lab.UsageAnswer) {
		before := m.former[unit.Name]
		// Memory is no counter: the new life begins with what it has now.
		before.began.MemoryBytes = answer.MemoryBytes
		before.away = false
		m.former[unit.Name] = before
	})
}

// used returns the usage of the i-th unit since the first mark, in all its lives. answer is its latest.
func (m *selfMetering) used(i int, answer *lab.UsageAnswer) lab.Usage {
	before, ended := m.former[m.units[i].Name]
	if !ended {
		return between(m.marks[0].answers[i], answer)
	}
	if before.away {
		return before.used
	}
	return sumOfLives(before.used, between(before.began, answer))
}

// askBetweenMarks asks a unit between the two marks, unless it is foreign, and calls note with its index and
// answer. The caller holds mu.
func (m *selfMetering) askBetweenMarks(unit string, note func(i int, answer *lab.UsageAnswer)) error {
	i := slices.IndexFunc(m.units, func(u lab.Unit) bool { return u.Name == unit })
	if i < 0 || len(m.marks) != 1 {
		return fmt.Errorf("unit %s is not metered at this moment", unit)
	}
	u := m.supervisor.Named(unit)
	if u == nil || u.Spec.Foreign {
		return nil
	}
	answer, err := u.askUsage(m.ctx)
	if err == nil {
		note(i, answer)
	}
	return err
}

// Stop implements lab.Metering.
func (m *selfMetering) Stop() (lab.Metered, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.marks) != 2 {
		return lab.Metered{}, errors.New("metering has ended without two marks")
	}
	const source = "what the unit's process says of itself (its CPU clock, getrusage and /proc/self), as " +
		"nothing of its node can be read; memory at the marks only"
	result := lab.Metered{
		Roles: map[string]lab.Usage{}, Sources: map[string]string{},
		WindowSeconds: m.marks[1].at.Sub(m.marks[0].at).Seconds(), Notes: m.notes,
	}
	idle := m.marks[0].at.Sub(m.start.at)
	if idle >= lab.ShortestIdle {
		result.IdleSeconds = idle.Seconds()
	}
	isOfSystem := func(unit lab.Unit) bool { return unit.Role != lab.RoleGenerator }
	if slices.ContainsFunc(m.units, isOfSystem) {
		const why = "units that say themselves what they use are asked at the marks only"
		result.Course = &lab.UsageCourse{End: []float64{},
			Unavailable: map[string]string{"CPU": why, "memory": why}}
	}
	for i, unit := range m.units {
		used := m.used(i, m.marks[1].answers[i])
		if result.IdleSeconds > 0 {
			used.IdleCores = between(m.start.answers[i], m.marks[0].answers[i]).CPUSeconds / result.IdleSeconds
		}
		metered := lab.UnitUsage{Unit: unit, Usage: used}
		if answer := m.start.answers[i]; answer != nil {
			metered.Host = answer.Host
		}
		result.Units = append(result.Units, metered)
		result.Total = Plus(result.Total, used)
		result.Roles[unit.Role] = Plus(result.Roles[unit.Role], used)
		result.Sources[unit.Role] = source
	}
	return result, nil
}

// between returns the usage of a unit from one answer to another; nil answers make it unavailable.
func between(open, closing *lab.UsageAnswer) lab.Usage {
	if open == nil || closing == nil {
		return Unmetered("it is no unit of ours, and nothing of its node can be read")
	}
	seconds := func(nanoseconds int64) float64 { return time.Duration(nanoseconds).Seconds() }
	return lab.Usage{
		Units: 1, CPUSeconds: seconds(closing.CPUNanoseconds - open.CPUNanoseconds),
		UserSeconds:                seconds(closing.UserNanoseconds - open.UserNanoseconds),
		SystemSeconds:              seconds(closing.SystemNanoseconds - open.SystemNanoseconds),
		VoluntaryContextSwitches:   closing.Voluntary - open.Voluntary,
		InvoluntaryContextSwitches: closing.Involuntary - open.Involuntary,
		Threads:                    int(closing.Threads),
		PeakMemoryBytes:            max(open.MemoryBytes, closing.MemoryBytes),
		MeanMemoryBytes:            (open.MemoryBytes + closing.MemoryBytes) / 2,
		PeakResidentBytes:          closing.LargestBytes,
		ReadBytes:                  closing.ReadBytes - open.ReadBytes,
		WrittenBytes:               closing.WrittenBytes - open.WrittenBytes,
	}
}

// Unmetered returns the usage of a unit without any figure, with the reason.
func Unmetered(why string) lab.Usage {
	used := lab.Usage{Units: 1, Unavailable: map[string]string{}}
	for _, figure := range []string{"cpu_seconds", "user_seconds", "system_seconds",
		"voluntary_context_switches", "involuntary_context_switches", "threads", "idle_cores",
		"peak_memory_bytes", "mean_memory_bytes", "peak_resident_bytes", "read_bytes", "written_bytes"} {
		used.Unavailable[figure] = why
	}
	return used
}

// sumOfLives returns the usage of a unit in two lives, one after the other. Threads and mean memory are those
// of the present life, and peaks those of the larger one.
func sumOfLives(former, present lab.Usage) lab.Usage {
	both := Plus(former, present)
	both.Units = 1
	both.Threads = present.Threads
	both.MeanMemoryBytes = present.MeanMemoryBytes
	both.PeakMemoryBytes = max(former.PeakMemoryBytes, present.PeakMemoryBytes)
	both.PeakResidentBytes = max(former.PeakResidentBytes, present.PeakResidentBytes)
	return both
}

// Plus returns the sum of the usage of units. The sum of their peaks of memory is an upper bound: they may
// have been at different times.
func Plus(a, b lab.Usage) lab.Usage {
	sum := lab.Usage{
		Units: a.Units + b.Units, CPUSeconds: a.CPUSeconds + b.CPUSeconds,
		UserSeconds:                a.UserSeconds + b.UserSeconds,
		SystemSeconds:              a.SystemSeconds + b.SystemSeconds,
		VoluntaryContextSwitches:   a.VoluntaryContextSwitches + b.VoluntaryContextSwitches,
		InvoluntaryContextSwitches: a.InvoluntaryContextSwitches + b.InvoluntaryContextSwitches,
		Threads:                    a.Threads + b.Threads,
		PeakMemoryBytes:            a.PeakMemoryBytes + b.PeakMemoryBytes,
		MeanMemoryBytes:            a.MeanMemoryBytes + b.MeanMemoryBytes,
		PeakResidentBytes:          a.PeakResidentBytes + b.PeakResidentBytes, IdleCores: a.IdleCores + b.IdleCores,
		ReadBytes: a.ReadBytes + b.ReadBytes, WrittenBytes: a.WrittenBytes + b.WrittenBytes,
	}
	if len(a.Unavailable)+len(b.Unavailable) > 0 {
		sum.Unavailable = map[string]string{}
		maps.Copy(sum.Unavailable, a.Unavailable)
		maps.Copy(sum.Unavailable, b.Unavailable)
	}
	return sum
}
