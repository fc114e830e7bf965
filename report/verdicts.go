package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// verdictSection shows the ratios of every variant to the baseline in every metric, at one point.
func (v view) verdictSection() section {
	return section{ID: "verdicts", Title: "Verdicts", Shown: []table{v.matrixTable(true)},
		HowTo: fmt.Sprintf("Each cell is the variant's value over that of %s, with its interval. Red is worse, "+
			"green is better: the whole interval lies on that side of 1, and reaches beyond the margin of %s and "+
			"any bias. A ~ says that the two are equivalent: the whole interval lies within the margin. A ? says "+
			"that the data do not decide.", v.Baseline, figure.Setting(v.Margin))}
}

// matrixTable shows the ratios of every variant to the baseline in all metrics at the reference point, or
// only in the metrics that the headline's bars do not show.
func (v view) matrixTable(all bool) table {
	at := v.reference()
	t := table{ID: "matrix", Title: "Verdicts at " + v.at(at), Keys: 1,
		Columns: columns{}.text("variant"),
		Note: fmt.Sprintf("variant / %s (base); ~ equivalent within the margin (%s, or a bias), ? undecided; "+
			"%s", v.Baseline, figure.Setting(v.Margin), v.sample())}
	metrics := v.matrixMetrics(at)
	if !all {
		metrics = slices.DeleteFunc(metrics, func(m lab.Metric) bool { return v.headlineShowsAll(m.Name, at) })
	}
	if len(metrics) == 0 {
		return table{}
	}
	for _, m := range metrics {
		t.Columns = t.Columns.number(v.matrixHead(m, at))
	}
	for _, x := range v.challengers() {
		t.addMeasured(x.Name, cells(metrics, func(m lab.Metric) cell {
			point, _ := v.comparedAt(m.Name, at)
			return ratioCell(v.ratio(m.Name, x.Name, point))
		}))
	}
	if len(metrics) > widestMatrix {
		return transposed(t)
	}
	return t
}

// headlineShowsAll reports whether the headline's bars show all ratios of a metric at a point.
func (v view) headlineShowsAll(metric, at string) bool {
	point, _ := v.comparedAt(metric, at)
	return !slices.ContainsFunc(v.challengers(), func(x lab.Variant) bool {
		_, compared := v.ratio(metric, x.Name, point)
		return compared && !v.headlineShows(metric, x.Name, point)
	})
}

// matrixHead returns the head of a metric in the matrix, with its point if that is another one. A point with
// the metric's name, such as "capacity", is not repeated.
func (v view) matrixHead(m lab.Metric, at string) string {
	if point, _ := v.comparedAt(m.Name, at); point != at && point != m.Name {
		return figure.Spaced(m.Name) + " at " + v.at(point)
	}
	return figure.Spaced(m.Name)
}

// matrixMetrics returns the metrics that the matrix of a point shows: those that were compared there or, for
// a system under load, at another point (see comparedAt). A cost per operation is left out if there is its
// total: at one point the number of operations is the same for all variants, and so is the ratio.
func (v view) matrixMetrics(at string) []lab.Metric {
	return filter(v.Metrics, func(m lab.Metric) bool {
		if _, total := lab.FindMetric(v.Metrics, m.Quantity, m.Quantile, ""); total && m.Per == lab.PerOperation {
			return false
		}
		_, compared := v.comparedAt(m.Name, at)
		return compared
	})
}

// widestMatrix is the largest number of metrics that the matrix has as columns; more become rows.
const widestMatrix = 8

// ratioCell shows a comparison, or that there is none.
func ratioCell(c lab.Comparison, compared bool) cell {
	if !compared {
		return none()
	}
	return judgedCell(c.Ratio, c.Verdict)
}

// judgedCell shows a ratio with its verdict. Only decided differences are coloured.
func judgedCell(r lab.Ratio, verdict lab.ComparisonVerdict) cell {
	switch ratio := times(r); verdict {
	case lab.Equivalent:
		return toned("~ "+ratio, toneMuted)
	case lab.Undecided:
		return toned("? "+ratio, toneNone)
	default:
		return toned(ratio, toneOf(verdict))
	}
}

// comparedAt returns the point at which the matrix shows a metric: the given one or, for a
// system under load, the first at which it was compared, such as that of a search.
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
	p, found := find(v.Points, func(p lab.Point) bool { return compared(p.Name) })
	return cmp.Or(p.Name, at), found
}
