package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/stats"
)

// confidence is the level of the intervals.
const confidence = 0.9

// resampled returns the model as other samples of the same sizes might have made it: each mean with n values
// behind it is moved by a normal draw with its standard error, on the log scale (parametric bootstrap; Efron
// and Tibshirani 1993, section 6.5). So are counts that are not whole; whole ones are taken to be exact.
// Guesses stay as they are. Of the measurements of the whole system, each rate gets as many as it has, drawn
// from them with replacement.
func resampled(m model.Model, random *rand.Rand) model.Model {
	move := func(d *model.Distribution) {
		if isSampled(d.N, d.Source) {
			relative := variation(*d) / math.Sqrt(float64(d.N))
			factor := math.Exp(relative * random.NormFloat64())
			d.Mean = time.Duration(float64(d.Mean) * factor)
		}
	}
	m.Measured = redrawn(m.Measured, random)
	for i := range m.Measured {
		move(&m.Measured[i].CPU)
	}
	return m.Rewritten(func(c *model.Call) {
		move(&c.CPU)
		move(&c.Wait)
		move(&c.Background)
		if c.Hop != nil {
			move(&c.Hop.CPU)
			move(&c.Hop.Wait)
		}
		for i := range c.Visits {
			move(&c.Visits[i].CPU)
			move(&c.Visits[i].Wait)
		}
		if _, fraction := math.Modf(c.Count); fraction > 0 && isSampled(c.N, c.Source) {
			shift := random.NormFloat64() / math.Sqrt(float64(c.N))
			c.Count *= math.Exp(shift)
		}
	})
}

// isSampled reports whether a number comes from n measured values, and not from a guess.
func isSampled(n int, source model.Source) bool { return n > 0 && source != model.Guess }

// redrawn replaces each measurement by one of the same placement and load.
func redrawn(all []model.Measurement, random *rand.Rand) []model.Measurement {
	drawn := slices.Clone(all)
	for i, of := range all {
		var alike []model.Measurement
		for _, other := range all {
			if other.Placement == of.Placement && other.SameLoad(of) {
				alike = append(alike, other)
			}
		}
		drawn[i] = alike[random.IntN(len(alike))]
	}
	return drawn
}

// variation returns the coefficient of variation of a distribution; 1 where its shape is not known.
func variation(d model.Distribution) float64 {
	mean, square := model.Moments(d.Quantiles.Points())
	if mean == 0 {
		return 1
	}
	return math.Sqrt(max(0, square/(mean*mean)-1))
}

// replicateCount is the number of resampled models that are simulated.
const replicateCount = 24

// pair holds the figures of one replicate: of the system as it is, and of the changed one.
type pair struct {
	asIs, changed figures
	measured      float64 // capacity of the system as it is, in operations per second; 0: it was not measured
}

// attainable returns the capacity of a side, corrected by the measured capacity of the system as it is, where
// there is one.
func (p pair) attainable(side figures) float64 {
	if p.measured == 0 {
		return side.throughput
	}
	return p.measured * side.throughput / p.asIs.throughput
}

// sample holds the figures of all replicates. err is the first error of around.
type sample struct {
	pairs []pair
	err   error
}

// replicated simulates resampled models in both placements, on all processors.
func (a *Answer) replicated(ctx context.Context) (*sample, error) {
	q := a.Question
	pairs := make([]pair, replicateCount)
	failed := make([]error, replicateCount)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for i := range pairs {
		workers.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			seed := q.Seed + uint64(i) + 1
			random := rand.New(rand.NewPCG(seed, 0))
			m := resampled(q.Model, random)
			hop := a.Hop.redrawn(random)
			pairs[i], failed[i] = a.replicate(ctx, m, hop, seed)
		})
	}
	workers.Wait()
	return &sample{pairs: pairs}, cmp.Or(failed...)
}

// replicate simulates a resampled model in both placements, at the rate of the question and with users who
// never pause.
func (a *Answer) replicate(ctx context.Context, m model.Model, hop *Hop, seed uint64) (p pair, err error) {
	q := a.Question
	atRate := hop.at(q.used())
	factor, err := q.storesAt(ctx, m, q.Rate, atRate, seed, q.Operations/16)
	if err != nil {
		return p, err
	}
	users, measured, used := measuredCapacity(m, q.MeasuredCores)
	p.measured = measured
	slowed := 1. // factor of the times at stores at the capacity
	if users > 0 {
		// Of the two explanations of a measured capacity (see capacities), the one without any time at stores:
		// CPU time alone limits it then, and the replicates differ most.
		slowed = 0
	}
	rated := withStores(m.AtRate(q.Rate, m.RatedCPU()), factor)
	busy := withStores(m.AtCapacity(), slowed)
	atCapacity := hop.atCapacity(used)
	generator := m.GeneratorAtCapacity()
	for _, side := range []struct {
		units  []model.Unit
		stores Stores
		of     *figures
	}{{q.Model.Units, SharedStores, &p.asIs}, {a.Units, q.Change.Stores, &p.changed}} {
		placed, err := place(rated, side.units, q.site(side.stores, atRate))
		if err != nil {
			return p, err
		}
		if *side.of, err = placed.play(ctx, q.Rate, q.Operations/4, seed); err != nil {
			return p, err
		}
		placed, err = place(busy, side.units, q.siteWith(side.stores, atCapacity, generator))
		if err != nil {
			return p, err
		}
		most, err := placed.throughput(ctx, max(users, fewUsers), q.Operations/16, seed)
		if err != nil {
			return p, err
		}
		side.of.throughput = most.rate
	}
	return p, nil
}

// around returns the interval of a value by the spread of a figure over the replicates on the log scale,
// widened by the error of the self-check. A replicate whose figure is not above 0 is an error.
func (s *sample) around(value float64, figure func(pair) float64, residual float64) stats.Estimate {
	var logs []float64
	for _, p := range s.pairs {
		logs = append(logs, math.Log(figure(p)))
	}
	e, err := stats.MeanInterval(logs, confidence)
	if err != nil {
		s.err = cmp.Or(s.err, fmt.Errorf("interval of the predicted %g: logarithms of %d replicates: %w", value,
			len(logs), err))
		return stats.Estimate{Value: value}
	}
	// From the half-width for the mean of the replicates to that for a single one.
	half := (e.High - e.Low) / 2 * math.Sqrt(float64(len(logs)))
	return stats.Estimate{Value: value, Low: value * math.Exp(-half) / (1 + residual),
		High: value * math.Exp(half) * (1 + residual), N: len(logs)}
}
