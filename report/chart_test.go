package report

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// charted returns a headline as the terminal shows it.
func charted(h lab.Headline) []string {
	var p printer
	p.chart(&h)
	return strings.Split(strings.Trim(p.b.String(), "\n"), "\n")
}

func TestStepsBeginWhereTheOneBeforeEnded(t *testing.T) {
	w := lab.Waterfall{From: "a", To: "c", Whole: lab.Ratio{Ratio: 4}, Verdict: lab.Slower, Steps: []lab.Step{
		{Knob: "data", Change: "x -> y", Plain: "a saga", Ratio: lab.Ratio{Ratio: 8}, Verdict: lab.Slower},
		{Knob: "views", Change: "t -> d", Ratio: lab.Ratio{Ratio: 0.5}, Verdict: lab.Undecided}}}
	lines := charted(w.Chart("time"))
	if len(lines) != 5 {
		t.Fatalf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	saga := lines[1]
	views := lines[2]
	whole := lines[3]
	if !strings.HasPrefix(strings.TrimSpace(saga), "a saga") || !strings.Contains(views, "views t -> d") {
		t.Errorf("steps are called %q and %q", saga, views)
	}
	end := strings.LastIndex(saga, "#")
	if strings.LastIndex(views, ".  ") != end || strings.Index(views, "..") != strings.LastIndex(whole, "#") ||
		strings.Index(whole, "|") != strings.Index(saga, "|") {
		t.Errorf("the steps do not join:\n%s", strings.Join(lines, "\n"))
	}
}

// TestALongLabelIsWrappedAndNotCut: without its whole label a bar cannot be understood.
func TestALongLabelIsWrappedAndNotCut(t *testing.T) {
	label := strings.TrimSpace(strings.Repeat("transactions that orders share ", 4))
	bar := func(label string, r float64) lab.Bar {
		return lab.Bar{Label: label, Begin: 1, Ratio: lab.Ratio{Ratio: r}, Verdict: lab.Slower}
	}
	all := strings.Join(charted(lab.Headline{Bars: []lab.Bar{bar(label, 2), bar("short", 3)}}), "\n")
	for _, word := range strings.Fields(label) {
		all = strings.Replace(all, word, "", 1)
	}
	if strings.Contains(all, "share") || strings.Contains(all, "...") || strings.Count(all, "orders") > 0 {
		t.Errorf("of the label is left or missing:\n%s", all)
	}
}

func TestAChartFitsItsPage(t *testing.T) {
	for name, a := range map[string]lab.Analysis{"a job": fixture(t, "analysis.json"),
		"under load": fixture(t, "shop-under-load.json")} {
		lines := charted(*a.Answer.Headline)
		if len(lines) < 3 || !strings.Contains(lines[2], "|") {
			t.Errorf("%s:\n%s", name, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			if len(line) > pageWidth {
				t.Errorf("%s: %d columns: %q", name, len(line), line)
			}
		}
	}
	none := lab.Headline{Bars: []lab.Bar{{Label: "nothing", Begin: 1}, {Label: "equal", Begin: 1,
		Ratio: lab.Ratio{Ratio: 1}}}}
	if lines := charted(none); lines[0] != "" {
		t.Errorf("nothing differs, and was drawn: %q", lines)
	}
}

// TestASentenceAndItsBarsHaveTheSameNumbers in the chart of the terminal.
func TestASentenceAndItsBarsHaveTheSameNumbers(t *testing.T) {
	for _, name := range []string{"analysis.json", "shop-under-load.json"} {
		a := fixture(t, name)
		bars := a.Answer.Headline.Bars
		number, _, _ := strings.Cut(figure.Times(bars[len(bars)-1].Ratio.Estimate()), "x")
		if name == "analysis.json" {
			number, _, _ = strings.Cut(figure.Times(bars[0].Ratio.Estimate()), "x")
		}
		if !strings.Contains(a.Answer.Sentence, " "+number+" times") {
			t.Errorf("%s: %q does not have the %s of its bar", name, a.Answer.Sentence, number)
		}
		if out := terminal(t, a, Options{}); len(a.Claims) == 0 && strings.Count(out, number+"x [") != 1 {
			t.Errorf("%s: %sx stands %d times on the terminal, want once, in the chart", name, number,
				strings.Count(out, number+"x ["))
		}
	}
}

// TestBarsMayDifferByMoreThanANumberHolds: the ratio of their ends overflows.
func TestBarsMayDifferByMoreThanANumberHolds(t *testing.T) {
	bar := func(ratio float64) lab.Bar {
		low, high := ratio/100, ratio*100
		return lab.Bar{Label: "a bar", Begin: 1, Ratio: lab.Ratio{Ratio: ratio, Low: &low, High: &high},
			Verdict: lab.Slower}
	}
	lines := charted(lab.Headline{Bars: []lab.Bar{bar(1e300), bar(1e-300)}})
	if strings.Count(lines[0], "#") < 20 || strings.Count(lines[1], "#") < 20 {
		t.Errorf("two bars are\n%s", strings.Join(lines, "\n"))
	}
	exact := lab.Bar{Label: "a bar", Begin: 1, Ratio: lab.Ratio{Ratio: 1e-120}, Verdict: lab.Slower}
	lines = charted(lab.Headline{Bars: []lab.Bar{exact}})
	if strings.Count(lines[0], "#") < 9 {
		t.Errorf("a bar beside a long number is\n%s", strings.Join(lines, "\n"))
	}
}

// TestAnIntervalWithoutEndHasABar: two blocks that differ give intervals over many orders of magnitude.
func TestAnIntervalWithoutEndHasABar(t *testing.T) {
	low, high := 3e-41, 5e40
	lines := charted(lab.Headline{Bars: []lab.Bar{{Label: strings.Repeat("a long label ", 4), Begin: 1,
		Ratio: lab.Ratio{Ratio: 1.2, Low: &low, High: &high, N: 2}, Verdict: lab.Undecided}}})
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "? 1.2x [3.0e-41, 5.0e+40]") {
		t.Errorf("the interval is not shown:\n%s", all)
	}
}
