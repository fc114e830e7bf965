package ci

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// headlineRows returns the bars of the answer.
func headlineRows(h *lab.Headline) [][]string {
	if h == nil {
		return nil
	}
	rows := [][]string{{h.Title, "ratio to " + h.Baseline, "verdict"}}
	for _, b := range h.Bars {
		rows = append(rows, []string{b.Label, figure.Times(b.Estimate()), string(b.Verdict)})
	}
	return rows
}
