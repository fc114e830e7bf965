package ci

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// mostRows is the largest number of rows of a table: GitHub limits a summary to a megabyte.
const mostRows = 100

// escaped returns a text as one line of Markdown that shows it literally, in tables too: it
// contains no markup and mentions no user.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("@\u200b") // a zero-width space, so that no name follows the sign
		case strings.ContainsRune("\\`*_[]<>#|~$!", r):
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// markdown returns a summary: the answer with its figures, its confidence and what was not
// tested, the gates, claims and broken rules, and all comparisons in a folded table.
func markdown(r Run) (string, error) {
	a := r.Analysis
	d := document{}
	d.line("## %s", escaped(a.Title))
	d.line("**%s**", escaped(a.Answer.Sentence))
	d.table(headlineRows(a.Answer.Headline))
	for _, f := range a.Answer.Findings {
		fmt.Fprintf(&d, "- %s\n", escaped(f.Text))
	}
	d.line("")
	d.gates(r.Gates, r.MustKnow)
	d.claims(a.Claims)
	for _, v := range a.Variants {
		if sum := a.Audit[v.Name]; sum.Verdict == lab.AuditInvalid {
			d.line("❌ %s broke a rule of the system: %s", escaped(v.Name),
				escaped(strings.Join(sum.Problems, "; ")))
		}
	}
	d.part("Withheld", strings.Join(a.Answer.Withheld, " "))
	d.part("How sure", strings.Join(a.Answer.Sure, " "))
	d.part("Not tested", strings.Join(a.Answer.NotTested, ", "))
	rows := [][]string{{"metric", "point", "variant", "baseline", "variant / baseline", "verdict"}}
	for _, c := range a.Comparisons {
		rows = append(rows, []string{c.Metric, c.Point.Name, c.Variant, c.Baseline,
			figure.Times(c.Estimate()), c.Words})
	}
	d.folded("All comparisons", rows)
	d.line("%s, profile %s, scale %s, seed %d", escaped(r.Name), escaped(a.Profile), number(a.Scale), a.Seed)
	return d.String(), nil
}

// againstMarkdown returns a summary of one run against another: the gates and the changes.
func againstMarkdown(a lab.Against, mustKnow bool) string {
	d := document{}
	d.line("## %s against %s", escaped(a.After.Folder), escaped(a.Before.Folder))
	d.gates(a.Gates, mustKnow)
	head := []string{"metric", "variant", "point", "earlier", "later", "later / earlier", "verdict"}
	changed := [][]string{head}
	all := [][]string{head}
	for _, c := range a.Changes {
		m, _ := lab.MetricNamed(a.Metrics, c.Metric) // every change has one of the metrics
		row := []string{c.Metric, c.Variant, c.Point, figure.Amount(c.Before, m.Unit),
			figure.Amount(c.After, m.Unit), figure.ChangeRatio(c), c.Words}
		all = append(all, row)
		if c.Verdict.Differs() {
			changed = append(changed, row)
		}
	}
	if len(changed) == 1 {
		d.line("Nothing is shown to have changed.")
	}
	d.table(changed)
	d.folded("All figures", all)
	d.line("%d later and %d earlier trials counted, %s intervals, margin %s. The runs were played at different "+
		"times: what changed on the host between them is in the ratios, and not in their intervals.",
		a.After.Trials, a.Before.Trials, figure.Setting(a.Confidence), figure.Setting(a.Margin))
	return d.String()
}

// document collects blocks of Markdown, each followed by an empty line.
type document struct{ strings.Builder }

// line writes a block.
func (d *document) line(format string, args ...any) { fmt.Fprintf(d, format+"\n\n", args...) }

// part writes a part of the answer unless it is empty.
func (d *document) part(lead, text string) {
	if text != "" {
		d.line("**%s:** %s", lead, escaped(text))
	}
}

// table writes rows, the first of which is the head. It writes nothing if there are no others.
func (d *document) table(rows [][]string) {
	if len(rows) < 2 {
		return
	}
	left := max(0, len(rows)-1-mostRows)
	for i, row := range rows[:len(rows)-left] {
		for _, cell := range row {
			fmt.Fprintf(d, "| %s ", escaped(cell))
		}
		d.WriteString("|\n")
		if i == 0 {
			d.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	d.WriteString("\n")
	if left > 0 {
		d.line("%d more are in the report.", left)
	}
}

// folded writes a table that is shown on a click.
func (d *document) folded(title string, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	d.line("<details><summary>%s</summary>", title)
	d.table(rows)
	d.line("</details>")
}

// gates writes a table of gates. mustKnow marks open gates as failures (see Run.MustKnow).
func (d *document) gates(gates []lab.GateVerdict, mustKnow bool) {
	rows := [][]string{{"gate", "", "where"}}
	for _, g := range gates {
		standing := g.Standing()
		changes := g.Failed
		mark := map[string]string{lab.GateKept: "✅ kept", lab.GateFailed: "❌ failed",
			lab.GateOpen: "❔ open"}[standing]
		if standing == lab.GateOpen {
			changes = g.Open
			if mustKnow {
				mark = "❌ open, and a verdict was required"
			}
		}
		rows = append(rows, []string{g.Gate, mark, figure.Changes(changes)})
	}
	d.table(rows)
}

// claims writes a table of claims.
func (d *document) claims(claims []lab.Judgement) {
	rows := [][]string{{"claim", "", "why"}}
	seen := map[string]bool{}
	for _, c := range claims {
		if c.Verdict == lab.ClaimUntestable && seen[c.Reason] {
			c.Reason = "for the same reason as above"
		}
		seen[c.Reason] = true
		mark := map[lab.ClaimVerdict]string{lab.ClaimSupported: "✅ ", lab.ClaimContradicted: "❌ "}[c.Verdict]
		rows = append(rows, []string{c.Text, mark + c.Standing(), c.Reason})
	}
	d.table(rows)
}

// headlineRows returns the bars of the answer as rows of a table.
func headlineRows(h *lab.Headline) [][]string {
	if h == nil {
		return nil
	}
	rows := [][]string{{h.Title, "ratio to " + h.Baseline, "verdict"}}
	for _, b := range h.Bars {
		rows = append(rows, []string{b.Label, figure.Times(b.Estimate()), string(b.Verdict)})
	}
	return rows
}
