package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// curvesSection shows how times and throughput follow the offered rate.
func (v view) curvesSection() section {
	s := section{ID: "curves", Title: "Load and latency", Wide: true,
		Caption: fmt.Sprintf("Times and completed %ss over the offered rate in %ss per second; times on log "+
			"axes. Small marks: trials; lines: medians over trials (n=%d blocks). "+
			"Hollow: a rate that was not held.%s", v.Operation, v.Operation, v.Blocks, v.capacityCaption()),
		HowTo: "Follow a line to the right until it bends upwards: there the variant begins to queue. A median " +
			"that stays level says little while the 99th percentile climbs. " +
			"At hollow marks whose rate was not begun in time work piled up, so that the time depends on how long " +
			"the load lasted. In the plots of throughput, a variant that leaves the dotted diagonal answers less " +
			"than it is asked."}
	finish, _ := v.finishTime()
	s.Shown = []table{v.heldTable(), v.capacityTable(), v.curveTable(finish)}
	s.Folded = []table{v.searchesTable()}
	for _, kind := range []string{"curve", "throughput", "share"} {
		for _, m := range v.drawnCurves(kind) {
			s.Plots = append(s.Plots, plot{ID: "plot-" + kind + "-" + slug(m.Name), Kind: kind, Metric: m.Name,
				Limit: v.limit(m), Capacities: m.Name == finish.Name,
				Title: shortTitle(m), Label: sentenceCase(m.Title) + " over the offered rate"})
		}
	}
	for _, m := range v.Metrics {
		if v.hasCurve(m.Name) && m.Name != finish.Name {
			s.Folded = append(s.Folded, v.curveTable(m))
		}
	}
	return s
}

// capacityCaption explains the brackets and the line of the objective.
func (v view) capacityCaption() string {
	var parts []string
	if len(v.capacityTable().Rows) > 0 {
		parts = append(parts, fmt.Sprintf(" Brackets below the curves: capacity with its %s interval.",
			figure.Setting(v.Confidence)))
	}
	if v.Objective != "" {
		parts = append(parts, fmt.Sprintf(" Dashed line: the limit of the objective (%s).", v.Objective))
	}
	return strings.Join(parts, "")
}

// spectraSection shows whole distributions.
func (v view) spectraSection() section {
	s := section{ID: "spectra", Title: "Distributions", Wide: true,
		Caption: fmt.Sprintf("Percentile spectra: the share of %ss on an axis of 1/(1 - share), so that every "+
			"step to the right is a ten times rarer %s; times on a log axis. "+
			"Thin: trials; thick: median over %d blocks at each share. Times run from the intended start.",
			v.Operation, v.Operation, v.Blocks),
		HowTo: "Read off at 99 % what one in a hundred takes at least. A line that rises steadily is an ordinary " +
			"tail; one that jumps hides a second kind of " + v.Operation + ", such as one that met a retry. " +
			"The service time starts at the actual sending: it leaves out what waited to be sent, and is shown on " +
			"request only."}
	for _, quantity := range []string{lab.ResponseTime, lab.CompletionTime} {
		point, ok := v.spectrumAt(quantity)
		if !ok {
			continue
		}
		title := sentenceCase(quantity)
		s.Plots = append(s.Plots, plot{ID: "plot-spectrum-" + slug(quantity), Kind: "spectrum", Metric: quantity,
			Point: point, Title: title, Label: title + " as a percentile spectrum at " + v.at(point) + ". "})
		s.Shown = append(s.Shown, v.spectrumTable(quantity, point))
		s.Folded = append(s.Folded, v.otherSpectra(quantity, point)...)
		if quantity == lab.ResponseTime {
			s.Shown = append(s.Shown, v.operationsTable(point))
		}
	}
	if at, ok := v.spectrumAt(lab.ServiceTime); ok {
		s.Folded = append(s.Folded, v.spectrumTable(lab.ServiceTime, at))
	}
	return s
}

// stalenessSection shows how far read models lag.
func (v view) stalenessSection() section {
	s := section{ID: "staleness", Title: "Staleness",
		Caption: fmt.Sprintf("From a change on the write side until a read model shows it, as a percentile "+
			"spectrum on log axes; thin: trials, thick: median over %d blocks.", v.Blocks),
		HowTo: "At 99 % the line says how old one in a hundred answers of the read model may be. A variant that " +
			"reads what it writes has no line: it is never stale."}
	if at, ok := v.spectrumAt(lab.Staleness); ok {
		s.Plots = []plot{{ID: "plot-spectrum-staleness", Kind: "spectrum", Metric: lab.Staleness, Point: at,
			Label: s.Title}}
		s.Shown = []table{v.spectrumTable(lab.Staleness, at)}
		s.Folded = v.otherSpectra(lab.Staleness, at)
	}
	return s
}

// waterfallSection shows the ways from one architecture to another.
func (v view) waterfallSection() section {
	s := section{ID: "waterfall", Title: "Where the cost comes from", Wide: true,
		Caption: fmt.Sprintf("%s: every bar is a step's ratio to the step before it, on a log axis, and begins "+
			"where the last one ended; whiskers: %s intervals of the step; %s. "+
			"The last bar is the whole way, the product of the steps. Red: worse, green: better, grey: equivalent "+
			"or undecided.", sentenceCase(v.pace()), figure.Setting(v.Confidence), v.sample()),
		HowTo: "Bars to the right cost more of what the plot measures, bars to the left less; where more is " +
			"better, left is the loss. On a log axis equal lengths are equal factors, and the steps multiply to the " +
			"whole. " +
			v.limitOfSteps()}
	for i, w := range v.Waterfalls {
		s.Folded = append(s.Folded, v.waterfallTable(i, w))
		if !slices.ContainsFunc(v.explained(false), func(x lab.Waterfall) bool { return x.Metric == w.Metric }) {
			continue
		}
		title := v.metric(w.Metric).Title + " at " + v.at(w.Point.Name)
		if p := barsPlot(fmt.Sprintf("plot-waterfall-%d", i), w.Chart(title)); p != nil {
			s.Plots = append(s.Plots, *p)
		}
	}
	s.Shown = []table{v.stepsTable(false), v.interactionTable()}
	return s
}

// pathsSection shows where the time of an operation goes.
func (v view) pathsSection() section {
	s := section{ID: "paths", Title: "Where the time goes", Wide: true,
		HowTo: "The bars of " + figure.Article(v.Operation) +
			" lie end to end: at every moment it waited for exactly one thing, in the unit of that row. Long bars " +
			"of one colour are what to work on first; " +
			"what runs beside the path is not drawn, because it costs no time. A median " + v.Operation +
			" is a typical one, not a mean; the 99th percentile shows what goes wrong when it goes wrong."}
	at, ok := v.shownAt(func(point string) bool {
		for _, x := range v.variants() {
			if len(v.paths(x.Name, point)) > 0 {
				return true
			}
		}
		return false
	})
	if !ok {
		return section{}
	}
	s.Caption = fmt.Sprintf("Critical paths at %s, from the intended start to the final state; every plot has "+
		"a scale of its own. Each is the path of the trial whose value is the median of %d blocks.", v.at(at),
		v.Blocks)
	if slices.ContainsFunc(v.Paths, func(p lab.TrialPath) bool {
		return p.Point.Name == at && p.Share == lab.PathMean
	}) {
		s.Plots = append(s.Plots, plot{ID: "plot-path-mean", Kind: "path-mean", Point: at,
			Title: "Mean over all traced " + v.Operation + "s",
			Label: "Mean time of " + figure.Article(v.Operation) + " by kind at " + v.at(at), Whole: true})
	}
	for i, p := range v.Paths {
		if p.Point.Name != at || p.Share == lab.PathMean || v.struckOut(p.Variant) || v.isTwin(p.Variant) {
			continue
		}
		title := fmt.Sprintf("%s, %s: %s", p.Variant, v.shareWords(p.Share), figure.Amount(p.Seconds, "s"))
		s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-path-%d", i), Kind: "path", Index: i, Title: title,
			Label: "Critical path of " + title + ", by unit and kind"})
	}
	s.Shown = []table{v.kindsTable(at)}
	s.Folded = v.pathTables(at)
	return s
}

// usageSection shows CPU and memory by unit.
func (v view) usageSection() section {
	at, ok := v.shownAt(func(point string) bool {
		for _, x := range v.variants() {
			if len(v.usages(x.Name, point)) > 0 {
				return true
			}
		}
		return false
	})
	if !ok {
		return section{}
	}
	s := section{ID: "usage", Title: "CPU and memory", Wide: true,
		Caption: fmt.Sprintf("By unit and backing service at %s, medians over %d blocks; one fill per unit "+
			"throughout. Dashed outline: the load generator, which is no part of the system and in no sum.", v.at(at),
			v.Blocks),
		HowTo: "CPU per " + v.Operation + " is what one more costs; the share of a processor says which unit is " +
			"busy at this load, and how near the host is to its limit. " +
			"Memory is the peak over the load; the peaks of units need not fall together."}
	for _, kind := range []string{"cpu", "share", "memory"} {
		title := map[string]string{"cpu": "CPU time per " + v.Operation, "share": "Share of one processor",
			"memory": "Peak memory"}[kind]
		s.Plots = append(s.Plots, plot{ID: "plot-usage-" + kind, Kind: "usage", Metric: kind, Point: at,
			Title: title, Label: title + " by unit at " + v.at(at), Whole: kind == "cpu"})
	}
	s.Folded = append([]table{v.usageTable(at), v.platformTable(at), v.nodesTable()}, v.otherUsages(at)...)
	return s
}
