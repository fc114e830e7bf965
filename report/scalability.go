package report

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// scalabilitySection shows throughput over the number of users, processors or replicas.
func (v view) scalabilitySection() section {
	s := section{ID: "scalability", Title: "Scalability", Shown: []table{v.scalingTable()},
		Caption: fmt.Sprintf("Small dots: trials; large dots: means over the blocks with all levels; line: the "+
			"Universal Scalability Law with its %s band; dashed: beyond what was measured, up to twice the largest "+
			"level.", figure.Setting(v.Confidence)),
		HowTo: "Contention is the share of work that waits for others; coherency is what each pair that must " +
			"agree costs. With contention alone the line becomes level; with coherency it has a peak, beyond " +
			"which more do less together. What is dashed was not measured: plan no purchase by it, but the " +
			"next trial. Where the law is refused, the table says why."}
	for i, f := range v.ScalingFits {
		if f.Refused != "" {
			continue
		}
		what := sentenceCase(v.metric(f.Metric).Title)
		title := fmt.Sprintf("%s of %s along %s, %s", what, scaledBy(f), f.Factor, f.From())
		s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-scaling-%d", i), Kind: "scaling", Index: i,
			Title: title, Label: title + ". " + f.Words})
		s.Notes = append(s.Notes, clean(f.Words))
	}
	return s
}

// scaledBy returns the variant of a law, or the number of variants if there are several.
func scaledBy(f lab.ScalingFit) string {
	if n := len(f.Variants); n > 0 {
		return lab.Count(n, "variant")
	}
	return f.Variant
}

// scalingTable shows the scalability law of each variant, or why there is none.
func (v view) scalingTable() table {
	t := table{ID: "laws", Title: "Scalability law", Keys: 3,
		Note: fmt.Sprintf("X(N) = throughput of one N / (1 + contention (N-1) + coherency N (N-1)), with %s "+
			"intervals over the blocks", figure.Setting(v.Confidence)),
		Columns: columns{}.text("along", "variant", "points").number("levels", "blocks", "throughput of one",
			"contention", "coherency", "peak at").prose("refused")}
	for _, f := range v.ScalingFits {
		var single, contention, coherency, peak string
		if f.Refused == "" {
			single = figure.Quantity(*f.Lambda, f.Unit)
			contention = figure.Quantity(f.Sigma.Times(100), "%")
			coherency = figure.Quantity(f.Kappa.Times(100), "%")
			peak = "none up to " + plainNumber(f.Curve[len(f.Curve)-1].Level)
			if f.Peak != nil {
				peak = peakOf(*f.Peak)
			}
		}
		t.add(f.Factor, scaledBy(f), f.From(), len(f.X), f.Blocks, single, contention, coherency, peak,
			toned(f.Refused, toneWarn))
	}
	return t
}

// peakOf formats the level of the highest throughput.
func peakOf(e lab.Estimate) string {
	if e.High == nil {
		return figure.Rounded(e.Value) + " or more"
	}
	return figure.Number(e)
}
