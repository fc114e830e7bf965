package report

import "strings"

// section is one part of the page: its plots, how to read them and
// the tables with the same numbers.
type section struct {
	ID      string
	Title   string // what the part is about, in a word or two
	Caption string // of the plots: unit, base, n, scale; not shown without plots
	HowTo   string
	Plots   []plot
	Wide    bool    // two plots in a row, else as many as fit
	Shown   []table // always open
	Folded  []table // in <details>: the data behind the plots
	// Filter adds a filter, drawn by the script, above the first shown table.
	Filter bool
	Notes  []string
}

// plot is an element of the page that the script draws into.
type plot struct {
	ID    string
	Kind  string // name of the drawing
	Index int    // of the drawn element in its list of the analysis
	// Metric, Point and Limit (in the metric's unit, 0: none) choose the data of some kinds.
	Metric string
	Point  string
	Limit  float64
	// Capacities adds the capacities of the variants below a curve.
	Capacities bool
	Bars       string // for Kind "headline": a lab.Headline as JSON
	Whole      bool   // takes a whole row
	Title      string
	Label      string // the text alternative
	Note       string // under the plot
}

// sections returns the parts of the page after the answer, without parts that have no tables.
func (v view) sections() []section {
	var kept []section
	for _, build := range []func() section{v.bottleneckSection, v.verdictSection, v.forestSection,
		v.curvesSection, v.spectraSection, v.coursesSection,
		v.waterfallSection, v.factorsSection, v.pictureSection, v.pathsSection, v.tracedSection,
		v.layersSection, v.ladderSection, v.pointsSection, v.trendsSection, v.scalabilitySection, v.usageSection,
		v.platformSection, v.staticsSection, v.costSection, v.stalenessSection, v.claimsSection, v.publishedSection,
		v.trustSection} {
		s := build()
		s.Shown = filled(s.Shown...)
		s.Folded = filled(s.Folded...)
		if len(s.Shown)+len(s.Folded) == 0 {
			continue
		}
		s.Caption = clean(s.Caption)
		for i, p := range s.Plots {
			s.Plots[i].Title = clean(p.Title)
			s.Plots[i].Metric = clean(p.Metric)
			s.Plots[i].Point = clean(p.Point)
			s.Plots[i].Note = clean(p.Note)
			s.Plots[i].Label = clean(strings.TrimSuffix(p.Label, ".") + ". " + s.Caption +
				" The table below has the same numbers.")
		}
		kept = append(kept, s)
	}
	return kept
}

// onlyPlot returns the only plot of a section, of the headline metric and labelled with the section's title.
func (v view) onlyPlot(kind, title string) []plot {
	return []plot{{ID: "plot-" + kind, Kind: kind, Metric: v.headlineMetric().Name, Label: title}}
}
