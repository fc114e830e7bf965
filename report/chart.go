package report

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// textBar is a bar of a chart in text.
type textBar struct {
	lab.Bar
	label []string // wrapped into lines
	shown cell     // the ratio
}

// end returns the end of a bar on the axis.
func end(b lab.Bar) float64 { return b.Begin * b.Ratio.Ratio }

// isOnLogAxis reports whether a value has a place on a log axis.
func isOnLogAxis(value float64) bool { return value > 0 && figure.Finite(value) }

// chart writes the headline as bars: "a saga  |######   3.9x [1.8, 8.5]". A long label takes several lines.
// It writes nothing if there are no bars, or if all ratios are 1.
func (p *printer) chart(h *lab.Headline) {
	if h == nil {
		return
	}
	labels, texts := 0, 0 // widths of the columns
	low, high := 1.0, 1.0
	var bars []textBar
	for _, b := range h.Bars {
		if !isOnLogAxis(b.Begin) || !isOnLogAxis(end(b)) {
			continue
		}
		d := textBar{b, Wrap(clean(b.Label), widestColumn), judgedCell(b.Ratio, b.Verdict)}
		for _, l := range d.label {
			labels = max(labels, utf8.RuneCountInString(l))
		}
		texts = max(texts, utf8.RuneCountInString(d.shown.Text))
		low = min(low, b.Begin, end(b))
		high = max(high, b.Begin, end(b))
		bars = append(bars, d)
	}
	if low == high {
		return // nothing differs
	}
	const leastRoom = 10 // for the bars, even if long ratios leave less
	room := max(leastRoom, pageWidth-3*columnGap-labels-texts)
	begin := math.Log(low)
	perColumn := (math.Log(high) - begin) / float64(room-1) // log(high/low) may overflow
	column := func(x float64) int {
		distance := math.Log(x) - begin
		return int(math.Round(distance / perColumn))
	}
	p.println("")
	p.paragraph("  ", figure.Capital(clean(h.Title)), faint)
	for _, d := range bars {
		for i, l := range d.label {
			if i > 0 {
				p.println("  " + l)
				continue
			}
			colour := d.shown.Tone.code()
			bar := p.paint(d.draw(room, column), colour)
			ratio := p.paint(pad(d.shown.Text, texts, true), colour)
			p.println("  " + pad(l, labels, false) + "  " + bar + "  " + ratio)
		}
	}
	p.paragraph("  ", "log axis, | is 1x; # decided, . undecided or equivalent", faint)
}

// draw returns the bar as a line of room characters. column converts a value to an index in the line.
func (d textBar) draw(room int, column func(float64) int) string {
	line := []byte(strings.Repeat(" ", room))
	mark := byte('#')
	if d.Verdict == lab.Undecided || d.Verdict == lab.Equivalent {
		mark = '.'
	}
	from := column(d.Begin)
	to := column(end(d.Bar))
	for i := min(from, to); i <= max(from, to); i++ {
		line[i] = mark
	}
	line[column(1)] = '|'
	return string(line)
}
