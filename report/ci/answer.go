package ci

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// headlineRows are the comparisons of the first metric with the baseline.
func headlineRows(a lab.Analysis) [][]string {
	rows := [][]string{{"variant", "point", "variant / " + a.Baseline, "verdict"}}
	for _, c := range a.Comparisons {
		if c.Metric == a.Metrics[0].Name && c.Baseline == a.Baseline {
			ratio := figure.Times(c.Ratio.Ratio, c.Low, c.High)
			rows = append(rows, []string{c.Variant, c.Point.Name, ratio, c.Words})
		}
	}
	return rows
}
