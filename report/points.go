package report

import (
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// pointsSection shows ratios along the points of a job. A system under load has curves instead, and an
// average over its rates would mean nothing.
func (v view) pointsSection() section {
	m := v.headlineMetric()
	swept := func(x lab.Variant) bool { // it was compared at two points or more
		compared := func(p lab.Point) bool { _, ok := v.ratio(m.Name, x.Name, p.Name); return ok }
		return len(filter(v.Points, compared)) > 1
	}
	if len(v.Curves) > 0 || !slices.ContainsFunc(v.challengers(), swept) {
		return section{}
	}
	const title = "Ratio by point"
	return section{ID: "points", Title: title, Plots: v.onlyPlot("points", title),
		Shown:  []table{v.averagesTable()},
		Folded: []table{v.pairsTable(), v.ratiosTable(m.Name)},
		Caption: fmt.Sprintf("%s, variant / %s (base), log axis, one group per point; %s.", sentenceCase(m.Title),
			v.Baseline, v.sample()),
		HowTo: "If one number described the variant, all its dots would lie on a level line within their bars. " +
			"Where they do not, an average over points hides the finding: " +
			"the prediction interval in the table says what to expect at a new point."}
}

// averagesTable shows ratios averaged over points, and whether one number may stand for all.
func (v view) averagesTable() table {
	t := table{ID: "averages", Title: "Ratios averaged over points", Keys: 1,
		Note: "I2: share of the spread over points that is not noise (above 50 % no single number stands for all " +
			"points); prediction: " + figure.Setting(v.Confidence) + " interval for a new point",
		Columns: columns{}.text("ratio", "metric").number("points", "arithmetic", "geometric", "harmonic",
			"of sums", "I2", "random-effects mean", "prediction").text("one number?")}
	ratios := func(values ...float64) []cell {
		return cells(values, func(value float64) cell { return text(figure.Multiple(value)) })
	}
	for _, a := range v.Averages {
		verdict := toned("no", toneWarn)
		if a.Homogeneous {
			verdict = toned("yes", toneGood)
		}
		t.add(a.Variant+" / "+a.Baseline, a.Metric, len(a.Points),
			ratios(a.Arithmetic, a.Geometric, a.Harmonic, a.OfSums), unlessNil(a.I2, figure.Percent),
			unlessNil(a.Mean, times), span(a.PredictionLow, a.PredictionHigh), verdict)
	}
	return t
}

// pairsTable shows the ratios between two variants neither of which is the
// baseline (Table 3 of rego2021).
func (v view) pairsTable() table {
	m := v.headlineMetric()
	t := table{ID: "pairs", Title: "Ratio between variants: " + m.Title, Keys: 1,
		Columns: columns{}.text("point"),
		Note:    "first / second, geometric mean over blocks; " + v.sample()}
	pairs := v.otherPairs()
	for _, p := range pairs {
		t.Columns = t.Columns.number(p.variant + " / " + p.baseline)
	}
	for _, point := range v.Points {
		t.addMeasured(point.Name, cells(pairs, func(p pair) cell {
			c, ok := v.comparisons[comparisonKey{figureKey{m.Name, p.variant, point.Name}, p.baseline}]
			return ratioCell(c, ok)
		}))
	}
	return t
}

// pair names two variants that are compared with each other.
type pair struct{ variant, baseline string }

// otherPairs returns the pairs of compared variants without the baseline, such
// as one service variant over the other, in the order of the comparisons.
func (v view) otherPairs() []pair {
	var found []pair
	for _, c := range v.Comparisons {
		p := pair{c.Variant, c.Baseline}
		if c.Baseline != v.Baseline && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}

// span formats an interval without its centre: "[1.2, 1.4]".
func span(low, high *float64) string {
	if low == nil || high == nil {
		return absent
	}
	digits := figure.Decimals(figure.Between((*low+*high)/2, *low, *high))
	return "[" + figure.Fixed(*low, digits) + ", " + figure.Fixed(*high, digits) + "]"
}
