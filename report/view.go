package report

import (
	"cmp"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// place is where a figure stands in an analysis.
type place struct{ metric, variant, point string }

// against is a place with the variant that it is compared with.
type against struct {
	place
	baseline string
}

// view is an analysis with its figures within reach.
type view struct {
	lab.Analysis
	results     map[place]lab.Result
	comparisons map[against]lab.Comparison
}

// newView indexes an analysis. The ladder is shown from the cheapest rung up.
func newView(a lab.Analysis) view {
	a.Ladder = slices.SortedStableFunc(slices.Values(a.Ladder),
		func(x, y lab.Rung) int { return cmp.Compare(x.CPU, y.CPU) })
	v := view{a, make(map[place]lab.Result), make(map[against]lab.Comparison)}
	for _, r := range a.Results {
		v.results[place{r.Metric, r.Variant, r.Point.Name}] = r
	}
	for _, c := range a.Comparisons {
		v.comparisons[against{place{c.Metric, c.Variant, c.Point.Name}, c.Baseline}] = c
	}
	return v
}

// variants returns what is compared: all but the twins.
func (v view) variants() []lab.Variant {
	return slices.DeleteFunc(slices.Clone(v.Variants), func(x lab.Variant) bool { return x.TwinOf != "" })
}

// challengers returns the variants that are compared with the baseline.
func (v view) challengers() []lab.Variant {
	return slices.DeleteFunc(v.variants(), func(x lab.Variant) bool { return x.Name == v.Baseline })
}

// isTwin reports whether the named variant repeats another.
func (v view) isTwin(name string) bool {
	return slices.ContainsFunc(v.Variants, func(x lab.Variant) bool { return x.Name == name && x.TwinOf != "" })
}

// metric returns the named metric, or one with no title where it is unknown.
func (v view) metric(name string) lab.Metric {
	for _, m := range v.Metrics {
		if m.Name == name {
			return m
		}
	}
	return lab.Metric{Name: name, Title: name, Unit: "1"}
}

// headline returns the metric that the main tables show: of a job its elapsed time, else
// the first.
func (v view) headline() lab.Metric {
	if m, is := lab.FindMetric(v.Metrics, lab.Elapsed, 0, ""); is {
		return m
	}
	if len(v.Metrics) > 0 {
		return v.Metrics[0]
	}
	return lab.JobMetrics()[0]
}

// reference returns the point at which all variants stand side by side: the answer's, else the
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
	c, ok := v.comparisons[against{place{metric, variant, point}, v.Baseline}]
	return c, ok
}

// ratios returns the comparisons of a variant with the baseline over all
// points, in the order of the points.
func (v view) ratios(metric, variant string) []lab.Comparison {
	var found []lab.Comparison
	for _, p := range v.Points {
		if c, ok := v.ratio(metric, variant, p.Name); ok {
			found = append(found, c)
		}
	}
	return found
}

// swept returns the challengers that were compared at two points or more.
func (v view) swept(metric string) []lab.Variant {
	return slices.DeleteFunc(v.challengers(), func(x lab.Variant) bool {
		return len(v.ratios(metric, x.Name)) < 2
	})
}

// pair is two variants compared with each other, neither being the baseline.
type pair struct{ variant, baseline string }

// pairs returns the comparisons between variants other than the baseline, such
// as one service variant over the other, in the order in which they appear.
func (v view) pairs() []pair {
	var found []pair
	for _, c := range v.Comparisons {
		p := pair{c.Variant, c.Baseline}
		if c.Baseline != v.Baseline && !v.isTwin(c.Variant) && !v.isTwin(c.Baseline) && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}

// comparedAt returns where the matrix shows a metric: at the given point or, of a
// system under load, at the first where it was compared, such as that of a search.
func (v view) comparedAt(metric, at string) (string, bool) {
	compared := func(point string) bool {
		return slices.ContainsFunc(v.challengers(), func(x lab.Variant) bool {
			_, ok := v.ratio(metric, x.Name, point)
			return ok
		})
	}
	if compared(at) || len(v.Curves) == 0 {
		return at, compared(at)
	}
	for _, p := range v.Points {
		if compared(p.Name) {
			return p.Name, true
		}
	}
	return at, false
}

// margin returns the smallest difference of a metric that counts: the study's
// margin, or a bias where that reaches farther.
func (v view) margin(metric string) float64 {
	if margin, ok := v.Margins[metric]; ok {
		return margin
	}
	return v.Margin
}

// struckOut reports whether a variant broke a rule of its system: it is shown
// in no speed comparison.
func (v view) struckOut(variant string) bool {
	return v.Audit[variant].Verdict == lab.AuditInvalid
}
