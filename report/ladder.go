package report

import "fmt"

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

// ladderTable shows the cost of an operation in every variant, the cheapest first. All rungs are of one
// point, which need not be that of the answer.
func (v view) ladderTable() table {
	if len(v.Ladder) == 0 {
		return table{}
	}
	t := table{ID: "ladder", Keys: 1,
		Title: fmt.Sprintf("Ladder: cost of one %s at %s", v.Operation, v.Ladder[0].Point),
		Columns: columns{}.text("variant").number("CPU", "wall", "CPU to base", "CPU to next cheaper").
			prose("what it is"),
		Note: fmt.Sprintf("means per %s over all units; base: %s; %s", v.Operation, v.Baseline, v.sample())}
	for _, r := range v.Ladder {
		cpu := seconds(r.CPU)
		wall := seconds(r.Elapsed)
		base := unlessNil(r.ToBaseline, times)
		next := unlessNil(r.ToNext, times)
		if r.Variant == v.Baseline {
			base = toned("base", toneMuted)
		}
		t.add(r.Variant, cpu, wall, base, next, toned(r.Summary, toneMuted))
	}
	return t
}
