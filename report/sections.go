package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// section is one part of the page: its plots, how to read them and
// the tables with the same numbers.
type section struct {
	ID      string
	Title   string // what the part is about, in a word or two
	Caption string // unit, base, n, scale
	HowTo   string
	Plots   []plot
	Wide    bool    // its plots stand two in a row, else as many as fit
	Shown   []table // always open
	Folded  []table // in <details>: the data behind the plots
	// Filter puts a filter over the first shown table, drawn by the script.
	Filter bool
	Notes  []string
}

// plot is a place that the script draws into. Kind names the drawing.
type plot struct {
	ID    string
	Kind  string
	Index int // which of a list of the analysis
	// Metric, Point and Limit (in the metric's unit, 0: none) say what is drawn,
	// where the kind leaves a choice.
	Metric string
	Point  string
	Limit  float64
	// Capacities stand below the curve.
	Capacities bool
	Bars       string // of Kind "headline": a lab.Headline as JSON
	Whole      bool   // takes a row of its own among others
	Title      string
	Label      string // the text alternative
	Note       string // under the plot
}

// sections returns the parts of the page after the answer; parts without any data
// are left out.
func (v view) sections() []section {
	var kept []section
	for _, build := range []func() section{v.bottleneckSection, v.verdictSection, v.forestSection,
		v.curvesSection, v.spectraSection, v.coursesSection,
		v.waterfallSection, v.pictureSection, v.pathsSection, v.tracedSection,
		v.layersSection, v.ladderSection, v.pointsSection, v.trendsSection, v.usageSection, v.takesSection,
		v.costSection, v.stalenessSection, v.claimsSection, v.publishedSection, v.trustSection} {
		s := build()
		s.Shown, s.Folded = filled(s.Shown...), filled(s.Folded...)
		if len(s.Shown)+len(s.Folded) == 0 {
			continue
		}
		s.Caption = clean(s.Caption)
		for i, p := range s.Plots {
			s.Plots[i].Title, s.Plots[i].Metric, s.Plots[i].Point = clean(p.Title), clean(p.Metric), clean(p.Point)
			s.Plots[i].Note = clean(p.Note)
			s.Plots[i].Label = clean(p.Label + ". " + s.Caption + " The table below has the same numbers.")
		}
		kept = append(kept, s)
	}
	return kept
}

// one returns a section's only plot, labelled with the section's title.
func (v view) one(kind, title string) []plot {
	return []plot{{ID: "plot-" + kind, Kind: kind, Metric: v.headline().Name, Label: title}}
}

func (v view) verdictSection() section {
	t := v.matrixTable(true)
	return section{ID: "verdicts", Title: "Verdicts", Caption: t.Note,
		Shown: []table{t},
		HowTo: fmt.Sprintf("Each cell is the variant's value over that of %s, with its interval. Red is worse, "+
			"green is better, both by more than the margin of %s. "+
			"A ~ says that the two are equivalent: the whole interval lies within the margin. A ? says that the "+
			"data do not decide.", v.Baseline, figure.Setting(v.Margin))}
}

func (v view) forestSection() section {
	m := v.headline()
	s := section{ID: "ratios", Title: "Ratios",
		Caption: fmt.Sprintf("%s, variant / %s (base), log axis; dots: geometric means over blocks, bars: %s "+
			"intervals; %s.", sentenceCase(m.Title), v.Baseline, figure.Setting(v.Confidence), v.sample()),
		HowTo: fmt.Sprintf("The line at 1 is %s. A bar that lies wholly to its right needs more, wholly to its "+
			"left less. The grey band is the margin (%s, or a bias where that reaches farther): bars inside it are "+
			"equivalent. "+
			"The dotted box is the same variant against itself, the widest such interval: it should hold 1. "+
			"Distances on a log axis are factors: 2x and 0.5x lie equally far from 1.", v.Baseline,
			figure.Setting(v.Margin))}
	if slices.ContainsFunc(v.Comparisons, func(c lab.Comparison) bool { return c.PiledUp }) {
		s.Caption += " *: a rate that one of the two did not hold, so that the ratio grows with the length of " +
			"the load."
	}
	s.Plots = v.one("forest", s.Title)
	for _, metric := range v.matrixMetrics(v.reference()) {
		s.Folded = append(s.Folded, v.ratiosTable(metric.Name))
	}
	return s
}

func (v view) ladderSection() section {
	t := v.ladderTable()
	s := section{ID: "ladder", Title: "Ladder",
		Caption: t.Title + ", log axis; " + t.Note + ".", Shown: []table{t},
		HowTo: fmt.Sprintf("From the cheapest to the dearest way to do one %s. Filled marks are CPU time of all "+
			"units together, hollow marks are wall time divided by the number of %ss; "+
			"wall lies below CPU where units work side by side. The distance between two rungs is the price of the "+
			"step between them.", v.Operation, v.Operation)}
	s.Plots = v.one("ladder", s.Title)
	return s
}

// pointsSection shows ratios along the points of a job. Under load, the curves
// show that better: nobody would average over rates.
func (v view) pointsSection() section {
	if len(v.Curves) > 0 {
		return section{}
	}
	m := v.headline()
	s := section{ID: "points", Title: "Ratio by point",
		Shown:  []table{v.averagesTable()},
		Folded: []table{v.pairsTable(), v.ratiosTable(m.Name)},
		Caption: fmt.Sprintf("%s, variant / %s (base), log axis, one group per point; %s.", sentenceCase(m.Title),
			v.Baseline, v.sample()),
		HowTo: "If one number described the variant, all its dots would lie on a level line within their bars. " +
			"Where they do not, an average over points hides the finding: " +
			"the prediction interval in the table says what to expect at a new point."}
	if len(v.swept(m.Name)) == 0 {
		return section{Folded: nil}
	}
	s.Plots = v.one("points", s.Title)
	return s
}

func (v view) trendsSection() section {
	t := v.trendsTable()
	s := section{ID: "trends", Title: "Scaling", Shown: []table{t},
		Folded: []table{v.meansTable(v.headline().Name), v.rawTable()},
		Caption: fmt.Sprintf("Small dots: trials; large dots: means; line: least squares through the means. "+
			"Linear axes, each panel its own scale; %s.", v.sample()),
		HowTo: "An exponent of 1 means proportional: twice the work, twice the time. Above 1 grows faster, below " +
			"1 slower. A line that meets the left edge below zero promises a negative fixed cost, " +
			"which cannot be: a straight line is the wrong model there, however near R2 is to 1."}
	for i, l := range v.Trends {
		title := fmt.Sprintf("%s of %s along %s, exponent %s", figure.Spaced(l.Metric), l.Variant, l.Factor,
			plusMinus(l.Exponent, l.ExponentSE, "1"))
		label := fmt.Sprintf("%s, line %s per step of %s", title, plusMinus(l.Slope, l.SlopeSE, l.Unit),
			l.Factor)
		s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-trend-%d", i), Kind: "trend", Index: i,
			Title: sentenceCase(title), Label: label,
			Note: strings.Join(cleanAll(l.Warnings), "; ")})
	}
	if t.empty() {
		return section{}
	}
	return s
}

func (v view) costSection() section {
	s := section{ID: "cost", Title: "Cost per operation",
		Caption: fmt.Sprintf("CPU time of all units per %s and wall time per %s, log axis; means with %s "+
			"intervals; %s.", v.Operation, v.Operation, figure.Setting(v.Confidence), v.sample()),
		HowTo: fmt.Sprintf("A level row means that %s costs the same whatever the load. A falling row gets "+
			"cheaper with more work (fixed costs spread, batches form); "+
			"a rising row pays more for each: contention, queues, scheduling.", figure.Article(v.Operation))}
	if _, timed := lab.FindMetric(v.Metrics, lab.Elapsed, 0, lab.PerOperation); !timed {
		cpu, _ := lab.FindMetric(v.Metrics, lab.CPU, 0, lab.PerOperation)
		s.Caption = fmt.Sprintf("%s, log axis; means with %s intervals; %s.", sentenceCase(cpu.Title),
			figure.Setting(v.Confidence), v.sample())
	}
	s.Shown = []table{v.costTable()}
	for _, metric := range v.costMetrics() {
		s.Folded = append(s.Folded, v.meansTable(metric))
	}
	for i, metric := range v.costMetrics() {
		title := v.metric(metric).Title
		s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-cost-%d", i), Kind: "cost", Metric: metric,
			Title: title,
			Label: title})
	}
	return s
}

func (v view) claimsSection() section {
	t := v.claimsTable()
	return section{ID: "claims", Title: "Claims", Caption: t.Note,
		Shown: []table{t},
		HowTo: "Supported and contradicted need the whole interval on one side of what the claim says. Undecided " +
			"is an answer: more blocks might tell. Untestable claims say what this host lacks; what was not asked " +
			"for may well be possible here."}
}

func (v view) publishedSection() section {
	t := v.publishedTable()
	s := section{ID: "published", Title: "Published figures", Shown: []table{t},
		Filter: true,
		Caption: fmt.Sprintf("Time per %s as published against measured here, log axes, line: equal; scale %s.",
			v.Operation, plainNumber(v.Scale)),
		HowTo: "A dot on the line took as long here as in the study. Dots off the line by the same factor mean " +
			"another machine, not another finding: compare ratios, not times. " +
			"The status in the table says what recomputing the study's own data said of each figure: wrong and " +
			"inconsistent figures contradict it, a method-flaw is right arithmetic with a misleading statistic."}
	for _, f := range v.Published {
		if f.PublishedPerOperation != nil && f.MeasuredPerOperation != nil {
			s.Plots = v.one("published", s.Title)
		}
	}
	return s
}

func (v view) trustSection() section {
	s := section{ID: "trust", Title: "Trust", Shown: v.trustTables(),
		Notes: cleanAll(v.Notes),
		Caption: fmt.Sprintf("%s of every trial over its variant's mean at that point, by block; %s.",
			sentenceCase(v.headline().Title), v.sample()),
		HowTo: "A cloud that drifts up or down with the blocks says that the host changed during the experiment; " +
			"because every block holds every variant in random order, " +
			"the ratios bear that. A wide cloud says that a single trial is worth little. What would change the " +
			"answer: another host, more processors, a larger scale."}
	s.Plots = v.one("drift", s.Title)
	return s
}
