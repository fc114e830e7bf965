package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict/sim"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// Question asks a model about a change at a rate.
type Question struct {
	Model  model.Model
	Change Change
	Rate   float64 // operations per second
	Cores  float64 // of the host that all units share
	// MeasuredCores are those of the host on which the model was measured.
	MeasuredCores float64
	// Hop is the cost of calls between units where the model has none; nil: the mean of the model's own hops.
	Hop  *Hop
	Seed uint64
	// Operations is the number of operations in the simulation of a figure. Simulations that are repeated, as in
	// searches, rankings and resampled models, have a fraction of it.
	Operations int
	// Always gives an answer even where it would be withheld, unless the system cannot keep up: benchmarks
	// measure the errors of what is withheld.
	Always bool
	// Objective has to hold at the highest rate that is searched for. Without limits nothing is searched.
	Objective Objective
	// Past widens the intervals of the answer.
	Past Past
}

// Outcome holds the figures of the system in one placement. Times are in seconds.
type Outcome struct {
	figures                           // of one simulation, at the rate of the question
	Median, P99, CPU, Cores, Capacity stats.Estimate
	CapacityBy                        string // the most used resource at the capacity
	Units                             []lab.PredictedUnit
	Hops                              float64 // calls of an operation from one unit to another
	// Held is the highest rate at which the objective of the question holds, where it has one.
	Held Held
}

// Answer is a prediction, or why there is none.
type Answer struct {
	Question         Question
	AsIs, Changed    Outcome
	Median, P99, CPU stats.Estimate       // changed / as it is
	Causes           []lab.PredictedCause // of the mean response time
	CPUCauses        []lab.PredictedCause
	Checks           []Check
	Limits           []string // what is not modelled
	// StoreFactorAtRate multiplies the times at stores, so that the system as it is has the measured response
	// time at the rate of the question. StoreFactor does so for the measured capacity. Both are 1 if stores do
	// not explain what was measured.
	StoreFactorAtRate, StoreFactor float64
	// Capacity compares the simulated with the measured capacity of the system as it is. Their ratio corrects
	// the capacities of the answer.
	Capacity Compared
	// CapacityChecks are those of capacities that were measured in other placements.
	CapacityChecks []CapacityCheck
	// Withheld says why there is no answer. TailWithheld is set if there is none for the 99th percentile alone,
	// CapacityWithheld if there is none for the capacities.
	Withheld         []string
	TailWithheld     bool
	CapacityWithheld bool
	Units            []model.Unit // after the change
	Hop              *Hop
}

// rated returns the model with its CPU times at the rate of the question.
func (q Question) rated() model.Model { return q.Model.AtRate(q.Rate, q.Model.RatedCPU()) }

// used returns the share of the cores that the system as it is uses at the rate of the question.
func (q Question) used() float64 { return min(1, q.Rate*q.rated().CPU()/q.Cores) }

// site returns the site of the answer, with the load generator at the rate of the question.
func (q Question) site(stores Stores, defaultHop *Hop) site {
	return q.siteWith(stores, defaultHop, q.Model.GeneratorAt(q.Rate))
}

// siteWith returns the site of the answer with a load generator that takes this CPU time for an operation. It
// takes none if the host is not that of the measurements.
func (q Question) siteWith(stores Stores, defaultHop *Hop, generator float64) site {
	if q.Cores != q.MeasuredCores {
		generator = 0
	}
	return site{q.Cores, stores, defaultHop, generator}
}

// overloaded reports whether a simulation ended because the system cannot keep up.
func overloaded(err error) bool {
	return errors.Is(err, sim.ErrOverload) || errors.Is(err, sim.ErrStuck)
}

// Predict answers a question. It withholds the answer if its own checks fail (see Question.Always). An error
// is a mistake in the question, or the end of ctx.
func Predict(ctx context.Context, q Question) (Answer, error) {
	a := Answer{Question: q}
	units, err := q.Change.Apply(q.Model)
	if err != nil {
		return a, err
	}
	asIs, changed, err := a.prepare(ctx, units)
	if err != nil {
		return a, err
	}
	a.Limits = append(a.Limits, a.capacityLimits()...)
	before, err := a.play(ctx, "as it is", asIs)
	if err != nil {
		return a, err
	}
	after, err := a.play(ctx, "with the change", changed)
	if err != nil {
		return a, err
	}
	overload := len(a.Withheld) > 0
	a.withhold(before, after)
	isWithheld := len(a.Withheld) > 0 && !q.Always
	if overload || isWithheld {
		return a, nil
	}
	err = a.conclude(ctx, asIs, changed, before, after)
	return a, err
}

// prepare fills in the units after the change, the hop, the factor of the times at stores, the self-check and
// the limits. It returns both placements.
func (a *Answer) prepare(ctx context.Context, units []model.Unit) (asIs, changed placement, err error) {
	q := a.Question
	a.Units = units
	rated := q.rated()
	if a.Hop = q.Hop.at(q.used()); a.Hop == nil {
		a.Hop = usualHop(rated)
	}
	// A change whose hops are unknown is refused before anything is simulated.
	if _, err = place(rated, a.Units, q.site(q.Change.Stores, a.Hop)); err != nil {
		return asIs, changed, err
	}
	if a.StoreFactorAtRate, err = q.storesAt(ctx, q.Model, q.Rate, a.Hop, q.Seed, q.Operations/2); err != nil {
		return asIs, changed, err
	}
	rated = withStores(rated, a.StoreFactorAtRate)
	if asIs, err = place(rated, rated.Units, q.site(SharedStores, a.Hop)); err != nil {
		return asIs, changed, err
	}
	if changed, err = place(rated, a.Units, q.site(q.Change.Stores, a.Hop)); err != nil {
		return asIs, changed, err
	}
	a.Checks, err = q.checks(ctx, a.Hop)
	a.Limits = a.limits()
	return asIs, changed, err
}

// play simulates a placement. If the system cannot keep up, it notes that as a reason to withhold the answer.
func (a *Answer) play(ctx context.Context, name string, p placement) (figures, error) {
	f, err := p.play(ctx, a.Question.Rate, a.Question.Operations, a.Question.Seed)
	if overloaded(err) {
		a.Withheld = append(a.Withheld, fmt.Sprintf("the system %s: %v", name, err))
		return f, nil
	}
	return f, err
}

// withhold notes the reasons to withhold the answer. simulated holds the figures of both placements.
func (a *Answer) withhold(simulated ...figures) {
	add := func(reason string) {
		if reason != "" && !slices.Contains(a.Withheld, reason) {
			a.Withheld = append(a.Withheld, reason)
		}
	}
	add(cpuProblem(a.Question.Model))
	if len(a.Checks) == 0 {
		add("the model holds nothing that was measured, so nothing says whether its predictions are right")
	}
	for _, c := range a.Checks {
		if beyond, passed := c.judge(); c.Decisive && !passed {
			add(beyond)
		}
	}
	for _, f := range simulated {
		if f.utilization > MostUsed {
			add(fmt.Sprintf("%s would be used to %.0f %%: beyond %.0f %% small errors of the model become large "+
				"ones of its answers", f.busiest, 100*f.utilization, 100*MostUsed))
		}
	}
	a.TailWithheld = slices.ContainsFunc(a.Checks, func(c Check) bool {
		return c.Decisive && math.Abs(c.Tail.Error()) > MarginTail
	})
}

// conclude computes the figures with their intervals.
func (a *Answer) conclude(ctx context.Context, asIs, changed placement, before, after figures) error {
	q := a.Question
	capacity, changedCapacity, err := a.capacities(ctx)
	if overloaded(err) {
		a.Withheld = append(a.Withheld, fmt.Sprintf("at its capacity: %v", err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("capacity: %w", err)
	}
	replicates, err := a.replicated(ctx)
	if overloaded(err) {
		a.Withheld = append(a.Withheld, fmt.Sprintf("within the errors of the model: %v", err))
		return nil
	}
	if err != nil {
		return err
	}
	if low := min(capacity.low, changedCapacity.low); a.Capacity.Measured > 0 && q.Rate > MostUsed*low {
		a.Withheld = append(a.Withheld, fmt.Sprintf("the capacity may be as low as %s, and %g/s is %.0f %% of it: "+
			"beyond %.0f %% small errors of the model become large ones of its answers", figure.Amount(low, "1/s"),
			q.Rate, 100*q.Rate/low, 100*MostUsed))
		if !q.Always {
			return nil
		}
	}
	for _, side := range []struct {
		placement
		capacity bound
		f        figures
		pick     func(pair) figures // of a replicate, the figures of this placement
		to       *Outcome
	}{
		{asIs, capacity, before, func(p pair) figures { return p.asIs }, &a.AsIs},
		{changed, changedCapacity, after, func(p pair) figures { return p.changed }, &a.Changed},
	} {
		*side.to, err = a.outcome(ctx, side.placement, side.capacity, side.f, side.pick, replicates)
		if err != nil {
			return err
		}
	}
	time, tail, cpu := worst(a.Checks)
	ratio := func(of func(figures) float64, residual float64) stats.Estimate {
		value := of(after) / of(before)
		return replicates.around(value, func(p pair) float64 { return of(p.changed) / of(p.asIs) }, residual)
	}
	a.Median = ratio(func(f figures) float64 { return f.median }, time)
	a.P99 = ratio(func(f figures) float64 { return f.p99 }, tail)
	a.CPU = ratio(func(f figures) float64 { return f.cpu }, cpu)
	a.widen()
	a.causes()
	return replicates.err
}

// outcome returns the figures of a placement with their intervals. pick selects those of a replicate.
func (a *Answer) outcome(ctx context.Context, placed placement, capacity bound, f figures,
	pick func(pair) figures, replicates *sample,
) (o Outcome, err error) {
	q := a.Question
	o = Outcome{figures: f, Hops: placed.hops, CapacityBy: capacity.by}
	time, tail, cpu := worst(a.Checks)
	o.Median = replicates.around(f.median, func(p pair) float64 { return pick(p).median }, time)
	o.P99 = replicates.around(f.p99, func(p pair) float64 { return pick(p).p99 }, tail)
	o.CPU = replicates.around(f.cpu, func(p pair) float64 { return pick(p).cpu }, cpu)
	o.Cores = replicates.around(f.cores, func(p pair) float64 { return pick(p).cores }, cpu)
	o.Capacity = replicates.around(capacity.rate, func(p pair) float64 { return p.attainable(pick(p)) },
		max(cpu, a.worstCapacity()))
	// The explanations of the measured capacity differ: the interval holds what each of them predicts.
	o.Capacity.Low *= capacity.low / capacity.rate
	o.Capacity.High *= capacity.high / capacity.rate
	for i, name := range placed.units {
		o.Units = append(o.Units, lab.PredictedUnit{Unit: name, Cores: f.units[i]})
	}
	if replicates.err != nil || len(q.Objective.Limits) == 0 {
		return o, replicates.err
	}
	o.Held, err = a.held(ctx, placed, capacity, f, pick, replicates)
	return o, err
}

// causes divides the changes of the mean response time and of the CPU time.
func (a *Answer) causes() {
	words := [partCount]string{ownCPU: "the components' own CPU time", ownWait: "the components' own waiting",
		storeTime: "stores", hopCPU: "hops: CPU time of both sides",
		hopWait: "hops: on the way", contention: "waiting for a processor",
		queueing: "waiting for a worker of a unit or store"}
	add := func(causes *[]lab.PredictedCause, what string, before, after float64) {
		if before > 0 || after > 0 {
			*causes = append(*causes, lab.PredictedCause{What: what, AsIs: before, Change: after - before})
		}
	}
	for part, what := range words {
		add(&a.Causes, what, a.AsIs.parts[part], a.Changed.parts[part])
		add(&a.CPUCauses, what, a.AsIs.cpuParts[part], a.Changed.cpuParts[part])
	}
}
