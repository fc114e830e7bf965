package ssh

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/lab"
)

// Meter implements lab.Deployment: each agent meters the units of its host, and the deployer's meter those of
// this host.
func (d *deployment) Meter() lab.Meter { return hostsMeter{d} }

// hostsMeter implements lab.Meter for units on several hosts.
type hostsMeter struct{ deployment *deployment }

// Watch implements lab.Meter.
func (m hostsMeter) Watch(ctx context.Context, units []lab.Unit) (lab.Metering, error) {
	d := m.deployment
	all := &hostsMetering{ctx: ctx, order: units, byUnit: map[string]lab.Metering{}}
	groups := make([][]lab.Unit, len(d.hosts)+1) // by host; this host is the last
	for _, unit := range units {
		at := len(d.hosts)
		if d.Named(unit.Name) != nil { // it runs on one of the hosts
			at = d.places[unit.Name]
		}
		groups[at] = append(groups[at], unit)
	}
	for i, group := range groups {
		if len(group) == 0 {
			continue
		}
		var metering lab.Metering
		var err error
		if i < len(d.hosts) {
			metering = &agentMetering{ctx, d.hosts[i]}
			err = d.hosts[i].do(ctx, "Watch", group)
		} else {
			metering, err = d.deployer.meter.Watch(ctx, group)
		}
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, metering)
		for _, unit := range group {
			all.byUnit[unit.Name] = metering
		}
	}
	return all, nil
}

// agentMetering implements lab.Metering by the agent of a host.
type agentMetering struct {
	ctx  context.Context
	host *host
}

// Mark implements lab.Metering.
func (m *agentMetering) Mark() error { return m.host.do(m.ctx, "Mark", agent.None{}) }

// Suspend implements lab.Metering.
func (m *agentMetering) Suspend(unit string) error {
	return m.host.do(m.ctx, "SuspendMetering", unit)
}

// Resume implements lab.Metering.
func (m *agentMetering) Resume(unit lab.Unit) error { return m.host.do(m.ctx, "ResumeMetering", unit) }

// Stop implements lab.Metering.
func (m *agentMetering) Stop() (used lab.Metered, err error) {
	used, err = call[lab.Metered](context.WithoutCancel(m.ctx), m.host, "Metered", agent.None{})
	for role, source := range used.Sources {
		used.Sources[role] = source + ", on each host"
	}
	return used, err
}

// hostsMetering implements lab.Metering on several hosts.
type hostsMetering struct {
	ctx    context.Context
	order  []lab.Unit              // as Watch got them, for the result
	parts  []lab.Metering          // of the hosts that have units
	byUnit map[string]lab.Metering // the part that meters a unit, by its name
}

// Mark implements lab.Metering: it marks all hosts at the same time.
func (m *hostsMetering) Mark() error {
	return fleet.ForAll(m.ctx, len(m.parts), m.parts, func(_ context.Context, part lab.Metering) error {
		return part.Mark()
	})
}

// Suspend implements lab.Metering.
func (m *hostsMetering) Suspend(unit string) error {
	if part, known := m.byUnit[unit]; known {
		return part.Suspend(unit)
	}
	return fmt.Errorf("unit %q is not metered", unit)
}

// Resume implements lab.Metering.
func (m *hostsMetering) Resume(unit lab.Unit) error {
	if part, known := m.byUnit[unit.Name]; known {
		return part.Resume(unit)
	}
	return fmt.Errorf("unit %q is not metered", unit.Name)
}

// Stop implements lab.Metering. The memory of several hosts is the sum of their peaks, which may have been at
// different times.
func (m *hostsMetering) Stop() (lab.Metered, error) {
	used := make([]lab.Metered, len(m.parts))
	err := fleet.ForAll(m.ctx, len(m.parts), m.parts, func(_ context.Context, part lab.Metering) (err error) {
		used[slices.Index(m.parts, part)], err = part.Stop()
		return err
	})
	if err != nil {
		return lab.Metered{}, err
	}
	sum := used[0]
	for _, more := range used[1:] {
		sum = merge(sum, more)
	}
	position := func(u lab.UnitUsage) int {
		return slices.IndexFunc(m.order, func(o lab.Unit) bool { return o.Name == u.Unit.Name })
	}
	slices.SortFunc(sum.Units, func(a, b lab.UnitUsage) int { return position(a) - position(b) })
	return sum, nil
}

// merge returns the sum of the usage on two groups of hosts. Of their windows, which cover the same
// time, it takes the longer one.
func merge(a, b lab.Metered) lab.Metered {
	sum := lab.Metered{
		Total: fleet.Plus(a.Total, b.Total), Roles: maps.Clone(a.Roles), Sources: maps.Clone(a.Sources),
		Units: slices.Concat(a.Units, b.Units), Processes: slices.Concat(a.Processes, b.Processes),
		Samples: samples(a.Samples, b.Samples), Course: courses(a.Course, b.Course),
		OwnCPUSeconds:       a.OwnCPUSeconds + b.OwnCPUSeconds,
		OwnWindowCPUSeconds: a.OwnWindowCPUSeconds + b.OwnWindowCPUSeconds,
		WindowSeconds:       max(a.WindowSeconds, b.WindowSeconds), IdleSeconds: max(a.IdleSeconds, b.IdleSeconds),
		OwnShare: a.OwnShare + b.OwnShare,
		Notes:    slices.Concat(a.Notes, b.Notes),
	}
	for role, used := range b.Roles {
		if before, both := sum.Roles[role]; both {
			used = fleet.Plus(before, used)
		}
		sum.Roles[role] = used
	}
	maps.Copy(sum.Sources, b.Sources)
	return sum
}

// courses returns the sum of two hosts' courses, at the points of a. To each point it adds the first point of
// b that ends no earlier, or b's last point.
func courses(a, b *lab.UsageCourse) *lab.UsageCourse {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := &lab.UsageCourse{End: a.End, Cores: slices.Clone(a.Cores), Memory: slices.Clone(a.Memory),
		Unavailable: a.Unavailable}
	if sum.Unavailable == nil {
		sum.Unavailable = b.Unavailable
	}
	if len(b.Memory) == 0 {
		sum.Memory = nil
	}
	for i, end := range a.End {
		at, _ := slices.BinarySearch(b.End, end)
		at = min(at, len(b.End)-1)
		sum.Cores[i] += b.Cores[at]
		if sum.Memory != nil {
			sum.Memory[i] += b.Memory[at]
		}
	}
	return sum
}

// samples returns the sum of two hosts' samples, at the times of a. To each sample it adds the last one that
// b had by then.
func samples(a, b []lab.UsageSample) []lab.UsageSample {
	sum := slices.Clone(a)
	next := 0
	last := lab.UsageSample{}
	for i, sample := range sum {
		for next < len(b) && b[next].Seconds <= sample.Seconds {
			last = b[next]
			next++
		}
		sum[i].CPUSeconds += last.CPUSeconds
		sum[i].MemoryBytes += last.MemoryBytes
	}
	return sum
}
