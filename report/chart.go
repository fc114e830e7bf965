package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/lab"
)

// chart is the first picture of the report, in text: bars of ratios on a log axis.
type chart struct {
	title string
	bars  []bar
}

// bar is a row of a chart. A step begins where the last one ended, all else at 1.
type bar struct {
	label    string
	from, to float64
	open     bool // undecided, or equivalent
	shown    cell
}

// mostBars is how many a chart has: a screen has to hold more than it.
const mostBars = 12

// leadChart is the picture that answers the study's question, as v.lead is on the page: the
// way, where it explains one, else the headline metric of all variants.
func (v view) leadChart() chart {
	if !v.explains() {
		return v.ratioChart()
	}
	ways := v.explained(false)
	at := max(0, slices.IndexFunc(ways, func(w lab.Waterfall) bool { return w.Verdict != lab.Undecided }))
	return v.wayChart(ways[at])
}

// wayChart has a bar for each step, and one for the whole.
func (v view) wayChart(w lab.Waterfall) chart {
	c := chart{title: fmt.Sprintf("%s at %s; each step begins where the one before ended",
		v.metric(w.Metric).Title, v.at(w.Point.Name))}
	at := 1.0
	for _, s := range w.Steps {
		label := s.Plain
		if label == "" {
			label = s.Title()
		}
		c.add(label, at, at*s.Ratio.Ratio, s.Verdict, v.stepCell(w.Metric, s.Ratio, s.Verdict))
		at *= s.Ratio.Ratio
	}
	c.add(w.From+" -> "+w.To, 1, w.Whole.Ratio, w.Verdict, v.stepCell(w.Metric, w.Whole, w.Verdict))
	return c
}

// ratioChart has a bar for each variant that is compared with the baseline.
func (v view) ratioChart() chart {
	m := v.headline()
	c := chart{title: fmt.Sprintf("%s at %s, compared with %s", m.Title, v.at(v.reference()), v.Baseline)}
	for _, x := range v.challengers() {
		if found, ok := v.ratio(m.Name, x.Name, v.reference()); ok && !v.struckOut(x.Name) &&
			len(c.bars) < mostBars {
			c.add(x.Name, 1, found.Ratio.Ratio, found.Verdict, v.ratioCell(found, true))
		}
	}
	return c
}

// add draws what has a place on a log axis.
func (c *chart) add(label string, from, to float64, verdict lab.ComparisonVerdict, shown cell) {
	if from > 0 && to > 0 && finite(from) && finite(to) {
		c.bars = append(c.bars, bar{clean(label), from, to, verdict == lab.Undecided || verdict == lab.Equivalent,
			shown})
	}
}

// chart writes a picture: "a saga  |######   3.9x [1.8, 8.5]".
func (p *printer) chart(c chart) {
	labels, texts, low, high := 0, 0, 1.0, 1.0
	for _, b := range c.bars {
		labels, texts = max(labels, utf8.RuneCountInString(b.label)),
			max(texts, utf8.RuneCountInString(b.shown.Text))
		low, high = min(low, b.from, b.to), max(high, b.from, b.to)
	}
	if low == high {
		return // nothing differs
	}
	labels = min(labels, widestColumn)
	room := pageWidth - 3*columnGap - labels - texts
	column := func(x float64) int {
		return int(math.Round(math.Log(x/low) / math.Log(high/low) * float64(room-1)))
	}
	p.println("")
	p.paragraph("  ", sentenceCase(clean(c.title)), "2")
	for _, b := range c.bars {
		cells := []byte(strings.Repeat(" ", room))
		mark := byte('#')
		if b.open {
			mark = '.'
		}
		for i := min(column(b.from), column(b.to)); i <= max(column(b.from), column(b.to)); i++ {
			cells[i] = mark
		}
		cells[column(1)] = '|'
		p.println(fmt.Sprintf("  %-*s  %s  %s", labels, cut(b.label, labels),
			p.paint(string(cells), b.shown.Tone.code()), p.paint(fmt.Sprintf("%*s", texts, b.shown.Text),
				b.shown.Tone.code())))
	}
	p.paragraph("  ", "log axis, | is 1x; # decided, . undecided or equivalent", "2")
	p.println("")
}
