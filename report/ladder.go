package report

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// ladderSection shows the variants in the order of the CPU time of an operation.
func (v view) ladderSection() section {
	t := v.ladderTable()
	s := section{ID: "ladder", Title: "Ladder",
		Caption: t.Title + ", log axis; " + t.Note + ".", Shown: []table{t},
		HowTo: fmt.Sprintf("From the cheapest to the dearest way to do one %s. Filled marks are CPU time of all "+
			"units together, hollow marks are wall time divided by the number of %ss; "+
			"wall lies below CPU where units work side by side. The distance between two rungs is the price of the "+
			"step between them.", v.Operation, v.Operation)}
	s.Plots = v.onlyPlot("ladder", s.Title)
	return s
}

// ladderTable shows the cost of an operation in every variant, the cheapest first.
func (v view) ladderTable() table {
	t := table{ID: "ladder", Title: fmt.Sprintf("Ladder: cost of one %s at %s", clean(v.Operation),
		clean(v.reference())), Keys: 1,
		Columns: []column{textCol("variant"), numberCol("CPU"), numberCol("wall"), numberCol("CPU to base"),
			numberCol("CPU to next cheaper"), proseCol("what it is")},
		Note: fmt.Sprintf("means per %s over all units; base: %s; %s", clean(v.Operation), clean(v.Baseline),
			v.sample())}
	before := ""
	for _, r := range v.Ladder {
		cpu, wall := seconds(r.CPU), seconds(r.Elapsed)
		base, next := rung(r.ToBaseline), rung(r.ToNext)
		if r.Variant == v.Baseline {
			base = toned("base", toneMuted)
		}
		if v.StruckOut(r.Variant) {
			base, next = toned("x struck out", toneWarn), toned("x", toneWarn)
		} else if v.StruckOut(before) {
			next = toned("x", toneWarn)
		}
		before = r.Variant
		t.add(r.Variant, cpu, wall, base, next, toned(r.Summary, toneMuted))
	}
	return t
}

// rung shows a ratio between two rungs of the ladder.
func rung(r *lab.Ratio) cell {
	if r == nil {
		return none()
	}
	return text(figure.Times(r.Estimate()))
}
