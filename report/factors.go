package report

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// effectTables returns a table of the effects of a factorial design for each metric that the answer explains,
// or for all metrics.
func (v view) effectTables(all bool) []table {
	shown := v.FactorEffects
	if !all {
		shown = lab.ExplainedEffects(shown)
	}
	var tables []table
	for i, on := range shown {
		tables = append(tables, v.effectTable(i, on))
	}
	return tables
}

// effectTable shows the effects on one metric.
func (v view) effectTable(i int, on lab.FactorEffects) table {
	t := table{ID: fmt.Sprintf("effects-%d", i), Title: fmt.Sprintf("Effects on %s at %s",
		v.metric(on.Metric).Title, v.at(on.Point.Name)), Keys: 1,
		Columns: columns{}.prose("effect").number("ratio", "Holm p").prose("in words")}
	for _, x := range on.Effects {
		p := unlessNil(x.PHolm, figure.Rounded)
		t.add(x.Label, judgedCell(x.Ratio, x.Verdict), p, x.Words)
	}
	return t
}

// factorsTable shows the factors and their levels, and describes their design.
func (v view) factorsTable() table {
	d := v.Factorial
	if d == nil {
		return table{}
	}
	t := table{ID: "factors", Title: "Factors of the design " + d.Notation, Keys: 1, Note: v.designNote(*d),
		Columns: columns{}.text("letter", "factor", "first level", "second level")}
	for i, factor := range d.Factors {
		t.add(string(rune('A'+i)), factor.Knob, factor.Low, factor.High)
	}
	return t
}

// designNote explains the ratios of a design, and describes the design itself.
func (v view) designNote(d lab.Factorial) string {
	return fmt.Sprintf("ratio of a factor: second level / first level, averaged over the levels of the others; "+
		"of a pair (x): effect of one at the other's second level / at its first; ~ equivalent within the "+
		"margin (%s, or a bias), ? undecided, also where it is not significant among all effects on the metric "+
		"(Holm); %s; %s", figure.Setting(v.Margin), v.sample(), d.Description())
}

// factorsSection shows the effects of a factorial design.
func (v view) factorsSection() section {
	if v.Factorial == nil {
		return section{}
	}
	s := section{ID: "factors", Title: "Factors", Wide: true,
		Shown: []table{v.factorsTable()}, Folded: v.effectTables(true),
		Caption: fmt.Sprintf("Ratio of every effect on a log axis; whiskers: %s intervals; %s. Red: worse, green: "+
			"better, grey: equivalent or undecided.", figure.Setting(v.Confidence), v.sample()),
		HowTo: "The bar of a factor is what its second level changes, averaged over the levels of the others. " +
			"The bar of a pair (x) shows whether the two act alone: at 1 they do, to the right they cost more " +
			"together than the product of what each costs, to the left less. A factor in such a pair has no " +
			"effect of its own that holds at both levels of the other."}
	for i, on := range lab.ExplainedEffects(v.FactorEffects) {
		title := v.metric(on.Metric).Title + " at " + v.at(on.Point.Name)
		if p := barsPlot(fmt.Sprintf("plot-effects-%d", i), on.Chart(title, v.Baseline)); p != nil {
			s.Plots = append(s.Plots, *p)
		}
	}
	return s
}
