package predict

import (
	"math"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// Document returns the answer for other programs.
func (a Answer) Document() lab.Prediction {
	q := a.Question
	d := lab.Prediction{Schema: lab.PredictionSchema, Model: q.Model.Name, Change: q.Change.String(),
		Rate: q.Rate, Cores: q.Cores, Seed: q.Seed, Objective: q.Objective.Text,
		Withheld: append([]string{}, a.Withheld...),
		Checks:   []lab.PredictionCheck{}, Limits: a.Limits}
	for _, c := range a.Checks {
		one := lab.PredictionCheck{Placement: c.Placement, Rate: c.Rate, Utilization: c.Utilization,
			Decisive: c.Decisive, OfMean: c.OfMean, Time: c.Time.document(), P99: c.Tail.document(),
			CPU: c.CPU.document()}
		if c.Gap.Low > 0 {
			one.P45 = &c.Gap.Low
			one.P55 = &c.Gap.High
		}
		d.Checks = append(d.Checks, one)
	}
	if len(a.Withheld) > 0 || a.AsIs.CPU.Value == 0 {
		return d
	}
	if a.Capacity.Measured > 0 {
		c := a.Capacity.document()
		d.CapacityCheck = &c
		d.StoreFactor = a.StoreFactor
	}
	for _, c := range a.CapacityChecks {
		d.CapacityChecks = append(d.CapacityChecks, lab.PredictedCapacity{Placement: c.Placement, Users: c.Users,
			Capacity: c.Capacity.document()})
	}
	asIs := a.AsIs.document()
	changed := a.Changed.document()
	median := between(a.Median)
	tail := between(a.P99)
	cpu := between(a.CPU)
	d.AsIs = &asIs
	d.Changed = &changed
	d.MedianRatio = &median
	d.P99Ratio = &tail
	d.CPURatio = &cpu
	if a.TailWithheld {
		d.AsIs.P99 = nil
		d.Changed.P99 = nil
		d.P99Ratio = nil
	}
	if a.CapacityWithheld {
		for _, side := range []*lab.PredictedSystem{d.AsIs, d.Changed} {
			side.Capacity = nil
			side.CapacityBy = ""
		}
	}
	d.Causes = a.Causes
	d.CPUCauses = a.CPUCauses
	return d
}

// between returns an estimate with its interval.
func between(e stats.Estimate) lab.Estimate { return figure.Between(e.Value, e.Low, e.High) }

func (o Outcome) document() lab.PredictedSystem {
	p99 := between(o.P99)
	capacity := between(o.Capacity)
	d := lab.PredictedSystem{Median: between(o.Median), P99: &p99, CPU: between(o.CPU), Cores: between(o.Cores),
		Busiest: o.busiest, Utilization: o.utilization, Capacity: &capacity, CapacityBy: o.CapacityBy,
		Hops: o.Hops, HeldBeyond: o.Held.Beyond, Units: o.Units}
	if o.Held.Value > 0 {
		held := between(o.Held.Estimate)
		d.HeldRate = &held
	}
	return d
}

func (c Compared) document() (d lab.PredictedMeasure) {
	if !math.IsInf(c.Predicted, 1) {
		d.Predicted = &c.Predicted
	}
	if c.Measured > 0 {
		d.Measured = &c.Measured
	}
	return d
}

// Document returns the ranking for other programs.
func (r Ranking) Document() lab.Prediction {
	d := r.Answer.Document()
	d.AllPartitions = r.All
	for _, p := range r.Partitions {
		one := lab.PredictedPartition{Units: p.Groups, AsIs: p.AsIs, CPU: between(p.CPU),
			CPURatio: between(p.Ratio), Hops: p.Hops, Busiest: p.Busiest, Utilization: p.Utilization,
			Added: p.Added, Removed: p.Removed}
		if p.Withheld == "" {
			median := between(p.Median)
			one.Median = &median
		}
		d.Partitions = append(d.Partitions, one)
	}
	return d
}
