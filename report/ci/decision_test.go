package ci

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// twoRates returns a run of two variants that were measured at 20 and 100 operations per second.
func twoRates(t *testing.T) Run {
	t.Helper()
	r := sample(t)
	low, high := 0.001, 0.003
	point := func(rate float64) lab.Point {
		name := map[float64]string{20: "rate-20", 100: "rate-100"}[rate]
		return lab.Point{Name: name, Levels: map[string]float64{lab.FactorRate: rate}}
	}
	r.Analysis.Operation = "order"
	r.Analysis.Audit = nil // both keep the rules
	r.Analysis.Confidence = 0.995
	r.Analysis.Points = []lab.Point{point(20), point(100)}
	r.Analysis.Variants = []lab.Variant{{Name: hostile}, {Name: "two"}, {Name: "two.twin", TwinOf: "two"}}
	r.Analysis.Held = []lab.HeldRate{{Variant: hostile, Point: "rate-100", Rate: 100, Held: 2, Trials: 3,
		Missed: "80 % of it was begun"}, {Variant: "two", Point: "rate-100", Rate: 100, Held: 3, Trials: 3},
		{Variant: "two", Point: "rate-20", Rate: 20, Held: 0, Trials: 3}}
	r.Analysis.Results = []lab.Result{
		{Variant: hostile, Point: point(20), Metric: "cpu_per_operation", Mean: 0.01},
		{Variant: hostile, Point: point(100), Metric: "cpu_per_operation", Mean: 0.002, Low: &low, High: &high},
		{Variant: hostile, Point: point(100), Metric: "peak_memory", Mean: 2 << 30},
	}
	return r
}

// decisionPage returns the page for a run.
func decisionPage(t *testing.T, r Run, need Need) string {
	t.Helper()
	var b bytes.Buffer
	testset.Must(t, Decision(&b, r, need))
	return b.String()
}

func TestDecisionTellsWhatAVariantTakes(t *testing.T) {
	prices := &Prices{Currency: "EUR|", Core: 0.1, MemoryGiB: 0.01, PricedFrom: "prices.yaml"}
	for name, c := range map[string]struct {
		need Need
		want []string
	}{
		"not held": {Need{Rate: 90}, []string{"did not hold 100 per second** (missed in 1 of 3 trials: " +
			"80 % of it was begun)"}},
		"held by the first": {Need{Rate: 20}, []string{"**two did not hold 20 per second** (missed in 3 of 3"}},
		"the highest rate":  {Need{}, []string{"at 100 orders per second", `| 0.20 \[0.10, 0.30\] | 2.00 GiB |`}},
		"a rate between":    {Need{Rate: 30}, []string{"at 30 orders", "| 0.300 |", "the closest was 20"}},
		"another rate": {Need{Rate: 200}, []string{`| 0.40 \[0.20, 0.60\] |`,
			"**200 per second was not measured:** the closest was 100"}},
		// 730 hours of 0.2 cores and 2 GiB: 14.6 + 14.6.
		"prices": {Need{Prices: prices}, []string{`EUR\| per month |`, "| 29.2 |", "a core and 0.01 EUR"}},
		"again":  {Need{Again: "cleave run results/x\ncleave report"}, []string{"```\ncleave run results/x\n"}},
	} {
		text := decisionPage(t, twoRates(t), c.need)
		for _, want := range append(c.want, "| two | not measured | not measured |", "## Question", "## Answer",
			"with 99.5 % intervals",
			"## How sure", "## Not tested", "## Again", "## Decision") {
			if name == "prices" && strings.HasPrefix(want, "| two") {
				want = "| two | not measured | not measured | not measured |"
			}
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page has no %q:\n%s", name, want, text)
			}
		}
		for _, bad := range []string{"two.twin", "<i>", "a|b", "@all", "\x1b"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: the page has %q:\n%s", name, bad, text)
			}
		}
	}
}

// TestDecisionCountsTheOperationsOfFlows: rates of a scenario are in flows, each of which has three
// operations.
func TestDecisionCountsTheOperationsOfFlows(t *testing.T) {
	r := twoRates(t)
	r.Analysis.Curves = []lab.Curve{{Variant: "two", Points: []lab.CurvePoint{
		{Point: "rate-20", Offered: 20}, {Point: "rate-100", Offered: 100, Due: 300}}}}
	page := decisionPage(t, r, Need{})
	for _, want := range []string{"at 300 orders per second", `| 0.60 \[0.30, 0.90\] |`,
		"did not hold 300 per second"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

func TestDecisionTellsWhatAChangeWouldTake(t *testing.T) {
	r := sample(t)
	is := figure.Alone(0.002)
	ratio := figure.Between(1.5, 1.4, 1.6)
	changed := figure.Between(0.003, 0.0028, 0.0032)
	point := lab.Point{Name: "rate-20"}
	r.Analysis.Rehearsed = []lab.RehearsedFigure{
		{What: "CPU per operation", Unit: "s", Point: point, Measured: &is, Ratio: &ratio, Changed: &changed},
		{What: "capacity", Unit: "1/s", Point: point, Withheld: "nobody has measured it"}}
	page := decisionPage(t, r, Need{})
	for _, want := range []string{"## What the change would take", "units that stood in for the system",
		`| rate-20 | CPU per operation | 2.00 ms | 1.50x \[1.40, 1.60\] | 3.00 ms \[2.80, 3.20\] |`,
		"| rate-20 | capacity | not measured | not rehearsed | withheld: nobody has measured it |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

// TestDecisionIsOfWhatWasMeasured: a point without results, a load without a rate and a variant that broke a
// rule give no figures.
func TestDecisionIsOfWhatWasMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lab.Analysis)
		need   Need
		want   string
	}{
		"no trial at the highest rate counts": {func(a *lab.Analysis) { a.Results = a.Results[:1] }, Need{},
			"at 20 orders per second"},
		"a load of users": {func(a *lab.Analysis) {
			for i := range a.Points {
				a.Points[i].Levels = map[string]float64{lab.FactorUsers: 16}
			}
		}, Need{Rate: 30}, "**30 per second was not measured:** the load had no rate"},
		"a rule is broken": {func(a *lab.Analysis) {
			a.Audit = map[string]lab.AuditSum{"two": {Verdict: lab.AuditInvalid}}
		}, Need{}, "**two is left out:** it broke a rule of the system."},
	} {
		r := twoRates(t)
		c.change(&r.Analysis)
		if page := decisionPage(t, r, c.need); !strings.Contains(page, c.want) {
			t.Errorf("%s: the page has no %q:\n%s", name, c.want, page)
		}
	}
}

func TestDecisionWithoutARateTellsSo(t *testing.T) {
	page := decisionPage(t, sample(t), Need{})
	if !strings.Contains(page, "the load has no rate, and none was given with --rate") {
		t.Errorf("the page of a job says nothing of its missing rate:\n%s", page)
	}
}
