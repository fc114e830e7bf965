package predict

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict/sim"
)

const (
	// fewUsers and mostUsers bound the search for the capacity.
	fewUsers, mostUsers = 64, 1 << 15
	// noGain is the growth of the throughput with twice the users below which it grows no more.
	noGain = 0.01
)

// bound is the highest rate of a placement in operations per second, its range, and the resource that limits
// it.
type bound struct {
	rate, low, high float64
	by              string
}

// explanation is a reason for the measured capacity of the system as it is: stores take this factor of their
// times at low load, and what that leaves unexplained changes the capacity of every placement by the factor
// correction.
type explanation struct{ stores, correction float64 }

// capacities returns the capacities of both placements, with the CPU times that users who never pause cause.
//
// If the capacity of the system as it is was measured, there are two explanations of what its CPU time leaves
// unexplained: the time at its stores, which the change leaves as it is; or something that grows with the CPU
// time, such as locks that are held meanwhile. The truth lies between them. The capacities that were measured
// in other placements check that.
func (a *Answer) capacities(ctx context.Context) (asIs, changed bound, err error) {
	q := a.Question
	users, rate, used := measuredCapacity(q.Model, q.MeasuredCores)
	m := q.Model.AtCapacity()
	hop := q.Hop.atCapacity(used)
	generator := q.Model.GeneratorAtCapacity()
	if hop == nil {
		hop = usualHop(m)
	}
	there := site{q.MeasuredCores, SharedStores, hop, generator}
	explanations := []explanation{{1, 1}}
	if users > 0 {
		if explanations, err = a.explain(ctx, m, there, users, rate); err != nil {
			return asIs, changed, err
		}
	}
	most := func(p placement) (bound, error) { return p.capacity(ctx, q.Operations/4, q.Seed) }
	asIs, err = explained(explanations, m, m.Units, q.siteWith(SharedStores, hop, generator), most)
	if err != nil {
		return asIs, changed, err
	}
	changed, err = explained(explanations, m, a.Units, q.siteWith(q.Change.Stores, hop, generator), most)
	if err != nil {
		return asIs, changed, err
	}
	there.stores = q.Change.Stores
	return asIs, changed, a.checkCapacities(ctx, explanations, m, there)
}

// explained returns the bound of a placement as the geometric mean over all explanations.
func explained(explanations []explanation, m model.Model, units []model.Unit, at site,
	most func(placement) (bound, error),
) (all bound, err error) {
	logs := 0.0
	for i, e := range explanations {
		placed, err := place(withStores(m, e.stores), units, at)
		if err != nil {
			return bound{}, err
		}
		of, err := most(placed)
		if err != nil {
			return bound{}, err
		}
		rate := e.correction * of.rate
		logs += math.Log(rate)
		if i == 0 {
			all = bound{low: rate, high: rate, by: of.by}
			continue
		}
		all.low = min(all.low, rate)
		all.high = max(all.high, rate)
		if of.by != all.by {
			all.by += " or " + of.by
		}
	}
	all.rate = math.Exp(logs / float64(len(explanations)))
	return all, nil
}

// explain returns the explanations of a measured capacity.
func (a *Answer) explain(ctx context.Context, m model.Model, at site, users int, measured float64,
) (all []explanation, err error) {
	q := a.Question
	simulated := func(factor float64, operations int) (float64, error) {
		placed, err := place(withStores(m, factor), m.Units, at)
		if err != nil {
			return 0, err
		}
		most, err := placed.throughput(ctx, users, operations, q.Seed)
		return most.rate, err
	}
	quickly := func(factor float64) (float64, error) { return simulated(factor, q.Operations/16) }
	if a.StoreFactor, err = storeFactor(8, quickly, measured); err != nil {
		return nil, err
	}
	factors := []float64{a.StoreFactor, 0}
	if m.CPU() == 0 {
		factors = factors[:1] // nothing but stores takes time
	}
	for _, factor := range factors {
		rate, err := simulated(factor, q.Operations/4)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			a.Capacity = Compared{Predicted: rate, Measured: measured}
		}
		all = append(all, explanation{factor, measured / rate})
	}
	return all, nil
}

// CapacityCheck compares the predicted with the measured capacity of another placement, in operations per
// second.
type CapacityCheck struct {
	Placement string
	Users     int // who never paused
	Capacity  Compared
}

// checkCapacities predicts the capacities that were measured in other placements than the system as it is.
// Those that need an unknown hop are left out.
func (a *Answer) checkCapacities(
	ctx context.Context, explanations []explanation, m model.Model, at site,
) error {
	q := a.Question
	for _, of := range Pooled(m.Measured) {
		if of.Users == 0 || of.Placement == "" {
			continue
		}
		units, err := (Change{Split: ParseGroups(of.Placement)}).Apply(m)
		if err != nil {
			return fmt.Errorf("measured with %d users: %w", of.Users, err)
		}
		most, err := explained(explanations, m, units, at, func(p placement) (bound, error) {
			return p.throughput(ctx, of.Users, q.Operations/4, q.Seed)
		})
		switch {
		case errors.Is(err, errUnknownHop):
			continue
		case overloaded(err):
			most.rate = 0
		case err != nil:
			return err
		}
		c := CapacityCheck{of.Placement, of.Users, Compared{most.rate, of.Rate}}
		_, right := c.Capacity.Judge(MarginCapacity, Gap{})
		a.CapacityChecks = append(a.CapacityChecks, c)
		a.CapacityWithheld = a.CapacityWithheld || !right
	}
	return nil
}

// worstCapacity returns the largest deviation in the checks of capacities.
func (a *Answer) worstCapacity() (most float64) {
	for _, c := range a.CapacityChecks {
		most = max(most, c.Capacity.deviation())
	}
	return most
}

// measuredCapacity returns the highest rate that users who never pause got of the system as it is, in the
// mean over the trials, how many users these were, and the share of the cores that it used then: less than
// all, if it waits for disks or locks. Without a measurement it is 0 users, and all cores.
func measuredCapacity(m model.Model, cores float64) (users int, rate, used float64) {
	used = 1
	for _, of := range Pooled(m.Measured) {
		isCapacity := of.Users > 0 && of.Placement == ""
		if isCapacity && of.Rate > rate {
			users = of.Users
			rate = of.Rate
			used = min(1, of.Rate*of.CPU.Mean.Seconds()/cores)
		}
	}
	return users, rate, used
}

// capacity returns the capacity of a placement: it doubles the users, who never think, until the throughput
// grows no more.
func (p placement) capacity(ctx context.Context, operations int, seed uint64) (most bound, err error) {
	for users := fewUsers; users <= mostUsers; users *= 2 {
		now, err := p.throughput(ctx, users, operations, seed)
		if err != nil {
			return bound{}, err
		}
		if now.rate < most.rate*(1+noGain) {
			return bound{rate: max(most.rate, now.rate), by: now.by}, nil
		}
		most.rate = now.rate
	}
	return bound{}, errors.New("the throughput grows without end: the model has no CPU time and no workers")
}

// throughput returns the operations per second that users who never think get, and what is used most.
func (p placement) throughput(ctx context.Context, users, operations int, seed uint64) (bound, error) {
	p.system.Loads = []sim.Load{{Users: users, Weights: p.system.Loads[0].Weights}}
	r, err := p.run(ctx, max(operations, 4*users), 0, seed)
	if err != nil {
		return bound{}, err
	}
	return bound{rate: float64(r.All.Times.Count) / r.Seconds, by: p.figures(r).busiest}, nil
}
