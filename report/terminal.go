package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// Options holds the options of the terminal report.
type Options struct {
	// Colour allows colour codes. The caller sets it only where the output is a
	// terminal and NO_COLOR is not in the environment.
	Colour bool
	// Full adds the long tables: raw values, means, ratios at every point,
	// averages, trend lines, cost per operation, environment.
	Full bool
	// NotesShown holds the notes that the reader has already seen. They are not repeated.
	NotesShown []string
}

// Terminal writes the report as text, at most 100 columns wide: the answer
// first, then the main tables, the claims and the facts by which to trust
// them. Options.Full adds every other table.
func Terminal(w io.Writer, a lab.Analysis, o Options) error {
	p := printer{colour: o.Colour}
	v := newView(a)
	p.head(v)
	p.answer(v)
	p.tables(v.bottleneckTables())
	if v.explains() {
		p.table(v.stepsTable(o.Full))
		p.table(v.factorsTable())
		p.tables(v.effectTables(o.Full))
	}
	if o.Full || !v.explains() {
		p.table(v.matrixTable(o.Full))
	}
	if !v.explains() {
		p.table(v.stepsTable(o.Full))
	}
	if o.Full {
		p.tables(v.fullTables())
	}
	p.tables(v.loadTables(o.Full))
	p.tables(v.tracedTables(o.Full))
	p.table(v.platformCostTable())
	if o.Full {
		p.table(v.scalingTable())
		p.tables([]table{v.programsTable(), v.startsTable(), v.staticsTable(), v.unknownStaticsTable()})
	}
	p.table(v.ladderTable())
	p.table(v.claimsTable())
	if o.Full {
		p.table(v.doubtfulTable())
	}
	p.trust(v, o)
	return p.flush(w, "the terminal report")
}

// fullTables returns the long tables in the order of the study: raw values, means,
// ratios, averages, trend lines, cost per operation.
func (v view) fullTables() []table {
	tables := append([]table{v.rawTable()}, v.meansTables()...)
	tables = append(tables, v.pairsTable(), v.ratiosTable(v.headlineMetric().Name), v.averagesTable(),
		v.trendsTable())
	for _, cost := range v.costMetrics() {
		tables = append(tables, v.meansTable(cost))
	}
	return filled(tables...)
}

// printer collects the report. It alone writes colour codes.
type printer struct {
	b      strings.Builder
	colour bool
}

// flush writes the report to w. what names it in errors.
func (p *printer) flush(w io.Writer, what string) error {
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// Codes of the terminal for texts of a certain weight, as for paint.
const (
	bold  = "1"
	faint = "2"
)

// paint wraps a text in a colour code, if colours are allowed.
func (p *printer) paint(s, code string) string {
	if !p.colour || code == "" || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// code returns the colour code of a tone.
func (t tone) code() string {
	return map[tone]string{toneGood: "32", toneBad: "31", toneWarn: "33", toneMuted: faint, toneHead: "4"}[t]
}

// println writes one line without trailing spaces.
func (p *printer) println(s string) {
	p.b.WriteString(strings.TrimRight(s, " ") + "\n")
}

// paragraph writes a wrapped text with the lead in front of its first line, and the others indented as far. A
// lead may be as long as the page: the text of a gate has any length.
func (p *printer) paragraph(lead, s, code string) {
	indent := strings.Repeat(" ", len(lead))
	for i, part := range Wrap(s, max(narrowest, pageWidth-len(lead))) {
		if i > 0 {
			lead = indent
		}
		p.println(lead + p.paint(part, code))
	}
}

// title writes the heading of a section.
func (p *printer) title(s string) {
	p.println("")
	p.println(p.paint(cut(clean(s), pageWidth), bold))
}

// head writes the study with its profile, scale and seed.
func (p *printer) head(v view) {
	p.paragraph("", clean(v.Study)+": "+clean(v.Title), bold)
	p.paragraph("",
		fmt.Sprintf("profile %s, scale %s, seed %d", clean(v.Profile), plainNumber(v.Scale), v.Seed), faint)
}

// answer writes the sentence and the chart, then the findings, what is withheld, how sure the
// answer is, and what was not tested.
func (p *printer) answer(v view) {
	a := v.Answer
	if a.Sentence == "" {
		return
	}
	p.title("Answer")
	p.paragraph("  ", clean(a.Sentence), bold)
	p.chart(a.Headline)
	p.println("")
	for _, f := range a.Findings {
		p.paragraph("  * ", clean(f.Text), "")
	}
	if len(a.Findings) > 0 {
		p.println("")
	}
	for _, part := range []struct{ lead, text string }{
		{"  Withheld:   ", strings.Join(a.Withheld, " ")},
		{"  How sure:   ", strings.Join(a.Sure, " ")},
		{"  Not tested: ", notTested(a)},
	} {
		if part.text != "" {
			p.paragraph(part.lead, clean(part.text), "")
		}
	}
}

// notTested returns the list of what was not tested, as a sentence.
func notTested(c lab.Conclusion) string {
	if len(c.NotTested) == 0 {
		return ""
	}
	return figure.Capital(strings.Join(c.NotTested, ", ")) + "."
}

// tables writes several tables.
func (p *printer) tables(tables []table) {
	for _, t := range tables {
		p.table(t)
	}
}

// table writes a table under its title, unless it is empty.
func (p *printer) table(t table) {
	if t.empty() {
		return
	}
	p.title(t.Title)
	if t.Note != "" {
		p.paragraph("  ", clean(t.Note), faint)
	}
	gap := strings.Repeat(" ", columnGap)
	for _, l := range layOut(t, pageWidth-columnGap) {
		out := ""
		for _, c := range l {
			out += gap + p.padded(c.Text, c.Tone.code())
		}
		p.println(out)
	}
}

// padded returns a field with its text coloured, and not the spaces around it.
func (p *printer) padded(s, code string) string {
	body := strings.Trim(s, " ")
	return strings.Replace(s, body, p.paint(body, code), 1)
}
