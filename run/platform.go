package run

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// platformMetering meters the daemons of a deployment's platform together with its units. If the platform
// cannot be metered, the reason is recorded, and the trial goes on.
type platformMetering struct {
	lab.Metering              // of the units
	daemons      lab.Metering // nil: there are none, or they cannot be metered
	cost         *lab.PlatformCost
	marked       bool // the first mark was made
}

// watchPlatform begins to meter the platform, beside the units.
func (j Job) watchPlatform(ctx context.Context, units lab.Metering) *platformMetering {
	cost := j.Deployment.PlatformCost()
	m := &platformMetering{Metering: units, cost: &cost}
	daemons, why := j.Deployment.Daemons()
	m.unmetered(why)
	if len(daemons) == 0 {
		return m
	}
	metering, err := j.Meter.Watch(ctx, daemons)
	if err != nil {
		m.unmetered(err.Error())
		return m
	}
	m.daemons = metering
	return m
}

// unmetered records the reason why the platform is not metered: the first one that is not empty.
func (m *platformMetering) unmetered(why string) {
	m.cost.Unmetered = cmp.Or(m.cost.Unmetered, why)
}

// Mark implements lab.Metering. It reads the units right before and right after the load, and the daemons
// outside of that.
func (m *platformMetering) Mark() error {
	first := !m.marked
	m.marked = true
	if first {
		m.markDaemons()
	}
	err := m.Metering.Mark()
	if !first {
		m.markDaemons()
	}
	return err
}

func (m *platformMetering) markDaemons() {
	if m.daemons == nil {
		return
	}
	if err := m.daemons.Mark(); err != nil {
		m.unmetered(err.Error())
	}
}

// Stop implements lab.Metering. It adds up the cost of the two meters themselves.
func (m *platformMetering) Stop() (lab.Metered, error) {
	used, err := m.Metering.Stop()
	if m.daemons == nil {
		return used, err
	}
	platform, failed := m.daemons.Stop()
	used.OwnCPUSeconds += platform.OwnCPUSeconds
	used.OwnWindowCPUSeconds += platform.OwnWindowCPUSeconds
	used.OwnShare += platform.OwnShare
	if failed != nil {
		m.unmetered(failed.Error())
	}
	if m.cost.Unmetered != "" {
		return used, err
	}
	m.cost.Used = &platform.Total
	m.cost.Parts = platform.Roles
	m.cost.Processes = platform.Processes
	for _, part := range slices.Sorted(maps.Keys(platform.Sources)) {
		m.cost.Source = platform.Sources[part] // daemons of one platform have the same source
	}
	return used, err
}
