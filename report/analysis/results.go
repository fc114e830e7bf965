package analysis

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// results are the valid trials of every variant but the twins, at every point,
// in every metric.
func (e *experiment) results() []lab.Result {
	all := []lab.Result{}
	for _, metric := range e.study.AllMetrics() {
		for _, v := range e.study.Variants {
			if v.TwinOf != "" {
				continue
			}
			for _, point := range e.study.Points {
				if s := e.cells[cell{v.Name, point.Name, metric.Name}]; len(s.values) > 0 {
					all = append(all, e.result(metric, v.Name, point, s))
				}
			}
		}
	}
	return all
}

func (e *experiment) result(metric lab.Metric, variant string, point lab.Point, s series) lab.Result {
	r := lab.Result{
		Variant: variant, Point: point, Metric: metric.Name, Unit: metric.Unit, N: len(s.values),
		Mean: stats.Mean(s.values), Values: slices.Clone(s.values), Blocks: slices.Clone(s.blocks),
	}
	r.Low, r.High = e.meanInterval(s.values)
	return r
}

// meanInterval is the t interval of a mean; nil below two values.
func (e *experiment) meanInterval(values []float64) (low, high *float64) {
	interval, err := stats.MeanInterval(values, e.sure(e.design.Confidence, len(values)))
	if err != nil {
		return nil, nil
	}
	return bounds(interval.Low, interval.High)
}

// mean of a cell; false where nothing was measured.
func (e *experiment) mean(variant, point, metric string) (float64, bool) {
	s := e.cells[cell{variant, point, metric}]
	return stats.Mean(s.values), len(s.values) > 0
}

// middle is the median of a cell over its trials, as the curves show it; false where
// nothing was measured.
func (e *experiment) middle(variant, point, metric string) (float64, bool) {
	s := e.cells[cell{variant, point, metric}]
	return stats.Median(s.values), len(s.values) > 0
}
