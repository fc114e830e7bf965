package report

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
		v.waterfallSection, v.factorsSection, v.pictureSection, v.pathsSection, v.tracedSection,
		v.layersSection, v.ladderSection, v.pointsSection, v.trendsSection, v.scalabilitySection, v.usageSection,
		v.platformSection, v.staticsSection, v.costSection, v.stalenessSection, v.claimsSection, v.publishedSection,
		v.trustSection} {
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
