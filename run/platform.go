package run

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// platformMetering meters a deployment's platform at the marks of its units. A platform that cannot be
// metered is noted and spoils no trial.
type platformMetering struct {
	lab.Metering              // of the units
	daemons      lab.Metering // nil: none
	cost         *lab.PlatformCost
	marked       bool
}

// watchPlatform begins to meter the platform of a deployment whose units are ready.
func (j Job) watchPlatform(ctx context.Context, units lab.Metering) *platformMetering {
	cost := j.Deployment.PlatformCost()
	b := &platformMetering{Metering: units, cost: &cost}
	daemons, why := j.Deployment.Daemons()
	b.unmetered(why)
	if len(daemons) == 0 {
		return b
	}
	metering, err := j.Meter.Watch(ctx, daemons)
	if err != nil {
		b.unmetered(err.Error())
		return b
	}
	b.daemons = metering
	return b
}

// unmetered notes the first reason why the platform is not metered.
func (b *platformMetering) unmetered(why string) {
	b.cost.Unmetered = cmp.Or(b.cost.Unmetered, why)
}

// Mark implements lab.Metering. The units are read next to the load.
func (b *platformMetering) Mark() error {
	first := !b.marked
	b.marked = true
	if first {
		b.markDaemons()
	}
	err := b.Metering.Mark()
	if !first {
		b.markDaemons()
	}
	return err
}

func (b *platformMetering) markDaemons() {
	if b.daemons == nil {
		return
	}
	if err := b.daemons.Mark(); err != nil {
		b.unmetered(err.Error())
	}
}

// Stop implements lab.Metering. The use of both meters counts.
func (b *platformMetering) Stop() (lab.Metered, error) {
	used, err := b.Metering.Stop()
	if b.daemons == nil {
		return used, err
	}
	platform, failed := b.daemons.Stop()
	used.OwnCPUSeconds += platform.OwnCPUSeconds
	used.OwnWindowCPUSeconds += platform.OwnWindowCPUSeconds
	used.OwnShare += platform.OwnShare
	if failed != nil {
		b.unmetered(failed.Error())
	}
	if b.cost.Unmetered != "" {
		return used, err
	}
	b.cost.Used, b.cost.Parts, b.cost.Processes = &platform.Total, platform.Roles, platform.Processes
	for _, part := range slices.Sorted(maps.Keys(platform.Sources)) {
		b.cost.Source = platform.Sources[part]
	}
	return used, err
}
