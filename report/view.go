package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// figureKey identifies a figure of an analysis.
type figureKey struct{ metric, variant, point string }

// comparisonKey identifies a comparison with a baseline.
type comparisonKey struct {
	figureKey
	baseline string
}

// view is an analysis with indexes of its results and comparisons.
type view struct {
	lab.Analysis
	results     map[figureKey]lab.Result
	comparisons map[comparisonKey]lab.Comparison
	// counting is the number of blocks that count: "8 blocks", or "4 to 8 blocks" if that differs between
	// variants or points.
	counting string
}

// newView indexes an analysis. The ladder is shown from the cheapest rung up.
func newView(a lab.Analysis) view {
	a.Ladder = slices.SortedStableFunc(slices.Values(a.Ladder),
		func(x, y lab.Rung) int { return cmp.Compare(x.CPU, y.CPU) })
	v := view{a, make(map[figureKey]lab.Result), make(map[comparisonKey]lab.Comparison), countingBlocks(a)}
	for _, r := range a.Results {
		v.results[figureKey{r.Metric, r.Variant, r.Point.Name}] = r
	}
	for _, c := range a.Comparisons {
		v.comparisons[comparisonKey{figureKey{c.Metric, c.Variant, c.Point.Name}, c.Baseline}] = c
	}
	return v
}

// countingBlocks returns the number of blocks behind the results as text. A variant has as many blocks at a
// point as its most measured metric has values.
func countingBlocks(a lab.Analysis) string {
	measured := map[[2]string]int{}
	for _, r := range a.Results {
		at := [2]string{r.Variant, r.Point.Name}
		measured[at] = max(measured[at], r.N)
	}
	if len(measured) == 0 {
		return lab.Count(0, "block")
	}
	counts := slices.Collect(maps.Values(measured))
	least := slices.Min(counts)
	most := slices.Max(counts)
	if least == most {
		return lab.Count(most, "block")
	}
	return fmt.Sprintf("%d to %s", least, lab.Count(most, "block"))
}

// variants returns all variants without the twins.
func (v view) variants() []lab.Variant {
	return filter(v.Variants, func(x lab.Variant) bool { return x.TwinOf == "" })
}

// challengers returns the variants that are compared with the baseline.
func (v view) challengers() []lab.Variant {
	return filter(v.variants(), func(x lab.Variant) bool { return x.Name != v.Baseline })
}

// metric returns the named metric, or for an unknown one a metric with its name as title.
func (v view) metric(name string) lab.Metric {
	if m, known := lab.MetricNamed(v.Metrics, name); known {
		return m
	}
	return lab.Metric{Name: name, Title: name, Unit: "1"}
}

// headlineMetric returns the metric that the main tables show: the elapsed time of a job, else the first
// metric.
func (v view) headlineMetric() lab.Metric {
	if m, is := lab.FindMetric(v.Metrics, lab.Elapsed, 0, ""); is {
		return m
	}
	if len(v.Metrics) > 0 {
		return v.Metrics[0]
	}
	return lab.JobMetrics()[0]
}

// reference returns the point at which the main tables compare the variants: that of the answer, else the
// first.
func (v view) reference() string {
	switch {
	case v.Answer.Point != "":
		return v.Answer.Point
	case len(v.Points) > 0:
		return v.Points[0].Name
	}
	return ""
}

// ratio returns the comparison of a variant with the baseline.
func (v view) ratio(metric, variant, point string) (lab.Comparison, bool) {
	c, ok := v.comparisons[comparisonKey{figureKey{metric, variant, point}, v.Baseline}]
	return c, ok
}

// cells returns a cell for each item.
func cells[T any](items []T, of func(T) cell) []cell {
	all := make([]cell, len(items))
	for i, item := range items {
		all[i] = of(item)
	}
	return all
}

// find returns the first wanted item, if there is one.
func find[T any](items []T, wanted func(T) bool) (item T, found bool) {
	i := slices.IndexFunc(items, wanted)
	if i < 0 {
		return item, false
	}
	return items[i], true
}

// filter returns the wanted items, in their order.
func filter[T any](items []T, wanted func(T) bool) []T {
	var found []T
	for _, item := range items {
		if wanted(item) {
			found = append(found, item)
		}
	}
	return found
}
