package predict

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/predict/sim"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// Objective is a list of limits of the response time that all have to hold. The zero value is none.
type Objective struct {
	Text   string // as the user wrote it
	Limits []Limit
}

// Limit is the longest response time that a share of all operations may take.
type Limit struct{ Share, Seconds float64 }

// Held is the highest rate at which an objective holds.
type Held struct {
	stats.Estimate
	// Beyond is set if this is the highest rate that is tried: something is used to MostUsed there.
	Beyond bool
	// Withheld says why there is no rate; empty: there is one.
	Withheld string
}

const (
	// lowestHeld is the share of the highest rate below which no rate is looked at.
	lowestHeld = 1. / 64
	// halvings is the number of times that the search halves the range of rates, on the log scale.
	halvings = 8
)

// held returns the highest rate of a placement at which the objective of the question holds. f holds its
// figures at the rate of the question. For the ends of the interval the limits are tightened and relaxed by
// the largest error of the self-check; the spread of the replicates widens it.
//
// If the capacity of the system as it is was measured, the rate is corrected as the capacity of the placement
// is: the objective holds up to the same share of both, simulated and corrected. So it is withheld, and its
// interval widened, with the capacity.
func (a *Answer) held(ctx context.Context, p placement, capacity bound, f figures, side func(pair) figures,
	replicates *sample,
) (Held, error) {
	time, tail, _ := worst(a.Checks)
	beyondMedian := func(l Limit) bool { return l.Share > 0.5 }
	if a.TailWithheld && slices.ContainsFunc(a.Question.Objective.Limits, beyondMedian) {
		return Held{Withheld: "withheld"}, nil
	}
	simulated := a.Question.Rate / f.utilization // the rate that uses the busiest resource fully
	most := MostUsed * simulated
	corrected := 1.0
	residual := 0.0
	if a.Capacity.Measured > 0 {
		if a.CapacityWithheld {
			return Held{Withheld: "withheld"}, nil
		}
		corrected = capacity.rate / simulated
		residual = a.worstCapacity()
	}
	var rates [3]float64
	for i, sign := range []float64{0, -1, 1} {
		limits := slices.Clone(a.Question.Objective.Limits)
		for k, l := range limits {
			off := time
			if beyondMedian(l) {
				off = max(time, tail)
			}
			limits[k].Seconds *= math.Pow(1+off, sign)
		}
		var err error
		if rates[i], err = p.highest(ctx, limits, most, a.Question.Operations/4, a.Question.Seed); err != nil {
			return Held{}, err
		}
	}
	if rates[0] == 0 {
		return Held{Withheld: "not even at " + figure.Amount(lowestHeld*most*corrected, "1/s")}, nil
	}
	spread := replicates.around(corrected, func(p pair) float64 { return p.attainable(side(p)) }, residual)
	return Held{Beyond: rates[0] == most, Estimate: stats.Estimate{Value: rates[0] * corrected,
		Low: rates[1] * spread.Low, High: rates[2] * spread.High, N: spread.N}}, nil
}

// highest returns the highest rate up to most at which the limits hold; 0 where they hold at none.
func (p placement) highest(ctx context.Context, limits []Limit, most float64, operations int, seed uint64,
) (float64, error) {
	hold := func(rate float64) (bool, error) {
		p.system.Loads = []sim.Load{{Rate: rate, Weights: p.system.Loads[0].Weights}}
		r, err := p.run(ctx, operations, operations/2, seed)
		if overloaded(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		isBroken := func(l Limit) bool { return r.All.Times.Quantile(l.Share) > l.Seconds }
		return !slices.ContainsFunc(limits, isBroken), nil
	}
	if all, err := hold(most); all || err != nil {
		return most, err
	}
	low, high := lowestHeld*most, most
	if lowest, err := hold(low); !lowest || err != nil {
		return 0, err
	}
	for range halvings {
		middle := math.Sqrt(low * high)
		holds, err := hold(middle)
		if err != nil {
			return 0, err
		}
		if holds {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}
