package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// sample says how many trials stand behind the cells of a table.
func (v view) sample() string {
	return fmt.Sprintf("n=%d blocks, %s intervals, scale %s", v.Blocks, figure.Setting(v.Confidence),
		plainNumber(v.Scale))
}

// rawTable lists every valid trial of the headline metric (the study's Table 1).
func (v view) rawTable() table {
	m := v.headline()
	t := table{ID: "raw", Title: "Raw values: " + m.Title, Keys: 2,
		Note:    "one value per valid trial, in block order; scale " + plainNumber(v.Scale),
		Columns: []column{words("point"), words("variant"), numbers("n"), words("unit"), prose("values")}}
	for _, p := range v.Points {
		for _, x := range v.variants() {
			r, ok := v.results[place{m.Name, x.Name, p.Name}]
			if !ok {
				continue
			}
			unit, factor := figure.Scale(r.Mean, r.Unit)
			t.add(text(p.Name), text(x.Name), text(fmt.Sprint(r.N)), text(unit), text(values(r, factor)))
		}
	}
	return t
}

// values writes the trials of a result, times the factor of their unit, in four significant digits.
func values(r lab.Result, factor float64) string {
	digits := figure.Decimals(figure.Alone(r.Mean*factor)) + 1
	parts := make([]string, len(r.Values))
	for i, value := range r.Values {
		parts[i] = figure.Fixed(value*factor, digits)
	}
	return strings.Join(parts, "  ")
}

// byPoint lays a figure out as one row per point and one column per variant.
// Variants and points without a figure are left out.
func (v view) byPoint(
	t table, variants []lab.Variant, figure func(variant, point string) (cell, bool),
) table {
	t.Columns, t.Keys = []column{words("point"), words("levels")}, 1
	kept := slices.DeleteFunc(slices.Clone(variants), func(x lab.Variant) bool {
		return !slices.ContainsFunc(v.Points, func(p lab.Point) bool { _, ok := figure(x.Name, p.Name); return ok })
	})
	for _, x := range kept {
		t.Columns = append(t.Columns, numbers(x.Name))
	}
	for _, p := range v.Points {
		row, any := []cell{text(p.Name), toned(v.levels(p), toneMuted)}, false
		for _, x := range kept {
			c, ok := figure(x.Name, p.Name)
			if !ok {
				c = toned(absent, toneMuted)
			}
			any = any || ok
			row = append(row, c)
		}
		if any {
			t.add(row...)
		}
	}
	return t
}

// levels shows the levels of a point that the study varies: "pings 500,
// workers 10". With a single point it shows all of them.
func (v view) levels(p lab.Point) string {
	parts := make([]string, 0, len(p.Levels))
	for _, factor := range p.Factors() {
		if level, _ := p.Level(factor); len(v.Points) == 1 || v.varies(factor) {
			parts = append(parts, factor+" "+lab.Plain(level))
		}
	}
	return strings.Join(parts, ", ")
}

// varies reports whether the points of the study differ in a factor.
func (v view) varies(factor string) bool {
	first, ok := v.Points[0].Level(factor)
	return slices.ContainsFunc(v.Points, func(p lab.Point) bool {
		level, has := p.Level(factor)
		return level != first || has != ok
	})
}

// meansTable shows the mean of a metric with its interval (the study's Table 2).
func (v view) meansTable(metric string) table {
	m := v.metric(metric)
	t := table{ID: "means-" + metric, Title: "Means: " + m.Title, Note: v.sample()}
	return v.byPoint(t, v.variants(), func(variant, point string) (cell, bool) {
		r, ok := v.results[place{metric, variant, point}]
		return text(figure.Quantity(r.Estimate(), r.Unit)), ok
	})
}

// pairsTable shows the ratio between two variants of which neither is the
// baseline (the study's Table 3).
func (v view) pairsTable() table {
	m := v.headline()
	t := table{ID: "pairs", Title: "Ratio between variants: " + m.Title, Keys: 1,
		Columns: []column{words("point")},
		Note:    "first / second, geometric mean over blocks; " + v.sample()}
	pairs := v.pairs()
	for _, p := range pairs {
		t.Columns = append(t.Columns, numbers(p.variant+" / "+p.baseline))
	}
	for _, point := range v.Points {
		row, any := []cell{text(point.Name)}, false
		for _, p := range pairs {
			c, ok := v.comparisons[against{place{m.Name, p.variant, point.Name}, p.baseline}]
			any = any || ok
			row = append(row, v.ratioCell(c, ok))
		}
		if any {
			t.add(row...)
		}
	}
	return t
}

// ratiosTable shows the ratio of every variant to the baseline (Table 4).
func (v view) ratiosTable(metric string) table {
	m := v.metric(metric)
	t := table{ID: "ratios-" + metric, Title: "Ratio to " + clean(v.Baseline) + ": " + m.Title,
		Note: "variant / " + clean(v.Baseline) + " (base), geometric mean over blocks; " + v.sample()}
	return v.byPoint(t, v.challengers(), func(variant, point string) (cell, bool) {
		c, ok := v.ratio(metric, variant, point)
		return v.ratioCell(c, ok), ok
	})
}

// ratioCell shows a comparison. Only a difference beyond the margin has a tone.
func (v view) ratioCell(c lab.Comparison, measured bool) cell {
	if !measured {
		return toned(absent, toneMuted)
	}
	if v.struckOut(c.Variant) || v.struckOut(c.Baseline) {
		return toned("x struck out", toneWarn)
	}
	switch ratio := figure.Times(c.Ratio.Estimate()); c.Verdict {
	case lab.Equivalent:
		return toned("~ "+ratio, toneMuted)
	case lab.Undecided:
		return toned("? "+ratio, toneNone)
	case lab.Faster:
		return toned(ratio, toneGood)
	default:
		return toned(ratio, toneBad)
	}
}

// widestMatrix is how many metrics the matrix has as columns; more become rows.
const widestMatrix = 8

// matrixTable shows every variant against every metric at the reference point. The metrics
// whose bars stand over it are left out, unless all are asked for.
func (v view) matrixTable(all bool) table {
	at := v.reference()
	t := table{ID: "matrix", Title: "Verdicts at " + clean(v.at(at)), Keys: 1,
		Columns: []column{words("variant")},
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
		t.Columns = append(t.Columns, numbers(v.question(m, at)))
	}
	for _, x := range v.challengers() {
		row, any := []cell{text(x.Name)}, false
		for _, m := range metrics {
			point, _ := v.comparedAt(m.Name, at)
			c, ok := v.ratio(m.Name, x.Name, point)
			any = any || ok
			row = append(row, v.ratioCell(c, ok))
		}
		if any {
			t.add(row...)
		}
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

// ladderTable shows what one operation costs in every variant, cheapest first.
func (v view) ladderTable() table {
	t := table{ID: "ladder", Title: fmt.Sprintf("Ladder: cost of one %s at %s", clean(v.Operation),
		clean(v.reference())), Keys: 1,
		Columns: []column{words("variant"), numbers("CPU"), numbers("wall"), numbers("CPU to base"),
			numbers("CPU to next cheaper"), prose("what it is")},
		Note: fmt.Sprintf("means per %s over all units; base: %s; %s", clean(v.Operation), clean(v.Baseline),
			v.sample())}
	before := ""
	for _, r := range v.Ladder {
		cpu, wall := figure.Amount(r.CPU, "s"), figure.Amount(r.Elapsed, "s")
		base, next := rung(r.ToBaseline), rung(r.ToNext)
		if r.Variant == v.Baseline {
			base = toned("base", toneMuted)
		}
		if v.struckOut(r.Variant) {
			base, next = toned("x struck out", toneWarn), toned("x", toneWarn)
		} else if v.struckOut(before) {
			next = toned("x", toneWarn)
		}
		before = r.Variant
		t.add(text(r.Variant), text(cpu), text(wall), base, next, toned(r.Summary, toneMuted))
	}
	return t
}

// rung shows a step of the ladder.
func rung(r *lab.Ratio) cell {
	if r == nil {
		return toned(absent, toneMuted)
	}
	return text(figure.Times(r.Estimate()))
}
