package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// played returns the analysis of a run of one variant with these response times and rates, a value per trial.
func played(times, rates []float64) lab.Analysis {
	point := lab.Point{Name: "rate-20"}
	metrics := []lab.Metric{
		{Name: "response_time_p99", Unit: "s", Better: lab.LowerIsBetter, Kind: lab.KindTime,
			Quantity: "response_time", Quantile: 0.99},
		{Name: "goodput", Unit: "1/s", Better: lab.HigherIsBetter, Kind: lab.KindRate, Quantity: "goodput"},
	}
	a := lab.Analysis{Study: "shop", Metrics: metrics, Points: []lab.Point{point}, Confidence: 0.95,
		Margin: 0.05, Environment: lab.Environment{"kernel": {Value: "6.1"}, "disk_free": {Value: len(times)}}}
	for i, values := range [][]float64{times, rates} {
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		a.Results = append(a.Results, lab.Result{Variant: "sync", Point: point, Metric: metrics[i].Name,
			Unit: metrics[i].Unit, N: len(values), Mean: sum / float64(len(values)), Values: values})
	}
	return a
}

func TestOneRunAgainstAnother(t *testing.T) {
	rates := []float64{20, 20.1, 19.9, 20}
	before := played([]float64{1, 1.01, 0.99, 1}, rates)
	for name, c := range map[string]struct {
		after        lab.Analysis
		gate         string
		verdict      lab.ComparisonVerdict // of the response time
		failed, open bool
	}{
		"slower":          {played([]float64{1.5, 1.51, 1.49, 1.5}, rates), "p99>1.05x", lab.Slower, true, false},
		"slower, allowed": {played([]float64{1.5, 1.51, 1.49, 1.5}, rates), "p99>1.6x", lab.Slower, false, false},
		"as before": {played([]float64{1.01, 1, 1, 0.99}, rates), "p99>1.05x", lab.Equivalent, false,
			false},
		"scattered": {played([]float64{0.7, 1.6, 1.1, 0.9}, rates), "p99>1.05x", lab.Undecided, false,
			true},
		"no trials": {played(nil, rates[:1]), "p99>1.05x", lab.Undecided, false, true},
		"too few": {played([]float64{1.5}, rates[:1]), "response_time_p99>1.05x", lab.Undecided, false,
			true},
		"lower throughput": {played([]float64{1, 1, 1.01, 0.99}, []float64{10, 10.1, 9.9, 10}), "goodput<0.95x",
			lab.Equivalent, true, false},
		"higher throughput": {played([]float64{1, 1, 1.01, 0.99}, []float64{40, 40.1, 39.9, 40}), "goodput<0.95x",
			lab.Equivalent, false, false},
		"nothing at all": {played([]float64{1, 1, 1.01, 0.99}, []float64{0, 0, 0, 0}), "goodput<0.95x",
			lab.Equivalent, true, false},
	} {
		gate, err := ParseGate(c.gate)
		testset.Must(t, err)
		got, err := Against(before, c.after, []Gate{gate})
		testset.Must(t, err)
		if got.Changes[0].Verdict != c.verdict {
			t.Errorf("%s: %+v, want it %s", name, got.Changes[0], c.verdict)
		}
		if g := got.Gates[0]; len(g.Failed) > 0 != c.failed || len(g.Open) > 0 != c.open {
			t.Errorf("%s: gate %+v", name, g)
		}
	}
}

// TestVerdictsOfTwoRunsAreOnTheVariant: a higher throughput is faster, although its ratio is above 1.
func TestVerdictsOfTwoRunsAreOnTheVariant(t *testing.T) {
	times := []float64{1, 1.01, 0.99, 1}
	before := played(times, []float64{20, 20.1, 19.9, 20})
	for want, rates := range map[lab.ComparisonVerdict][]float64{lab.Faster: {40, 40.1, 39.9, 40},
		lab.Slower: {10, 10.1, 9.9, 10}} {
		got, err := Against(before, played(times, rates), nil)
		testset.Must(t, err)
		if c := got.Changes[1]; c.Metric != "goodput" || c.Verdict != want {
			t.Errorf("%s is %s (%s), want %s", c.Metric, c.Verdict, c.Words, want)
		}
	}
}

// TestGatesOnTheVariantsOfARun: a variant that is not compared with the baseline, or not steady, leaves a
// gate open. Twins and comparisons with other variants do not count.
func TestGatesOnTheVariantsOfARun(t *testing.T) {
	low, high := 1.2, 1.4
	slower := func(variant, baseline, unsteady string) []lab.Comparison {
		return []lab.Comparison{{Metric: "response_time_p99", Point: lab.Point{Name: "rate-20"}, Variant: variant,
			Baseline: baseline, Ratio: lab.Ratio{Ratio: 1.3, Low: &low, High: &high}, Unsteady: unsteady}}
	}
	for name, c := range map[string]struct {
		found        []lab.Comparison
		gate         string
		failed, open bool
	}{
		"slower":            {slower("new", "old", ""), "p99>1.05x", true, false},
		"slower, allowed":   {slower("new", "old", ""), "p99>1.5x", false, false},
		"perhaps":           {slower("new", "old", ""), "p99>1.3x", false, true},
		"not steady":        {slower("new", "old", "it swings"), "p99>1.05x", false, true},
		"another baseline":  {slower("new", "other", ""), "p99>1.05x", false, true},
		"its twin":          {slower("old.twin", "old", ""), "p99>1.05x", false, true},
		"another metric":    {slower("new", "old", ""), "goodput<0.9x", false, true},
		"nothing was found": {nil, "p99>1.05x", false, true},
	} {
		gate, err := ParseGate(c.gate)
		testset.Must(t, err)
		run := played([]float64{1}, []float64{1})
		run.Baseline = "old"
		run.Comparisons = c.found
		run.Variants = []lab.Variant{{Name: "old"}, {Name: "old.twin", TwinOf: "old"}, {Name: "new"}}
		got, err := Hold(run, []Gate{gate})
		if err != nil || len(got) != 1 || len(got[0].Failed) > 0 != c.failed || len(got[0].Open) > 0 != c.open {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
}

func TestDifferencesBetweenTwoRuns(t *testing.T) {
	before := played([]float64{1, 1.1}, []float64{2, 2})
	after := played([]float64{1, 1.1, 1}, []float64{2, 2, 2})
	after.Environment = lab.Environment{"kernel": {Value: "6.2"}, "smt": {Unavailable: "no such file"},
		"disk_free": {Value: 3}}
	after.Results[1].Point.Name = "rate-40"
	got, err := Against(before, after, nil)
	testset.Must(t, err)
	if len(got.Environment) != 2 || got.Environment[0] != (lab.EnvironmentChange{Fact: "kernel", Before: "6.1",
		After: "6.2"}) ||
		got.Environment[1].Before != "not recorded" || got.Environment[1].After != "not available: no such file" {
		t.Errorf("environment %+v", got.Environment)
	}
	if want := "sync at rate-40 is in the later run only"; len(got.Missing) != 1 || got.Missing[0] != want {
		t.Errorf("missing %q, want %q", got.Missing, want)
	}
	after.Results = nil
	if _, err := Against(before, after, nil); err == nil ||
		!strings.Contains(err.Error(), "in common") {
		t.Errorf("two runs without anything in common: %v", err)
	}
}

// unsteady returns a run of played with a quantity that changes within the trials by a factor.
func unsteady(run lab.Analysis, quantity string, factor float64) lab.Analysis {
	run.Steadiness = []lab.Steadiness{{Variant: "sync", Point: lab.Point{Name: "rate-20"}, Quantity: quantity,
		Factor: factor, Words: "in 4 of 4 trials it changes"}}
	return run
}

// lasting returns a run of played with loads of this length.
func lasting(run lab.Analysis, seconds float64) lab.Analysis {
	run.LoadSeconds = map[string]float64{"rate-20": seconds}
	return run
}

// TestAChangeThatLongerTrialsMayTurnIsWithheld: a change within the trials weakens a verdict or withholds it,
// and so do loads of different lengths.
func TestAChangeThatLongerTrialsMayTurnIsWithheld(t *testing.T) {
	rates := []float64{20, 20.1, 19.9, 20}
	before := lasting(played([]float64{1, 1.01, 0.99, 1}, rates), 4)
	twice := func() lab.Analysis { return lasting(played([]float64{2, 2.02, 1.98, 2}, rates), 4) }
	for name, c := range map[string]struct {
		after        lab.Analysis
		verdict      lab.ComparisonVerdict
		words        string
		failed, open bool
	}{
		"steady": {twice(), lab.Slower, "slower by at least", true, false},
		"swings little": {unsteady(twice(), "p99", 1.3), lab.Slower, "by how much is open: the later run", true,
			false},
		"swings widely": {unsteady(twice(), "p99", 3), lab.Undecided, "withheld: the later run is not steady",
			false, true},
		"a lower percentile swings": {unsteady(twice(), "p95", 3), lab.Undecided, "withheld", false, true},
		"only a median is followed": {unsteady(twice(), "median", 3), lab.Undecided, "withheld", false, true},
		"another quantity swings":   {unsteady(twice(), "rate", 3), lab.Slower, "slower by at least", true, false},
		"its warm-up was too short": {unsteady(twice(), "warm-up", 3), lab.Undecided, "withheld", false, true},
		"longer loads": {lasting(twice(), 10), lab.Undecided, "withheld: loads of 4 s, then of 10 s", false,
			true},
		"longer loads that swing more widely": {lasting(unsteady(twice(), "p99", 3), 10), lab.Undecided,
			"withheld: the later run is not steady", false, true},
		"longer loads, the same figures": {lasting(before, 10), lab.Equivalent, "equivalent", false, false},
	} {
		gate, err := ParseGate("p99>1.2x")
		testset.Must(t, err)
		got, err := Against(before, c.after, []Gate{gate})
		testset.Must(t, err)
		if change := got.Changes[0]; change.Verdict != c.verdict || !strings.Contains(change.Words, c.words) {
			t.Errorf("%s: %s, %q, want %s, %q", name, change.Verdict, change.Words, c.verdict, c.words)
		}
		if g := got.Gates[0]; len(g.Failed) > 0 != c.failed || len(g.Open) > 0 != c.open {
			t.Errorf("%s: gate %+v", name, g)
		}
		wantFacts := 0
		if c.after.LoadSeconds["rate-20"] != 4 {
			wantFacts = 1
		}
		if len(got.Environment) != wantFacts {
			t.Errorf("%s: not the same: %+v", name, got.Environment)
		}
	}
}

// TestAChangeOfZerosThatLongerTrialsMayTurnIsWithheld: it has no interval that could be weakened. A share of
// errors follows nothing, but a longer load has more operations that may fail.
func TestAChangeOfZerosThatLongerTrialsMayTurnIsWithheld(t *testing.T) {
	zeros := []float64{0, 0, 0, 0}
	others := []float64{0.1, 0.2, 0.1, 0.3}
	gate, err := ParseGate("p99>1.05x")
	testset.Must(t, err)
	for name, c := range map[string]struct {
		kind   lab.MetricKind
		after  lab.Analysis
		words  string
		reason string
	}{
		"the same length":      {lab.KindTime, lasting(played(others, nil), 4), "slower: from 0", ""},
		"longer loads":         {lab.KindTime, lasting(played(others, nil), 40), "", "loads of 4 s, then of 40 s"},
		"errors, longer loads": {lab.KindShare, lasting(played(others, nil), 40), "", "loads of 4 s, then of 40 s"},
		"errors, not steady": {lab.KindShare, lasting(unsteady(played(others, nil), "p99", 3), 4),
			"more: from 0", ""},
		"not steady": {lab.KindTime, lasting(unsteady(played(others, nil), "p99", 3), 4), "",
			"the later run is not steady"},
	} {
		before := lasting(played(zeros, nil), 4)
		before.Metrics[0].Kind = c.kind
		c.after.Metrics[0].Kind = c.kind
		got, err := Against(before, c.after, []Gate{gate})
		testset.Must(t, err)
		withheld := c.reason != ""
		change := got.Changes[0]
		g := got.Gates[0]
		if withheld {
			c.words = "withheld: " + c.reason
		}
		if !strings.HasPrefix(change.Words, c.words) || !strings.HasPrefix(change.Unsteady, c.reason) ||
			(change.Unsteady != "") != withheld || change.Verdict.Differs() == withheld {
			t.Errorf("%s: %+v, want %q", name, change, c.words)
		}
		if len(g.Open) > 0 != withheld || len(g.Failed) > 0 == withheld {
			t.Errorf("%s: gate %+v", name, g)
		}
	}
}

// TestAGateIsOpenWhereNoTrialCounts of either variant, unless nothing measures its metric there.
func TestAGateIsOpenWhereNoTrialCounts(t *testing.T) {
	low, high := 1.0, 1.01
	run := played(nil, nil)
	run.Baseline = "old"
	run.Variants = []lab.Variant{{Name: "old"}, {Name: "sync"}}
	run.Results = nil
	run.Metrics = append(run.Metrics, lab.Metric{Name: "capacity", Quantity: lab.Capacity},
		lab.Metric{Name: "achieved_share", Quantity: lab.Achieved})
	run.Points = []lab.Point{{Name: "rate-20", Levels: map[string]float64{lab.FactorRate: 20}},
		{Name: "users-5", Levels: map[string]float64{lab.FactorUsers: 5}},
		{Name: "search", Levels: map[string]float64{lab.FactorSearchFrom: 20}}}
	for _, name := range []string{"response_time_p99", "capacity", "achieved_share"} {
		for _, p := range run.Points {
			run.Comparisons = append(run.Comparisons, lab.Comparison{Metric: name, Point: p, Variant: "sync",
				Baseline: "old", Ratio: lab.Ratio{Ratio: 1, Low: &low, High: &high}})
		}
	}
	compared := run.Comparisons
	for metric, want := range map[string][]string{"p99": {"rate-20", "users-5"}, "capacity": {"search"},
		"achieved_share": {"rate-20"}} {
		gate, err := ParseGate(metric + ">1.05x")
		testset.Must(t, err)
		for _, lost := range run.Points {
			run.Comparisons = slices.DeleteFunc(slices.Clone(compared),
				func(c lab.Comparison) bool { return c.Point.Name == lost.Name })
			got, err := Hold(run, []Gate{gate})
			isOpen := slices.Contains(want, lost.Name)
			if err != nil || len(got[0].Open) > 0 != isOpen || len(got[0].Failed) > 0 {
				t.Errorf("%s, no trial counts at %s: %+v, error %v", metric, lost.Name, got, err)
			}
		}
	}
	run.Variants[1].Points = []string{"users-5", "search"}
	run.Comparisons = compared[1:] // without rate-20
	gate, err := ParseGate("p99>1.05x")
	testset.Must(t, err)
	if got, err := Hold(run, []Gate{gate}); err != nil || len(got[0].Open) > 0 {
		t.Errorf("a point at which it does not run: %+v, error %v", got, err)
	}
}

// TestAGateIsOpenForWhatTheLaterRunLacks, and for no metric that is 0 in both.
func TestAGateIsOpenForWhatTheLaterRunLacks(t *testing.T) {
	gate, err := ParseGate("p99>1.05x")
	testset.Must(t, err)
	run := played([]float64{1, 1, 1}, []float64{20, 20, 20})
	later := run
	later.Results = run.Results[1:] // those of the rate
	got, err := Against(run, later, []Gate{gate})
	if err != nil || len(got.Changes) != 1 || len(got.Gates[0].Open) != 1 {
		t.Errorf("a metric that is gone: %+v, error %v", got.Gates, err)
	}
	zeros := played([]float64{0, 0}, nil)
	zeros.Baseline = "old"
	zeros.Variants = []lab.Variant{{Name: "old"}, {Name: "sync"}}
	for want, values := range [][]float64{{0, 0}, {0, 1}} { // how many changes are open
		old := zeros.Results[0]
		old.Variant = "old"
		old.Values = values
		one := zeros
		one.Results = append([]lab.Result{old}, zeros.Results...)
		held, err := Hold(one, []Gate{gate})
		if err != nil || len(held[0].Open) != want || len(held[0].Failed) > 0 {
			t.Errorf("baseline %v: %+v, error %v", values, held, err)
		}
	}
}

// TestGatesFailForWhatRisesFromZero or falls to it, between two runs and within one. Other points are judged
// apart from that.
func TestGatesFailForWhatRisesFromZero(t *testing.T) {
	zeros := []float64{0, 0, 0, 0}
	others := []float64{0.1, 0.2, 0.1, 0.3}
	for name, c := range map[string]struct {
		before, after []float64
		gate          string
		failed, open  bool
		words         string
	}{
		"risen":           {zeros, others, "p99>1.05x", true, false, "slower: from 0"},
		"risen, allowed":  {zeros, others, "p99<0.9x", false, false, "slower: from 0"},
		"too few":         {zeros[:3], others[:3], "p99>1.05x", false, true, "undecided"},
		"not in every":    {zeros, []float64{0, 0.2, 0.1, 0.3}, "p99>1.05x", false, true, "undecided"},
		"fallen":          {others, zeros, "p99<0.9x", true, false, "faster: from above 0"},
		"fallen, allowed": {others, zeros, "p99>1.05x", false, false, "faster: from above 0"},
	} {
		gate, err := ParseGate(c.gate)
		testset.Must(t, err)
		before := played(c.before, nil)
		after := played(c.after, nil)
		got, err := Against(before, after, []Gate{gate})
		testset.Must(t, err)
		if words := got.Changes[0].Words; !strings.HasPrefix(words, c.words) {
			t.Errorf("%s: %q, want %q", name, words, c.words)
		}
		low, high := 1.0, 1.01
		run := after
		run.Baseline = "old"
		run.Variants = []lab.Variant{{Name: "old"}, {Name: "sync"}}
		run.Points = append(run.Points, lab.Point{Name: "rate-40"})
		run.Comparisons = []lab.Comparison{{Metric: "response_time_p99", Point: run.Points[1], Variant: "sync",
			Baseline: "old", Ratio: lab.Ratio{Ratio: 1, Low: &low, High: &high}}}
		old := before.Results[0]
		old.Variant = "old"
		run.Results = append(run.Results, old)
		held, err := Hold(run, []Gate{gate})
		testset.Must(t, err)
		for _, g := range append(got.Gates, held...) {
			if len(g.Failed) > 0 != c.failed || len(g.Open) > 0 != c.open {
				t.Errorf("%s: gate %+v", name, g)
			}
		}
		run.Steadiness = []lab.Steadiness{{Variant: "old", Point: old.Point, Quantity: "median", Factor: 2}}
		if held, err = Hold(run, []Gate{gate}); err != nil || len(held[0].Open) != 1 || len(held[0].Failed) > 0 {
			t.Errorf("%s, the baseline is not steady: %+v, error %v", name, held, err)
		}
		run.Audit = map[string]lab.AuditSum{"sync": {Verdict: lab.AuditInvalid}}
		if held, err = Hold(run, []Gate{gate}); err != nil || len(held[0].Open) != 1 {
			t.Errorf("%s, struck out: %+v, error %v", name, held, err)
		}
	}
}

// TestGatesNameQuantilesWithoutAPoint: p999 is the 99.9th percentile.
func TestGatesNameQuantilesWithoutAPoint(t *testing.T) {
	run := played([]float64{1, 1.01, 0.99, 1}, []float64{20, 20.1, 19.9, 20})
	run.Metrics[0].Quantile = 0.999
	gate, err := ParseGate("p999>1.05x")
	testset.Must(t, err)
	got, err := Against(run, run, []Gate{gate})
	testset.Must(t, err)
	if g := got.Gates[0]; len(g.Failed) > 0 || len(g.Open) > 0 {
		t.Errorf("a run against itself fails the gate: %+v", g)
	}
}

func TestMistakesInGates(t *testing.T) {
	for _, text := range []string{"p99", "p99>5%", "p99>=1.05x", "p99>0x", "p99>1.2.3x", ">1.05x", ""} {
		if gate, err := ParseGate(text); err == nil {
			t.Errorf("%q is read as %+v", text, gate)
		}
	}
	gate, err := ParseGate("p50>1.05x")
	testset.Must(t, err)
	run := played([]float64{1, 1.1}, []float64{2, 2})
	if _, err := Against(run, run, []Gate{gate}); err == nil ||
		!strings.Contains(err.Error(), "response_time_p99, goodput") {
		t.Errorf("%v, want it to name the metrics that there are", err)
	}
}
