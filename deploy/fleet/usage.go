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

// usageAtOnce is the number of units that are asked at the same time.
const usageAtOnce = 64

// SelfMeter returns a meter that asks the units themselves over their control channels, for hosts of which
// nothing else can be read. Foreign units are not metered.
func (s *Supervisor) SelfMeter() lab.Meter { return selfMeter{s} }

type selfMeter struct{ units *Supervisor }

// Watch implements lab.Meter.
func (m selfMeter) Watch(ctx context.Context, units []lab.Unit) (lab.Metering, error) {
	metering := &selfMetering{ctx: ctx, asks: m.units, units: units, former: map[string]former{}}
	said, err := metering.read()
	metering.start = selfMark{time.Now(), said}
	return metering, err
}

// selfMetering implements lab.Metering by two marks.
type selfMetering struct {
	ctx   context.Context
	asks  *Supervisor
	units []lab.Unit
	// start holds the first answers: usage from there to the first mark is idle usage.
	start  selfMark
	mu     sync.Mutex
	marks  []selfMark
	former map[string]former // lives that were ended between the marks, by unit
	notes  []string
}

// former holds the usage of a unit's former lives between the marks.
type former struct {
	used  lab.Usage
	began *lab.UsageAnswer // of the present one
	away  bool             // there is no present one yet
}

type selfMark struct {
	at   time.Time
	said []*lab.UsageAnswer // by unit; nil: it cannot tell
}

// Mark implements lab.Metering.
func (m *selfMetering) Mark() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	said, err := m.read()
	m.marks = append(m.marks, selfMark{time.Now(), said})
	return err
}

// read asks all units at once, except those that were killed and are not running again yet.
func (m *selfMetering) read() ([]*lab.UsageAnswer, error) {
	said := make([]*lab.UsageAnswer, len(m.units))
	group, ctx := errgroup.WithContext(m.ctx)
	group.SetLimit(usageAtOnce)
	for i, unit := range m.units {
		u := m.asks.Named(unit.Name)
		if u == nil || u.Spec.Foreign || m.former[unit.Name].away {
			continue
		}
		group.Go(func() (err error) {
			said[i], err = u.askUsage(ctx)
			return err
		})
	}
	return said, group.Wait()
}

func (u *Unit) askUsage(ctx context.Context) (*lab.UsageAnswer, error) {
	var answer lab.UsageAnswer
	if _, err := u.ask(ctx, lab.CommandUsage, u.usage, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Suspend implements lab.Metering. It asks the unit now, since nobody can tell afterwards.
func (m *selfMetering) Suspend(unit string) error {
	return m.meanwhile(unit, func(i int, said *lab.UsageAnswer) {
		m.former[unit] = former{used: m.used(i, said), began: &lab.UsageAnswer{}, away: true}
		m.notes = append(m.notes,
			fmt.Sprintf("unit %s was asked for the last time %.3f s after metering began and then killed: "+
				"what it used between its answer and its end is in no figure", unit, time.Since(m.start.at).Seconds()))
	})
}

// Resume implements lab.Metering. All usage of the new life counts, unless it begins after the load.
func (m *selfMetering) Resume(unit lab.Unit) error {
	m.mu.Lock()
	closed := len(m.marks) == 2
	m.mu.Unlock()
	if closed {
		return nil
	}
	return m.meanwhile(unit.Name, func(_ int, said *lab.UsageAnswer) {
		life := m.former[unit.Name]
		life.began.MemoryBytes, life.away = said.MemoryBytes, false
		m.former[unit.Name] = life
	})
}

// used returns what a unit has used since the first mark, in all its lives.
func (m *selfMetering) used(i int, said *lab.UsageAnswer) lab.Usage {
	before, ended := m.former[m.units[i].Name]
	if !ended {
		return between(m.marks[0].said[i], said)
	}
	if before.away {
		return before.used
	}
	return lives(before.used, between(before.began, said))
}

// meanwhile asks a unit between the two marks, unless it is foreign.
func (m *selfMetering) meanwhile(unit string, note func(i int, said *lab.UsageAnswer)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.units, func(u lab.Unit) bool { return u.Name == unit })
	if i < 0 || len(m.marks) != 1 {
		return fmt.Errorf("unit %s is not metered at this moment", unit)
	}
	u := m.asks.Named(unit)
	if u == nil || u.Spec.Foreign {
		return nil
	}
	said, err := u.askUsage(m.ctx)
	if err == nil {
		note(i, said)
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
		"nothing of its node can be read; " +
		"memory at the marks only"
	result := lab.Metered{
		Roles: map[string]lab.Usage{}, Sources: map[string]string{},
		WindowSeconds: m.marks[1].at.Sub(m.marks[0].at).Seconds(), Notes: m.notes,
	}
	idle := m.marks[0].at.Sub(m.start.at)
	if idle >= lab.ShortestIdle {
		result.IdleSeconds = idle.Seconds()
	}
	for i, unit := range m.units {
		if unit.Role != lab.RoleGenerator {
			const why = "units that say themselves what they use are asked at the marks only"
			result.Course = &lab.UsageCourse{End: []float64{},
				Unavailable: map[string]string{"CPU": why, "memory": why}}
		}
		used := m.used(i, m.marks[1].said[i])
		if result.IdleSeconds > 0 {
			used.IdleCores = between(m.start.said[i], m.marks[0].said[i]).CPUSeconds / result.IdleSeconds
		}
		metered := lab.UnitUsage{Unit: unit, Usage: used}
		if said := m.start.said[i]; said != nil {
			metered.Host = said.Host
		}
		result.Units = append(result.Units, metered)
		result.Total, result.Roles[unit.Role] = Plus(result.Total, used), Plus(result.Roles[unit.Role], used)
		result.Sources[unit.Role] = source
	}
	return result, nil
}

// between returns what a unit has used from one answer to another.
func between(open, closing *lab.UsageAnswer) lab.Usage {
	if open == nil || closing == nil {
		const why = "it is no unit of ours, and nothing of its node can be read"
		return lab.Usage{Units: 1, Unavailable: map[string]string{"cpu_seconds": why, "peak_memory_bytes": why}}
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

// lives returns what a unit has used in two lives, one after the other.
func lives(former, present lab.Usage) lab.Usage {
	both := Plus(former, present)
	both.Units, both.Threads, both.MeanMemoryBytes = 1, present.Threads, present.MeanMemoryBytes
	both.PeakMemoryBytes = max(former.PeakMemoryBytes, present.PeakMemoryBytes)
	both.PeakResidentBytes = max(former.PeakResidentBytes, present.PeakResidentBytes)
	return both
}

// Plus adds up the usage of units. Memory is that at the marks, where all units are read at the same moment.
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
