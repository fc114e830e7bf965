package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// Quantity names a figure that both trials and models have of a system, and finds it in either.
type Quantity struct {
	Name   string // for people
	Figure string // FigureMedian, FigureP99, FigureCPU or FigureCapacity
	Metric lab.Metric
	Margin float64 // of the error of a prediction or a rehearsal of it
	// Measured returns the value of a measurement in the unit of the metric; 0: it has none.
	Measured func(model.Measurement) float64
	source   func(model.Measurement) model.Source
}

// Quantities returns the median response time, the 99th percentile, the CPU time of an operation and the
// capacity, in this order, with their metrics among those of a study.
func Quantities(metrics []lab.Metric) []Quantity {
	find := func(quantity string, quantile float64, per string) lab.Metric {
		m, _ := lab.FindMetric(metrics, quantity, quantile, per)
		return m
	}
	timed := func(m model.Measurement) model.Source { return m.Time.Source }
	metered := func(m model.Measurement) model.Source { return m.CPU.Source }
	return []Quantity{
		{"median response time", FigureMedian, find(lab.ResponseTime, 0.5, ""), MarginTime,
			func(m model.Measurement) float64 { return m.Time.Quantiles["p50"].Seconds() }, timed},
		{"99th percentile", FigureP99, find(lab.ResponseTime, 0.99, ""), MarginTail,
			func(m model.Measurement) float64 { return m.Time.Quantiles["p99"].Seconds() }, timed},
		{"CPU per operation", FigureCPU, find(lab.CPU, 0, lab.PerOperation), MarginCPU,
			func(m model.Measurement) float64 { return m.CPU.Seconds() }, metered},
		{"capacity", FigureCapacity, find(lab.Goodput, 0, ""), MarginCapacity,
			func(m model.Measurement) float64 { return m.Rate }, timed},
	}
}

// AppliesTo reports whether a load measures the quantity: users who never pause measure the capacity alone.
func (q Quantity) AppliesTo(load model.Measurement) bool {
	return (q.Metric.Quantity == lab.Goodput) == (load.Users > 0)
}

// Load returns the load of a point: a measurement without figures.
func Load(p lab.Point) model.Measurement {
	return model.Measurement{Rate: p.Levels[lab.FactorRate], Users: int(p.Levels[lab.FactorUsers])}
}

// Rehearsed returns the figures of a system with the change that a variant of its rehearsal has. At each
// point they are those that were measured of the system as it is, times variant / baseline. What a rehearsal
// leaves out it leaves out of both placements, so their ratio is nearer to the truth than either.
func Rehearsed(found lab.Analysis, variant string, m model.Model, quantities []Quantity,
) (all []lab.RehearsedFigure) {
	skips := func(name, point string) bool {
		i := slices.IndexFunc(found.Variants, func(v lab.Variant) bool { return v.Name == name })
		return i < 0 || !found.Variants[i].RunsAt(point)
	}
	for _, p := range found.Points {
		if skips(found.Baseline, p.Name) || skips(variant, p.Name) {
			continue
		}
		for _, q := range quantities {
			if q.AppliesTo(Load(p)) {
				all = append(all, q.rehearsed(found, variant, p, m.Measured))
			}
		}
	}
	return all
}

// rehearsed returns the figure of one point, or why it is withheld.
func (q Quantity) rehearsed(found lab.Analysis, variant string, p lab.Point, measured []model.Measurement,
) lab.RehearsedFigure {
	f := lab.RehearsedFigure{What: q.Name, Metric: q.Metric.Name, Unit: q.Metric.Unit, Point: p}
	f.Measured, f.Withheld = q.asIs(measured, Load(p), found.Confidence)
	i := slices.IndexFunc(found.Comparisons, func(c lab.Comparison) bool {
		return c.Variant == variant && c.Baseline == found.Baseline && c.Metric == f.Metric &&
			c.Point.Name == p.Name
	})
	if i < 0 {
		f.Withheld = "no block has rehearsed it in both placements"
		return f
	}
	ratio := found.Comparisons[i].Ratio.Estimate()
	f.Ratio = &ratio
	if found.Comparisons[i].PiledUp && q.Metric.FromDue() {
		f.Withheld = "one of the placements did not hold the rate, and its times grow with the length of the load"
	}
	if f.Withheld == "" {
		changed := product(*f.Measured, ratio)
		f.Changed = &changed
	}
	return f
}

// asIs returns what was measured of the system as it is under a load, or why nothing was. Its value is that
// of Pooled; its interval is that of the mean of the logs over the trials. Of response times Pooled takes the
// median, which scatters up to sqrt(pi/2) times as much as the mean: their interval is wider by that.
func (q Quantity) asIs(measured []model.Measurement, load model.Measurement, confidence float64,
) (*lab.Estimate, string) {
	known := slices.DeleteFunc(slices.Clone(measured), func(m model.Measurement) bool {
		return m.Placement != "" || q.Measured(m) == 0 || !q.AppliesTo(m) || q.source(m) == model.Guess
	})
	pooled := Pooled(known)
	i := slices.IndexFunc(pooled, func(m model.Measurement) bool { return m.SameLoad(load) })
	if i < 0 {
		return nil, unmeasured(pooled, load)
	}
	if gap := MedianGap(pooled[i]); q.Metric.Quantile == 0.5 && gap.wide() {
		return nil, fmt.Sprintf("45 %% of the operations take %s at most and 55 %% take %s as it is: one in a "+
			"hundred more or less of the short ones moves the median by far", seconds(gap.Low), seconds(gap.High))
	}
	e := figure.Alone(q.Measured(pooled[i]))
	var logs []float64
	for _, m := range known {
		if m.SameLoad(pooled[i]) {
			logs = append(logs, math.Log(q.Measured(m)))
		}
	}
	spread, err := stats.MeanInterval(logs, confidence)
	if err != nil { // of a single trial
		return &e, ""
	}
	half := (spread.High - spread.Low) / 2
	if q.Metric.Quantity == lab.ResponseTime {
		half *= math.Sqrt(math.Pi / 2)
	}
	e = figure.Between(e.Value, e.Value*math.Exp(-half), e.Value*math.Exp(half))
	return &e, ""
}

// unmeasured says that nothing was measured under a load, and what was.
func unmeasured(pooled []model.Measurement, load model.Measurement) string {
	if load.Users > 0 {
		return fmt.Sprintf("the model does not say what %d users got of the system as it is: cleave model "+
			"--capacity measures it", load.Users)
	}
	var rates []string
	for _, m := range pooled {
		rates = append(rates, lab.Plain(m.Rate)+"/s")
	}
	if len(rates) == 0 {
		return "the model does not say what was measured of the system as it is"
	}
	return fmt.Sprintf("the model was measured at %s, and not at %s/s: rehearse at a rate that was measured "+
		"(--rate), or measure this one (cleave model --further-rates)", figure.And(rates), lab.Plain(load.Rate))
}

// hasInterval reports whether an estimate has both ends of an interval.
func hasInterval(e lab.Estimate) bool { return e.Low != nil && e.High != nil }

// product returns the product of two independent estimates, with an interval if both have one.
func product(a, b lab.Estimate) lab.Estimate {
	if hasInterval(a) && hasInterval(b) {
		p, err := stats.Product(stats.Estimate{Value: a.Value, Low: *a.Low, High: *a.High},
			stats.Estimate{Value: b.Value, Low: *b.Low, High: *b.High})
		if err == nil { // an end may be 0, or infinite
			return between(p)
		}
	}
	return figure.Alone(a.Value * b.Value)
}
