package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// AgainstTerminal writes the comparison of two runs as text: the first metric of all variants,
// the metrics that have changed, the gates, and the differences in environment and work.
// Options.Full adds the metrics that have not changed.
func AgainstTerminal(w io.Writer, a lab.Against, o Options) error {
	p := printer{colour: o.Colour}
	p.paragraph("", clean(a.After.Folder)+" against "+clean(a.Before.Folder), bold)
	p.paragraph("", againstBase(a), faint)
	p.table(changesTable(a, o.Full))
	p.println("")
	p.paragraph("  ", changesSum(a), "")
	for _, g := range a.Gates {
		p.gate(g)
	}
	p.table(differencesTable(a))
	p.title("Trust")
	for _, s := range againstTrust(a) {
		p.paragraph("  * ", s, "")
	}
	return p.flush(w, "one run against another")
}

// AgainstHTML writes the comparison of two runs as a page that needs neither network nor script.
func AgainstHTML(w io.Writer, a lab.Against) error {
	err := pages().ExecuteTemplate(w, "against.html", map[string]any{
		"Policy": policy(""), "Style": template.HTML("<style>" + Style + "</style>"),
		"After": clean(a.After.Folder), "Before": clean(a.Before.Folder), "Subtitle": againstBase(a),
		"Sum": changesSum(a), "Shown": filled(changesTable(a, false), differencesTable(a)),
		"Folded": filled(changesTable(a, true)), "Trust": againstTrust(a),
	})
	if err != nil {
		return fmt.Errorf("write one run against another: %w", err)
	}
	return nil
}

// againstBase describes the ratios of two runs: base, trials, intervals and margin.
func againstBase(a lab.Against) string {
	return fmt.Sprintf("later / earlier; %d and %d trials counted, %s intervals, margin %s", a.After.Trials,
		a.Before.Trials, figure.Setting(a.Confidence), figure.Setting(a.Margin))
}

// changesSum counts the figures that have changed, are equivalent, or are undecided.
func changesSum(a lab.Against) string {
	same, open := 0, 0
	for _, c := range a.Changes {
		switch c.Verdict {
		case lab.Equivalent:
			same++
		case lab.Undecided:
			open++
		}
	}
	return fmt.Sprintf("Of %d figures %d have changed, %d are equivalent within the margin, %d are undecided. "+
		"Of figures that are alike, about %s seem to have changed by chance.", len(a.Changes),
		len(a.Changes)-same-open, same, open, figure.Setting(1-a.Confidence))
}

// changesTable returns the table of changes: all of them if full, else those that differ and those of the
// first metric.
func changesTable(a lab.Against, full bool) table {
	t := table{ID: "changes", Title: "What has changed", Keys: 3,
		Columns: columns{}.text("metric", "variant", "point").number("earlier", "later", "later / earlier").
			prose("verdict")}
	for _, c := range a.Changes {
		isBrief := c.Verdict.Differs() || c.Metric == a.Metrics[0].Name
		if !full && !isBrief {
			continue
		}
		m, _ := lab.MetricNamed(a.Metrics, c.Metric) // changes are of these metrics only
		tone := toneNone
		if c.Verdict.Differs() {
			tone = toneOf(c.Verdict)
		}
		t.add(c.Metric, c.Variant, c.Point, figure.Amount(c.Before, m.Unit), figure.Amount(c.After, m.Unit),
			figure.ChangeRatio(c), toned(c.Words, tone))
	}
	return t
}

// GatesTerminal writes the verdicts of gates as text.
func GatesTerminal(w io.Writer, gates []lab.GateVerdict, o Options) error {
	p := printer{colour: o.Colour}
	for _, g := range gates {
		p.gate(g)
	}
	return p.flush(w, "the verdicts of the gates")
}

// gate writes the verdict of a gate.
func (p *printer) gate(g lab.GateVerdict) {
	standing := toned("kept", toneGood)
	switch g.Standing() {
	case lab.GateFailed:
		standing = toned("failed: "+figure.Changes(g.Failed), toneBad)
	case lab.GateOpen:
		standing = toned("open, it may be beyond it: "+figure.Changes(g.Open), toneWarn)
	}
	p.paragraph("  gate "+clean(g.Gate)+": ", standing.Text, standing.Tone.code())
}

// differencesTable returns the table of the differences in environment and work.
func differencesTable(a lab.Against) table {
	t := table{ID: "differences", Title: "What was not the same", Keys: 1,
		Columns: columns{}.text("fact", "earlier").prose("later")}
	for _, d := range a.Environment {
		t.add(d.Fact, d.Before, d.After)
	}
	return t
}

// againstTrust returns sentences on the limits of a comparison of two runs.
func againstTrust(a lab.Against) []string {
	sentences := []string{"The two runs were played at different times: what changed on the host between them " +
		"is in the ratios, and not in their intervals. Variants within one run are compared by its own report."}
	if was, is := a.Before.Calibration, a.After.Calibration; was > 0 && is > 0 {
		sentences = append(sentences,
			fmt.Sprintf("A fixed amount of computation took %s in the later run of what it took "+
				"in the earlier one.", figure.Multiple(is/was)))
	}
	if a.Before.Study != a.After.Study {
		sentences = append(sentences, fmt.Sprintf("The studies have different names: %s, then %s.",
			clean(a.Before.Study), clean(a.After.Study)))
	}
	return slices.Concat(sentences, cleanAll(a.Missing))
}
