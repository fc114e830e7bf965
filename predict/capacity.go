package predict

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict/sim"
)

const (
	// fewUsers and mostUsers bound the search for the capacity.
	fewUsers, mostUsers = 64, 1 << 15
	// noGain is the growth of the throughput with twice the users below which it grows no more.
	noGain = 0.01
)

// bound is the most operations per second of a placement, and what limits them.
type bound struct {
	rate float64
	by   string
}

// capacities returns the capacities of both placements, with the CPU times that users who never pause cause.
// If the capacity of the system as it is was measured, both are multiplied with measured / simulated: the
// load generator, and whatever else the model lacks, slow both down. Those of other placements check that.
func (a *Answer) capacities(ctx context.Context) (asIs, changed bound, err error) {
	q := a.Question
	users, rate, used := measuredCapacity(q.Model, q.MeasuredCores)
	m, hop := q.Model.AtCapacity(), q.Hop.crowded(used)
	if hop == nil {
		hop = usualHop(m)
	}
	before, err := place(m, m.Units, q.site(SharedStores, hop))
	if err != nil {
		return asIs, changed, err
	}
	after, err := place(m, a.Units, q.site(q.Change.Stores, hop))
	if err != nil {
		return asIs, changed, err
	}
	if asIs, err = before.capacity(ctx, q.Operations/4, q.Seed); err != nil {
		return asIs, changed, err
	}
	if changed, err = after.capacity(ctx, q.Operations/4, q.Seed); err != nil {
		return asIs, changed, err
	}
	correction := 1.0
	if users > 0 {
		there, err := place(m, m.Units, site{q.MeasuredCores, SharedStores, hop})
		if err != nil {
			return asIs, changed, err
		}
		simulated, _, err := there.crowded(ctx, users, q.Operations/4, q.Seed)
		if err != nil {
			return asIs, changed, err
		}
		a.Capacity = Compared{Predicted: simulated, Measured: rate}
		correction = rate / simulated
	}
	asIs.rate *= correction
	changed.rate *= correction
	return asIs, changed, a.checkCapacities(ctx, m, hop, correction)
}

// CapacityCheck is a capacity that was measured in another placement, in operations per second, beside the
// simulated one after the correction.
type CapacityCheck struct {
	Placement string
	Users     int // who never paused
	Capacity  Compared
}

// checkCapacities predicts the capacities that were measured in other placements than the system as it is.
// Those that need a hop that nobody knows are left out.
func (a *Answer) checkCapacities(ctx context.Context, m model.Model, hop *Hop, correction float64) error {
	q := a.Question
	for _, of := range Pooled(m.Measured) {
		if of.Users == 0 || of.Placement == "" {
			continue
		}
		units, err := (Change{Split: ParseGroups(of.Placement)}).Apply(m)
		if err != nil {
			return fmt.Errorf("measured with %d users: %w", of.Users, err)
		}
		placed, err := place(m, units, site{q.MeasuredCores, q.Change.Stores, hop})
		if errors.Is(err, errUnknownHop) {
			continue
		}
		if err != nil {
			return err
		}
		rate, _, err := placed.crowded(ctx, of.Users, q.Operations/4, q.Seed)
		if overloaded(err) {
			rate, err = 0, nil
		}
		if err != nil {
			return err
		}
		c := CapacityCheck{of.Placement, of.Users, Compared{correction * rate, of.Rate}}
		_, right := c.Capacity.Judge(MarginCapacity, Gap{})
		a.CapacityChecks, a.CapacityWithheld = append(a.CapacityChecks, c), a.CapacityWithheld || !right
	}
	return nil
}

// worstCapacity returns how far apart predicted and measured capacities are at most.
func (a *Answer) worstCapacity() (most float64) {
	for _, c := range a.CapacityChecks {
		most = max(most, c.Capacity.apart())
	}
	return most
}

// measuredCapacity returns the highest rate that users who never pause got of the system as it is, in the
// mean over the trials, how many users these were, and the share of the cores that it used then: less than
// all, if it waits for disks or locks. Without a measurement it is 0 users, and all cores.
func measuredCapacity(m model.Model, cores float64) (users int, rate, used float64) {
	used = 1
	for _, of := range Pooled(m.Measured) {
		if of.Users > 0 && of.Placement == "" && of.Rate > rate {
			users, rate, used = of.Users, of.Rate, min(1, of.Rate*of.CPU.Mean.Seconds()/cores)
		}
	}
	return users, rate, used
}

// capacity returns the capacity of a placement: users who never think are doubled until throughput grows no
// more.
func (p placement) capacity(ctx context.Context, operations int, seed uint64) (most bound, err error) {
	for users := fewUsers; users <= mostUsers; users *= 2 {
		now, by, err := p.crowded(ctx, users, operations, seed)
		if err != nil {
			return bound{}, err
		}
		if now < most.rate*(1+noGain) {
			return bound{max(most.rate, now), by}, nil
		}
		most.rate = now
	}
	return bound{}, errors.New("the throughput grows without end: the model has no CPU time and no workers")
}

// crowded returns the operations per second that users who never think get, and what is used most.
func (p placement) crowded(ctx context.Context, users, operations int, seed uint64,
) (rate float64, by string, err error) {
	p.system.Loads = []sim.Load{{Users: users, Weights: p.system.Loads[0].Weights}}
	r, err := p.run(ctx, max(operations, 4*users), 0, seed)
	if err != nil {
		return 0, "", err
	}
	return float64(r.All.Times.Count) / r.Seconds, p.figures(r).busiest, nil
}
