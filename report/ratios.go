package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// forestSection shows the ratio of every variant to the baseline, with its interval.
func (v view) forestSection() section {
	m := v.headlineMetric()
	s := section{ID: "ratios", Title: "Ratios",
		Caption: fmt.Sprintf("%s, variant / %s (base), log axis; dots: geometric means over blocks, bars: %s "+
			"intervals; %s.", sentenceCase(m.Title), v.Baseline, figure.Setting(v.Confidence), v.sample()),
		HowTo: fmt.Sprintf("The line at 1 is %s. A bar that lies wholly to its right needs more, wholly to its "+
			"left less. The grey band is the margin (%s, or a bias where that reaches farther). A bar within the "+
			"margin is equivalent, one that only lies within a bias is undecided. "+
			"The dotted box is the same variant against itself, the widest such interval: it should hold 1. "+
			"Distances on a log axis are factors: 2x and 0.5x lie equally far from 1.", v.Baseline,
			figure.Setting(v.Margin))}
	if slices.ContainsFunc(v.Comparisons, func(c lab.Comparison) bool { return c.PiledUp }) {
		s.Caption += " *: a rate that one of the two did not hold, so that the ratio grows with the length of " +
			"the load."
	}
	s.Plots = v.onlyPlot("forest", s.Title)
	for _, metric := range v.matrixMetrics(v.reference()) {
		s.Folded = append(s.Folded, v.ratiosTable(metric.Name))
	}
	return s
}

// ratiosTable shows the ratio of every variant to the baseline at every point (Table 4 of rego2021).
func (v view) ratiosTable(metric string) table {
	m := v.metric(metric)
	t := table{ID: "ratios-" + metric, Title: "Ratio to " + v.Baseline + ": " + m.Title,
		Note: "variant / " + v.Baseline + " (base), geometric mean over blocks; " + v.sample()}
	return v.byPoint(t, v.challengers(), func(variant, point string) (cell, bool) {
		c, ok := v.ratio(metric, variant, point)
		return ratioCell(c, ok), ok
	})
}

// byPoint fills a table with one row per point and one column per variant.
// Variants and points without a figure are left out.
func (v view) byPoint(
	t table, variants []lab.Variant, figureAt func(variant, point string) (cell, bool),
) table {
	t.Columns = columns{}.text("point", "levels")
	t.Keys = 1
	kept := filter(variants, func(x lab.Variant) bool {
		has := func(p lab.Point) bool { _, ok := figureAt(x.Name, p.Name); return ok }
		return slices.ContainsFunc(v.Points, has)
	})
	t.addVariants(kept)
	for _, p := range v.Points {
		head := []cell{text(p.Name), toned(v.levels(p), toneMuted)}
		t.addMeasured(head, cells(kept, func(x lab.Variant) cell {
			if c, ok := figureAt(x.Name, p.Name); ok {
				return c
			}
			return none()
		}))
	}
	return t
}

// levels formats the levels of a point that the study varies: "pings 500,
// workers 10". With a single point it formats all of them.
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
