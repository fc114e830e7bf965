package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// untilDecided returns the experiment until decided, with looks after every block.
func untilDecided(in Input, most int) Input {
	in.Plan.Study.Design.Until = lab.UntilDecided
	in.Plan.Study.Design.Blocks = most
	return in
}

// needed returns the variants and points of which the rule needs more trials.
func needed(in Input) []string {
	goesOn := NewRule(in).Needed(in.Trials)
	var all []string
	for _, v := range in.Plan.Study.Variants {
		for _, p := range in.Plan.Study.Points {
			if goesOn(lab.PlannedTrial{Variant: v.Name, Point: p.Name}) {
				all = append(all, v.Name+" at "+p.Name)
			}
		}
	}
	return all
}

func TestIntervalsAreDrawnForAllLooksTogether(t *testing.T) {
	fixed := comparisonOf(t, Analyse(table1(t)), "elapsed", "s1", "http", "uds")
	a := Analyse(untilDecided(table1(t), 12))
	looked := comparisonOf(t, a, "elapsed", "s1", "http", "uds")
	if *looked.Low >= *fixed.Low || *looked.High <= *fixed.High || looked.Ratio.Ratio != fixed.Ratio.Ratio {
		t.Errorf("one of ten looks has [%g, %g], a single look [%g, %g]: want it wider", *looked.Low, *looked.High,
			*fixed.Low, *fixed.High)
	}
	near(t, "p", looked.P, stats.NewSequence(lab.FirstLook, 12).P(*fixed.P, 5), 1e-9)
	if *looked.HolmLow > *looked.Low || *looked.HolmLow >= *fixed.HolmLow {
		t.Errorf("Holm's interval begins at %g, that of a single look at %g", *looked.HolmLow, *fixed.HolmLow)
	}
	if sure := strings.Join(a.Answer.Sure, " "); !strings.Contains(sure, "Up to 12 blocks") ||
		!strings.Contains(sure, "after every block from 3 on") {
		t.Errorf("the answer does not say that there were looks: %s", sure)
	}
}

// TestLinesAndSpansAreLookedAtToo: their intervals are as wide as those of the comparisons.
func TestLinesAndSpansAreLookedAtToo(t *testing.T) {
	in := table1(t)
	for i := range in.Trials {
		in.Trials[i].Traced = &lab.TraceSet{Operations: []lab.TracedOperation{{Service: "front", Traces: 5,
			Batches: []lab.TraceBatch{{Seconds: 1 + float64(i*i%11)/10}}}}}
	}
	fixed := Analyse(in)
	looked := Analyse(untilDecided(in, 12))
	for i, line := range looked.Trends {
		was := fixed.Trends[i]
		if *line.ExponentLow >= *was.ExponentLow || *line.ExponentHigh <= *was.ExponentHigh {
			t.Errorf("one of ten looks has the exponent [%g, %g] of %s, a single look [%g, %g]: want it wider",
				*line.ExponentLow, *line.ExponentHigh, line.Variant, *was.ExponentLow, *was.ExponentHigh)
		}
	}
	for i, traced := range looked.Traced {
		if *traced.Ratio.Low >= *fixed.Traced[i].Ratio.Low {
			t.Errorf("one of ten looks at spans begins at %g, a single look at %g", *traced.Ratio.Low,
				*fixed.Traced[i].Ratio.Low)
		}
	}
	for i, f := range looked.Published {
		if was := fixed.Published[i]; f.Low != nil && *f.Low >= *was.Low {
			t.Errorf("one of ten looks at %s begins at %g, a single look at %g", f.ID, *f.Low, *was.Low)
		}
	}
	if len(looked.Trends) == 0 || len(looked.Traced) == 0 || len(looked.Published) == 0 {
		t.Error("there is nothing to look at")
	}
}

func TestDecidedClaimsNeedNoMore(t *testing.T) {
	in := untilDecided(table1(t).shift("http", "s3", 0.1, 1, 0.1, 1, 0.1), 12)
	in.Plan.Study.Claims = slices.DeleteFunc(in.Plan.Study.Claims, func(c lab.Claim) bool {
		return c.ID != "threads-faster-than-second" && c.ID != "second-faster-than-first"
	})
	if got, want := needed(in), []string{"http at s3", "uds at s3", "uds.twin at s3"}; !slices.Equal(got, want) {
		t.Errorf("needed: %v, want %v: all else is decided", got, want)
	}
	reason := claimOf(t, Analyse(in), "second-faster-than-first").Reason
	if !strings.Contains(reason, "more blocks needed") {
		t.Errorf("the open claim does not say how many blocks it needs: %s", reason)
	}
}

func TestDecidedComparisonsNeedNoMore(t *testing.T) {
	in := untilDecided(loaded(), 12)
	in.Plan.Study.Claims = nil
	if got := needed(in); len(got) > 0 {
		t.Errorf("needed: %v, where all is decided", got)
	}
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Variant == "b" && trial.Point.Name == "slow" && trial.Block%2 == 0 {
			for name := range trial.Measures {
				trial.Measures[name] *= 3
			}
		}
	}
	for _, want := range []string{"a at slow", "b at slow"} {
		if got := needed(in); !slices.Contains(got, want) || slices.Contains(got, "b at quick") {
			t.Errorf("needed: %v, want %s and nothing at quick", got, want)
		}
	}
}

// TestAllVariantsOfStepsAreNeeded if one step is open: the ratios of steps need blocks with all variants.
func TestAllVariantsOfStepsAreNeeded(t *testing.T) {
	shown, other := pathsToSync()
	steps := slices.Concat(shown, other)
	in := untilDecided(explainInput(steps, 5, actAlone), 12)
	decided := needed(in)
	blurred := untilDecided(explainInput(steps, 5, func(variant string, block int) float64 {
		if variant == "saga" {
			return actAlone(variant, block) * (1 + float64(block%2))
		}
		return actAlone(variant, block)
	}), 12)
	got := needed(blurred)
	if len(decided) > 0 || len(got) != len(in.Plan.Study.Variants) {
		t.Errorf("needed: %v of decided steps, %v with an open step: want none, and all %d variants", decided, got,
			len(in.Plan.Study.Variants))
	}
}

// TestStepsAreDecidedInTheMetricsThatTheStudyNames, wherever these are in the list of all metrics.
func TestStepsAreDecidedInTheMetricsThatTheStudyNames(t *testing.T) {
	shown, _ := pathsToSync()
	in := untilDecided(explainInput(shown, 5, actAlone), 12)
	for _, name := range []string{"first", "second"} {
		in.Plan.Study.Metrics = append(in.Plan.Study.Metrics, lab.Metric{Name: name, Kind: lab.KindCount})
	}
	in.Plan.Study.Metrics = append(in.Plan.Study.Metrics, lab.Metric{Name: "peak_memory", Title: "peak memory",
		Unit: "B", Better: lab.LowerIsBetter, Kind: lab.KindMemory, Quantity: lab.Memory})
	for i := range in.Trials {
		trial := &in.Trials[i]
		trial.Measures["peak_memory"] = 1e6 * float64(1+3*((trial.Block+i)%2))
	}
	in.Plan.Study.Explained = &lab.Explained{Metrics: []string{"peak_memory"}}
	if got := needed(in); len(got) != len(in.Plan.Study.Variants) {
		t.Errorf("needed: %v, want all variants: nothing is decided about their memory", got)
	}
	in.Plan.Study.Explained.Metrics = []string{"first", "second", "third", "peak_memory"}
	if got := needed(in); len(got) != len(in.Plan.Study.Variants) {
		t.Errorf("needed: %v, want all variants: none of the first metrics was measured yet", got)
	}
	in.Plan.Study.Explained.Metrics = []string{"peak_memory"}
	if got := texts(in); len(got) == 0 || got[0] != "peak memory of sync against that of monolith at rate-40 "+
		"open again" {
		t.Errorf("known: %q, want that the whole is open", got)
	}
}

// twoPoints returns an experiment whose variants all play at rate-40 and, without some of them, at rate-80.
func twoPoints(study func(*lab.Study), missing ...string) Input {
	shown, _ := pathsToSync()
	in := untilDecided(explainInput(shown, 5, actAlone), 6)
	second := lab.Point{Name: "rate-80", Levels: map[string]float64{"rate": 80}}
	in.Plan.Study.Points = append(in.Plan.Study.Points, second)
	for _, trial := range slices.Clone(in.Trials) {
		trial.Point = second
		if !slices.Contains(missing, trial.Variant) {
			in.Trials = append(in.Trials, trial)
		}
	}
	study(&in.Plan.Study)
	return in
}

// studies returns changes of the study of twoPoints, by what it is about.
func studies() map[string]func(*lab.Study) {
	return map[string]func(*lab.Study){
		"steps": func(*lab.Study) {},
		"comparisons": func(s *lab.Study) {
			s.Steps = nil
		},
		"claims": func(s *lab.Study) {
			s.Claims = []lab.Claim{{ID: "c", Kind: lab.ClaimSlower, Variant: "sync", Against: "monolith"}}
		},
		"effects": func(s *lab.Study) {
			s.Steps = nil
			runs := []lab.FactorialRun{{Variant: "monolith", High: []bool{false}},
				{Variant: "sync", High: []bool{true}}}
			s.Factorial = &lab.Factorial{Factors: []lab.Factor{{Knob: "k", Low: "off", High: "on"}}, Runs: runs,
				Effects: []lab.FactorialGroup{{Terms: []lab.Term{{"k"}}}}}
		},
	}
}

// TestPointsWithoutAnAnswerAreNeeded, even if others are decided: none of their blocks has all trials yet.
func TestPointsWithoutAnAnswerAreNeeded(t *testing.T) {
	for name, study := range studies() {
		if got := needed(twoPoints(study)); len(got) > 0 {
			t.Errorf("%s: needed: %v, where all is decided", name, got)
		}
		got := needed(twoPoints(study, "sync"))
		if !slices.Contains(got, "sync at rate-80") || !slices.Contains(got, "monolith at rate-80") ||
			slices.Contains(got, "sync at rate-40") {
			t.Errorf("%s: needed: %v, want sync and monolith at rate-80, which has no trial of sync", name, got)
		}
		in := twoPoints(study)
		in.Trials = filter(in.Trials, func(t lab.Trial) bool { return t.Variant != "sync" })
		if got := needed(in); !slices.Contains(got, "sync at rate-40") || !slices.Contains(got, "sync at rate-80") {
			t.Errorf("%s: needed: %v, want sync, of which no trial counts", name, got)
		}
	}
}

// TestPointsWithoutTheMetricsAreNotNeeded if all variants were measured there: a search has no times.
func TestPointsWithoutTheMetricsAreNotNeeded(t *testing.T) {
	for name, study := range studies() {
		in := twoPoints(study)
		for i, trial := range in.Trials {
			if trial.Point.Name == "rate-80" {
				in.Trials[i].Measures = map[string]float64{"capacity": 100}
				in.Trials[i].Operations = 0
			}
		}
		if got := needed(in); len(got) > 0 {
			t.Errorf("%s: needed: %v, where the metrics are not measured", name, got)
		}
	}
}

// TestNoMoreIsNeededOfVariantsThatWereStruckOut, nor of what would be compared with them.
func TestNoMoreIsNeededOfVariantsThatWereStruckOut(t *testing.T) {
	for name, study := range studies() {
		in := twoPoints(study, "sync")
		for i, trial := range in.Trials {
			if trial.Variant == "sync" {
				in.Trials[i].Audit.Verdict = lab.AuditInvalid
			}
		}
		if got := needed(in); len(got) > 0 {
			t.Errorf("%s: needed: %v, though sync was struck out", name, got)
		}
	}
}

// TestUnsteadyTrialsAreNeededWhileTheyMayBecomeLonger: more of the same length would not be steadier.
func TestUnsteadyTrialsAreNeededWhileTheyMayBecomeLonger(t *testing.T) {
	for name, study := range map[string]func(*lab.Study){
		"comparisons": func(*lab.Study) {},
		"steps": func(s *lab.Study) {
			s.Steps = []lab.PathStep{{Name: "split", Order: 1, Before: "a", Variant: "b"}}
		},
		"effects": func(s *lab.Study) {
			s.Factorial = &lab.Factorial{Factors: []lab.Factor{{Knob: "k", Low: "off", High: "on"}},
				Runs:    []lab.FactorialRun{{Variant: "a", High: []bool{false}}, {Variant: "b", High: []bool{true}}},
				Effects: []lab.FactorialGroup{{Terms: []lab.Term{{"k"}}}}}
		},
		"claims": func(s *lab.Study) {
			s.Claims = []lab.Claim{{ID: "c", Kind: lab.ClaimSlower, Variant: "b", Against: "a"}}
		},
	} {
		for limit, want := range map[float64][]string{4: {"a at at-100", "b at at-100"}, 1: nil} {
			in := untilDecided(followedTrials(1, func(_, second int) float64 {
				return []float64{1, 20}[second/3%2]
			}), 7)
			in.Plan.Study.Metrics = in.Plan.Study.Metrics[:1]
			in.Plan.Study.Design.Lengthen = limit
			study(&in.Plan.Study)
			if got := needed(in); !slices.Equal(got, want) {
				t.Errorf("%s that may become %g times as long: needed: %v, want %v", name, limit, got, want)
			}
		}
	}
}

func TestTrialsThatWereNotNeededAreNoGaps(t *testing.T) {
	in := untilDecided(table1(t), 12)
	for block := 1; block <= 12; block++ {
		in.Plan.Trials = append(in.Plan.Trials, lab.PlannedTrial{Number: len(in.Plan.Trials) + 1, Block: block,
			Variant: "http", Point: "s1"})
	}
	in.Plan.Trials = in.Plan.Trials[len(in.Plan.Trials)-12:]
	a := Analyse(in)
	if a.Trials.Spared != 7 {
		t.Errorf("%d trials were spared, want 7 of 12: five were played", a.Trials.Spared)
	}
	if sure := strings.Join(a.Answer.Sure, " "); !strings.Contains(sure,
		"(7 more not needed, or the time was up)") {
		t.Errorf("sure: %s", sure)
	}
	shown, _ := pathsToSync()
	in = untilDecided(explainInput(shown, 5, actAlone), 12)
	in.Trials[4].Valid = false
	notes := fmt.Sprint(Analyse(in).Notes)
	if !strings.Contains(notes, "At rate-40 blocks lack trials: 2 (no trial of monolith counts).") {
		t.Errorf("the block whose trial failed, and no other, is a gap: %s", notes)
	}
}

// TestLevelsAreComputedOnce: an experiment is analysed several times after every block.
func TestLevelsAreComputedOnce(t *testing.T) {
	in := measuredKiosk(nil, nil)
	in.Plan.Study.Design.Until = lab.UntilDecided
	in.Plan.Study.Design.Blocks = lab.FirstLook + 2
	rule := NewRule(in)
	if first := rule.experimentOf(nil).looks; first == nil || first != rule.experimentOf(nil).looks {
		t.Error("the levels are computed anew in each analysis")
	}
}
