package predict

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/model"
)

// withStores returns the model with the times at stores multiplied by a factor.
func withStores(m model.Model, factor float64) model.Model {
	return m.Rewritten(func(c *model.Call) {
		for i := range c.Visits {
			c.Visits[i].Wait.Mean = time.Duration(factor * float64(c.Visits[i].Wait.Mean))
		}
	})
}

// storeFactor returns the factor of the times at stores, up to high, with which a simulation gives the
// measured rate. The times of the model are those of low load: a disk that is asked more often answers
// faster, or slower. The factor is 1 if none explains the rate.
func storeFactor(high float64, simulated func(factor float64) (float64, error), measured float64,
) (float64, error) {
	low := 0.0
	fastest, err := simulated(low)
	slowest, slowErr := simulated(high)
	if err = errors.Join(err, slowErr); err != nil {
		return 1, err
	}
	if fastest <= measured || slowest >= measured {
		return 1, nil
	}
	for range 8 { // to some hundredths
		factor := (low + high) / 2
		rate, err := simulated(factor)
		if err != nil {
			return 1, err
		}
		if rate > measured {
			low = factor
		} else {
			high = factor
		}
	}
	return (low + high) / 2, nil
}

// storesAt returns the factor of the times at stores at a rate, from simulations of this many operations. At
// a rate at which the system was measured as it is, the simulation with the factor has the measured response
// time: the median, or the mean if there is no median or it lies in a wide gap. Between two rates the factor
// is interpolated; without any it is 1. It is also 1 if it would be above two: then the model lacks something
// else. Where a check must not know what was measured at this rate (see leavesOut), it uses the next rates.
func (q Question) storesAt(ctx context.Context, m model.Model, rate float64, defaultHop *Hop, seed uint64,
	operations int,
) (float64, error) {
	measured := Pooled(m.Measured)
	if q.leavesOut(rate) {
		measured = slices.DeleteFunc(measured,
			func(of model.Measurement) bool { return model.SameRate(of.Rate, rate) })
	}
	var known []model.Rated
	for _, of := range nearest(measured, rate) {
		factor, err := q.fitStores(ctx, m, of, defaultHop, seed, operations)
		if err != nil {
			return 1, err
		}
		known = append(known, model.Rated{Rate: of.Rate, Value: factor})
	}
	if len(known) == 0 {
		return 1, nil
	}
	return model.Interpolated(rate, known), nil
}

// nearest returns the measurements of the system as it is at a rate, or at the next rates below and above.
func nearest(all []model.Measurement, rate float64) (nearest []model.Measurement) {
	var below, above *model.Measurement
	for i, of := range all {
		isTimed := of.Time.Mean > 0 || of.Time.Quantiles["p50"] > 0
		switch {
		case of.Placement != "" || of.Users > 0 || !isTimed:
		case model.SameRate(of.Rate, rate):
			return all[i : i+1]
		case of.Rate < rate:
			if below == nil || of.Rate > below.Rate {
				below = &all[i]
			}
		case above == nil || of.Rate < above.Rate:
			above = &all[i]
		}
	}
	for _, of := range []*model.Measurement{below, above} {
		if of != nil {
			nearest = append(nearest, *of)
		}
	}
	return nearest
}

// fitStores returns the factor of the times at stores with which the simulation has the response time of a
// measurement. It passes 1 / time to storeFactor, which compares rates.
func (q Question) fitStores(
	ctx context.Context, m model.Model, of model.Measurement, defaultHop *Hop, seed uint64, operations int,
) (float64, error) {
	measured := of.Time.Quantiles["p50"].Seconds()
	medianJumps := MedianGap(of).wide() && of.Time.Mean > 0
	ofMean := measured == 0 || medianJumps
	if ofMean {
		measured = of.Time.Seconds()
	}
	rated := m.AtRate(of.Rate, m.RatedCPU())
	at := site{q.MeasuredCores, SharedStores, defaultHop, m.GeneratorAt(of.Rate)}
	return storeFactor(2, func(factor float64) (float64, error) {
		placed, err := place(withStores(rated, factor), m.Units, at)
		if err != nil {
			return 0, err
		}
		f, err := placed.play(ctx, of.Rate, operations, seed)
		switch {
		case overloaded(err):
			return 0, nil
		case err != nil:
			return 0, err
		case ofMean:
			return 1 / f.mean, nil
		}
		return 1 / f.median, nil
	}, 1/measured)
}
