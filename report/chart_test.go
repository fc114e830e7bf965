package report

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// charted is a chart as the terminal shows it.
func charted(c chart) []string {
	var p printer
	p.chart(c)
	return strings.Split(strings.Trim(p.b.String(), "\n"), "\n")
}

func TestStepsBeginWhereTheOneBeforeEnded(t *testing.T) {
	w := lab.Waterfall{From: "a", To: "c", Whole: lab.Ratio{Ratio: 4}, Verdict: lab.Slower, Steps: []lab.Step{
		{Knob: "data", Change: "x -> y", Plain: "a saga", Ratio: lab.Ratio{Ratio: 8}, Verdict: lab.Slower},
		{Knob: "views", Change: "t -> d", Ratio: lab.Ratio{Ratio: 0.5}, Verdict: lab.Undecided}}}
	lines := charted(explanation(w).wayChart(w))
	if len(lines) != 5 {
		t.Fatalf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	saga, views, whole := lines[1], lines[2], lines[3]
	if !strings.HasPrefix(strings.TrimSpace(saga), "a saga") || !strings.Contains(views, "views t -> d") {
		t.Errorf("steps are called %q and %q", saga, views)
	}
	end := strings.LastIndex(saga, "#")
	if strings.LastIndex(views, ".  ") != end || strings.Index(views, "..") != strings.LastIndex(whole, "#") ||
		strings.Index(whole, "|") != strings.Index(saga, "|") {
		t.Errorf("the steps do not join:\n%s", strings.Join(lines, "\n"))
	}
}

func TestAChartFitsItsPage(t *testing.T) {
	for name, a := range map[string]lab.Analysis{"a job": fixture(t, "analysis.json"),
		"under load": fixture(t, "shop-under-load.json")} {
		lines := charted(newView(a).leadChart())
		if len(lines) < 3 || len(lines) > mostBars+3 || !strings.Contains(lines[1], "|") {
			t.Errorf("%s:\n%s", name, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			if len(line) > pageWidth {
				t.Errorf("%s: %d columns: %q", name, len(line), line)
			}
		}
	}
	var none chart
	none.add("nothing", 1, 0, lab.Faster, cell{})
	none.add("equal", 1, 1, lab.Equivalent, cell{Text: "1x"})
	if lines := charted(none); len(none.bars) != 1 || lines[0] != "" {
		t.Errorf("nothing differs, and was drawn: %q", lines)
	}
}
