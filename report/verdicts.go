package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// verdictSection shows every variant against the baseline in every metric, at one point.
func (v view) verdictSection() section {
	t := v.matrixTable(true)
	return section{ID: "verdicts", Title: "Verdicts", Caption: t.Note,
		Shown: []table{t},
		HowTo: fmt.Sprintf("Each cell is the variant's value over that of %s, with its interval. Red is worse, "+
			"green is better, both by more than the margin of %s. "+
			"A ~ says that the two are equivalent: the whole interval lies within the margin. A ? says that the "+
			"data do not decide.", v.Baseline, figure.Setting(v.Margin))}
}

// matrixTable shows every variant against every metric at the reference point. The metrics
// whose bars stand over it are left out, unless all are asked for.
func (v view) matrixTable(all bool) table {
	at := v.reference()
	t := table{ID: "matrix", Title: "Verdicts at " + clean(v.at(at)), Keys: 1,
		Columns: []column{textCol("variant")},
		Note: fmt.Sprintf("variant / %s (base); ~ equivalent within the margin (%s, or a bias), ? undecided, x "+
			"broke a rule of its system; %s",
			clean(v.Baseline), figure.Setting(v.Margin), v.sample())}
	metrics := v.matrixMetrics(at)
	if !all {
		metrics = slices.DeleteFunc(metrics, func(m lab.Metric) bool { return v.allDrawn(m.Name, at) })
	}
	if len(metrics) == 0 {
		return table{}
	}
	for _, m := range metrics {
		t.Columns = append(t.Columns, numberCol(v.question(m, at)))
	}
	for _, x := range v.challengers() {
		t.addMeasured([]cell{text(x.Name)}, cells(metrics, func(m lab.Metric) cell {
			point, _ := v.comparedAt(m.Name, at)
			return v.ratioCell(v.ratio(m.Name, x.Name, point))
		}))
	}
	if len(metrics) > widestMatrix {
		return transposed(t, "metric")
	}
	return t
}

// allDrawn reports whether the headline of the answer has all ratios that the matrix would
// show of a metric.
func (v view) allDrawn(metric, at string) bool {
	point, _ := v.comparedAt(metric, at)
	return !slices.ContainsFunc(v.challengers(), func(x lab.Variant) bool {
		_, compared := v.ratio(metric, x.Name, point)
		return compared && !v.drawn(metric, x.Name, point)
	})
}

// question heads a metric in the matrix, with its point where that is another.
func (v view) question(m lab.Metric, at string) string {
	if point, _ := v.comparedAt(m.Name, at); point != at && point != m.Name {
		return figure.Spaced(m.Name) + " at " + v.at(point)
	}
	return figure.Spaced(m.Name)
}

// matrixMetrics returns the metrics that were compared at a point. A cost per
// operation is left out where its total is there: at one point the operations
// are the same, and so is the ratio.
func (v view) matrixMetrics(at string) []lab.Metric {
	return slices.DeleteFunc(slices.Clone(v.Metrics), func(m lab.Metric) bool {
		_, total := lab.FindMetric(v.Metrics, m.Quantity, m.Quantile, "")
		_, compared := v.comparedAt(m.Name, at)
		return m.Per == lab.PerOperation && total || !compared
	})
}

// widestMatrix is the largest number of metrics that the matrix has as columns; more become rows.
const widestMatrix = 8

// ratioCell shows a comparison. Only a difference beyond the margin has a tone.
func (v view) ratioCell(c lab.Comparison, measured bool) cell {
	if !measured {
		return none()
	}
	if v.struckOut(c.Variant) || v.struckOut(c.Baseline) {
		return toned("x struck out", toneWarn)
	}
	return judgedCell(c.Ratio, c.Verdict)
}

// judgedCell shows a ratio with the verdict on it.
func judgedCell(r lab.Ratio, verdict lab.ComparisonVerdict) cell {
	switch ratio := figure.Times(r.Estimate()); verdict {
	case lab.Equivalent:
		return toned("~ "+ratio, toneMuted)
	case lab.Undecided:
		return toned("? "+ratio, toneNone)
	default:
		return toned(ratio, toneOf(verdict))
	}
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
	p, found := find(v.Points, func(p lab.Point) bool { return compared(p.Name) })
	return cmp.Or(p.Name, at), found
}
