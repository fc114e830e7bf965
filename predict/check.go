package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/stats"
)

// The margins of the self-check are the largest relative errors of predictions. Beyond MarginCPU or
// MarginTime the whole answer is withheld.
const (
	MarginCPU  = 0.10
	MarginTime = 0.15
	MarginTail = 0.25 // of the 99th percentile; beyond it only that percentile is withheld
	// MarginCapacity applies to the capacity of another placement. Beyond it only capacities are withheld.
	MarginCapacity = 0.15
)

// MostUsed is the highest utilisation at which there is an answer.
const MostUsed = 0.8

// Compared is a prediction and the measured value, which is 0 if nothing was measured.
type Compared struct {
	Predicted float64
	Measured  float64
}

// Error returns the relative error of the prediction: 0.1 if it is 10 % too high, 0 if nothing was measured.
func (c Compared) Error() float64 {
	if c.Measured == 0 {
		return 0
	}
	return c.Predicted/c.Measured - 1
}

// Gap is the range from the measured 45th to the 55th percentile, in seconds; the zero value is unknown. If
// half of the operations take far longer than the others, the median jumps between the two halves from trial
// to trial. So a prediction within the gap counts as right.
type Gap struct{ Low, High float64 }

// wide reports whether the ends of the gap are more than a factor of two apart: then the median says little.
func (g Gap) wide() bool { return g.Low > 0 && g.High > 2*g.Low }

// holds reports whether a median lies in the gap; an unknown gap holds none.
func (g Gap) holds(median float64) bool { return g.Low > 0 && g.Low <= median && median <= g.High }

// MedianGap returns the gap of a measurement.
func MedianGap(m model.Measurement) Gap {
	return Gap{m.Time.Quantiles["p45"].Seconds(), m.Time.Quantiles["p55"].Seconds()}
}

// Judge reports whether a prediction counts as right: its error is within the margin, or it lies in the gap.
// beyond describes an error beyond the margin, even if the prediction lies in the gap.
func (c Compared) Judge(margin float64, gap Gap) (beyond string, right bool) {
	off := c.Error()
	if math.Abs(off) <= margin {
		return "", true
	}
	beyond = fmt.Sprintf("%+.0f %% off, beyond the margin of %.0f %%", 100*off, 100*margin)
	if !gap.holds(c.Predicted) {
		return beyond, false
	}
	return fmt.Sprintf("%s, but between the measured 45th and 55th percentiles, %s and %s: it counts as right",
		beyond, seconds(gap.Low), seconds(gap.High)), true
}

// Check is the self-check against one measurement.
type Check struct {
	Placement   string // empty: as it is
	Rate        float64
	Utilization float64  // of the busiest resource, as predicted
	Time        Compared // in seconds: the median, or the mean if no median was measured
	OfMean      bool
	Gap         Gap      // around the measured median
	Tail        Compared // the 99th percentile, in seconds
	CPU         Compared // CPU seconds per operation
	// Decisive is set if a failure of the check withholds the answer: the check is at the rate of the
	// question, or else at the nearest rate below or above it. A check at a farther rate is decisive, too,
	// unless a nearer one of its placement compares all that it does.
	Decisive bool
}

// checks predicts every measurement that was taken at a rate; capacities have checks of their own. defaultHop
// is the cost of the hops that the model lacks. If it is nil, other placements that need such a hop are left
// out. Other placements are taken to have the stores of the question's change.
func (q Question) checks(ctx context.Context, defaultHop *Hop) ([]Check, error) {
	var all []Check
	fitted := map[float64]float64{} // the factors of the times at stores, by rate
	for _, m := range Pooled(q.Model.Measured) {
		if m.Users > 0 { // the capacity has a check of its own
			continue
		}
		var err error
		if _, known := fitted[m.Rate]; !known {
			fitted[m.Rate], err = q.storesAt(ctx, q.Model, m.Rate, defaultHop, q.Seed, q.Operations/16)
			if err != nil {
				return nil, fmt.Errorf("measured at %g/s: %w", m.Rate, err)
			}
		}
		rated := withStores(q.Model.AtRate(m.Rate, q.cpuForCheck(m.Rate)), fitted[m.Rate])
		units := q.Model.Units
		at := site{q.MeasuredCores, SharedStores, defaultHop, q.Model.GeneratorAt(m.Rate)}
		if m.Placement != "" {
			at.stores = q.Change.Stores
			if units, err = (Change{Split: ParseGroups(m.Placement)}).Apply(q.Model); err != nil {
				return nil, fmt.Errorf("measured at %g/s: %w", m.Rate, err)
			}
		}
		placed, err := place(rated, units, at)
		if errors.Is(err, errUnknownHop) && m.Placement != "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		c := Check{Placement: m.Placement, Rate: m.Rate}
		f, err := placed.play(ctx, m.Rate, q.Operations, q.Seed)
		if overloaded(err) {
			endless := math.Inf(1)
			f = figures{median: endless, mean: endless, p99: endless, cpu: endless, utilization: 1}
			err = nil
		}
		if err != nil {
			return nil, err
		}
		c.fill(f, m)
		all = append(all, c)
	}
	for i := range all {
		all[i].Decisive = !slices.ContainsFunc(all, func(of Check) bool { return of.nearer(q.Rate, all[i]) })
	}
	return all, nil
}

// nearer reports whether c is nearer to a rate than another check of its placement and compares all that the
// other one does: c lies between the two, or at the rate.
func (c Check) nearer(rate float64, other Check) bool {
	if c.Placement != other.Placement || model.SameRate(c.Rate, other.Rate) || !c.covers(other) {
		return false
	}
	if model.SameRate(c.Rate, rate) && !model.SameRate(other.Rate, rate) {
		return true
	}
	return min(rate, other.Rate) < c.Rate && c.Rate < max(rate, other.Rate)
}

// covers reports whether all quantities that were measured for another check were measured for c.
func (c Check) covers(other Check) bool {
	for _, of := range [][2]Compared{{c.Time, other.Time}, {c.Tail, other.Tail}, {c.CPU, other.CPU}} {
		if of[0].Measured == 0 && of[1].Measured > 0 {
			return false
		}
	}
	return true
}

// Pooled returns one measurement for all trials of a placement with the same load, since single trials are
// off by chance. CPU times and capacities are means, and response times medians, over the trials that have
// them. Everything else comes from the first trial.
func Pooled(measured []model.Measurement) (all []model.Measurement) {
	for len(measured) > 0 {
		first := measured[0]
		var others []model.Measurement
		var rates, cpu, means []float64
		quantiles := map[string][]float64{}
		for _, m := range measured {
			if m.Placement != first.Placement || !m.SameLoad(first) {
				others = append(others, m)
				continue
			}
			rates = append(rates, m.Rate)
			if m.CPU.Mean > 0 {
				cpu = append(cpu, m.CPU.Seconds())
			}
			if m.Time.Mean > 0 {
				means = append(means, m.Time.Seconds())
			}
			for name, value := range m.Time.Quantiles {
				if value > 0 {
					quantiles[name] = append(quantiles[name], value.Seconds())
				}
			}
		}
		first.CPU.Mean = durationBy(stats.Mean, cpu)
		first.Time.Mean = durationBy(stats.Median, means)
		if first.Users > 0 { // the rate is what was measured
			first.Rate = stats.Mean(rates)
		}
		first.Time.Quantiles = model.Quantiles{}
		for name, values := range quantiles {
			first.Time.Quantiles[name] = durationBy(stats.Median, values)
		}
		all = append(all, first)
		measured = others
	}
	return all
}

// durationBy returns the average of some times in seconds; 0 if there are none.
func durationBy(average func([]float64) float64, seconds []float64) time.Duration {
	if len(seconds) == 0 {
		return 0
	}
	return time.Duration(average(seconds) * float64(time.Second))
}

// cpuForCheck returns the measured CPU times from which the check at a rate predicts its CPU time. If the
// question's own rate was not measured, its CPU time is interpolated between the nearest measured rates below
// and above it. The checks at these two rates then leave out what was measured there: so they show the error
// of such an interpolation.
func (q Question) cpuForCheck(rate float64) []model.Rated {
	all := q.Model.RatedCPU()
	if !q.leavesOut(rate) {
		return all
	}
	return slices.DeleteFunc(all, func(of model.Rated) bool { return model.SameRate(of.Rate, rate) })
}

// leavesOut reports whether a check at a rate leaves out what was measured there: the rate of the question
// was not measured, and the rate of the check is the next one below or above it.
func (q Question) leavesOut(rate float64) bool {
	var below, above float64
	for _, of := range q.Model.RatedCPU() {
		if model.SameRate(of.Rate, q.Rate) {
			return false
		}
		if of.Rate < q.Rate {
			below = of.Rate
		} else if above == 0 {
			above = of.Rate
		}
	}
	return model.SameRate(rate, below) || model.SameRate(rate, above)
}

// fill sets the predicted and the measured values.
func (c *Check) fill(f figures, m model.Measurement) {
	c.Utilization = f.utilization
	c.CPU = Compared{f.cpu, m.CPU.Seconds()}
	c.Time = Compared{f.mean, m.Time.Seconds()}
	c.OfMean = true
	if median, known := m.Time.Quantiles["p50"]; known {
		c.Time = Compared{f.median, median.Seconds()}
		c.OfMean = false
		c.Gap = MedianGap(m)
	}
	if tail, known := m.Time.Quantiles["p99"]; known {
		c.Tail = Compared{f.p99, tail.Seconds()}
	}
}

// judge reports whether a check passes. beyond describes the first error beyond its margin, "" without any.
func (c Check) judge() (beyond string, passed bool) {
	where := ""
	if c.Placement != "" {
		where = " of " + c.Placement
	}
	if math.IsInf(c.CPU.Predicted, 1) {
		return fmt.Sprintf("%g/s%s, which was measured, is predicted to overload the system", c.Rate, where), false
	}
	what := "CPU per operation"
	beyond, passed = c.CPU.Judge(MarginCPU, Gap{})
	if passed {
		what = "the median response time"
		if c.OfMean {
			what = "the mean response time"
		}
		beyond, passed = c.Time.Judge(MarginTime, c.Gap)
	}
	if beyond == "" {
		return "", passed
	}
	return fmt.Sprintf("%s%s at %g/s is predicted %s", what, where, c.Rate, beyond), passed
}

// deviation returns the share by which the larger of the two values exceeds the smaller one: 1 if the
// prediction is twice or half the measured value, 0 if nothing was measured.
func (c Compared) deviation() float64 {
	if c.Measured == 0 {
		return 0
	}
	return max(c.Predicted/c.Measured, c.Measured/c.Predicted) - 1
}

// worst returns the largest deviation of each quantity in the decisive checks.
func worst(checks []Check) (time, tail, cpu float64) {
	for _, c := range checks {
		if c.Decisive {
			time = max(time, c.Time.deviation())
			tail = max(tail, c.Tail.deviation())
			cpu = max(cpu, c.CPU.deviation())
		}
	}
	return time, tail, cpu
}

// cpuProblem returns why the CPU times of the model do not allow a prediction; empty if they do.
func cpuProblem(m model.Model) string {
	total := map[string]float64{}
	traced := "" // a component whose CPU time is the self time of spans
	for i := range m.Operations {
		m.Operations[i].Call.Executions(func(c *model.Call, _ float64) {
			total[c.Component] += c.CPU.Seconds() + c.Background.Seconds()
			if c.CPU.Mean > 0 && c.CPU.Source == model.Trace {
				traced = c.Component
			}
		})
	}
	for _, component := range m.Components() {
		if cpu, called := total[component]; called && cpu == 0 {
			return fmt.Sprintf("the model has no CPU time of %s: meter it, or write a guess into the model", component)
		}
	}
	if traced != "" {
		return fmt.Sprintf("the CPU time of %s is the self time of spans, an upper bound: have it metered", traced)
	}
	return ""
}
