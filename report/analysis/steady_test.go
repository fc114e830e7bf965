package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// followedTrials returns an experiment of two variants at one rate over six blocks. course
// returns a factor on the response times in a second of a trial of b.
func followedTrials(ratio float64, course func(block, second int) float64) Input {
	p50 := lab.Metric{Name: "response_time_p50", Title: "median response time", Unit: "s",
		Better: lab.LowerIsBetter, Kind: lab.KindTime, Quantity: lab.ResponseTime, Quantile: 0.5}
	rows := lab.Metric{Name: "rows", Title: "rows", Unit: "1", Better: lab.LowerIsBetter, Kind: lab.KindCount,
		Quantity: "rows"}
	point := lab.Point{Name: "at-100", Levels: map[string]float64{"rate": 100}}
	in := Input{Plan: lab.Plan{Study: lab.Study{
		Baseline: "a", Variants: []lab.Variant{{Name: "a"}, {Name: "b"}}, Points: []lab.Point{point},
		Metrics: []lab.Metric{p50, rows},
		Design:  lab.Design{Blocks: 6, Margin: 0.05, Confidence: 0.95}, Load: &lab.Load{Duration: 10},
	}}}
	for block := 1; block <= 6; block++ {
		for k, name := range []string{"a", "b"} {
			trial := lab.Trial{Number: len(in.Trials) + 1, Attempt: 1, Block: block, Variant: name, Point: point,
				Valid: true, Operations: 1000, Audit: lab.Audit{Verdict: lab.AuditValid}}
			mean := 0.0
			for second := range 10 {
				value := 0.001 * wobble(block, 3*second+k) // within 6 %
				if name == "b" {
					value *= ratio * course(block, second)
				}
				mean += value / 10
				trial.Course = append(trial.Course, lab.Slice{End: float64(second + 1), OK: 100, Median: &value,
					P99: &value})
			}
			trial.Cohorts = cohortsOf(10, func(number int) float64 {
				value := 0.001 * wobble(block, 3*number+k)
				if name == "b" {
					value *= ratio * course(block, number/100)
				}
				return value
			})
			trial.Measures = map[string]float64{"response_time_p50": mean,
				"rows": 3 + float64(k)*0.3 + 0.001*wobble(block, k)}
			in.Trials = append(in.Trials, trial)
			in.Plan.Trials = append(in.Plan.Trials, lab.PlannedTrial{Number: trial.Number, Block: block, Variant: name,
				Point: point.Name})
		}
	}
	return in
}

// cohortsOf returns the operations of a load at 100/s; took returns the response time of each in seconds.
func cohortsOf(seconds int, took func(number int) float64) *lab.Cohorts {
	all := &lab.Cohorts{Seconds: float64(seconds) / lab.CohortsOfLoad,
		All: make([]lab.Cohort, lab.CohortsOfLoad)}
	for number := range 100 * seconds {
		at := number * lab.CohortsOfLoad / (100 * seconds)
		bucket := lab.TimeBucket(time.Duration(took(number) * float64(time.Second)))
		all.All[at] = lab.SumCohorts(all.All[at],
			lab.Cohort{OK: 1, Buckets: []int{bucket}, Counts: []int64{1}})
	}
	return all
}

func TestVerdictsThatDependOnTheLengthOfTrialsAreWithheld(t *testing.T) {
	swings := func(_, second int) float64 { return []float64{1, 20}[second/3%2] }
	tests := map[string]struct {
		ratio   float64
		course  func(block, second int) float64
		verdict lab.ComparisonVerdict
		words   string
	}{
		"steady": {2, func(int, int) float64 { return 1 }, lab.Slower,
			"slower by at least"},
		"swings that could turn it": {1, swings, lab.Undecided, "withheld: b is not steady"},
		"swings that could not":     {100, swings, lab.Slower, "slower, by how much is open: b is not steady"},
		"slow after half of the trial": {1.2, func(_, second int) float64 { return []float64{1, 1.5}[second/5] },
			lab.Undecided, "withheld: b is not steady"},
		"slower from trial to trial": {1.1, func(block, _ int) float64 { return 1 + 0.3*float64(block) },
			lab.Undecided, "withheld: the ratio goes from block to block"},
		"one trial of six was disturbed": {2, func(block, second int) float64 {
			return 1 +
				3*float64(max(0, min(1, second-7)))*float64(block/6)
		}, lab.Slower, "slower by at least"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := Analyse(followedTrials(test.ratio, test.course))
			c := a.Comparisons[slices.IndexFunc(a.Comparisons,
				func(c lab.Comparison) bool { return c.Metric == "response_time_p50" })]
			if c.Verdict != test.verdict || !strings.Contains(c.Words, test.words) ||
				(c.Unsteady == "") != strings.Contains(test.words, "at least") {
				t.Errorf("%g %s: %s, want %s: %s", c.Ratio.Ratio, c.Verdict, c.Words, test.verdict, test.words)
			}
			if name == "swings that could turn it" && !strings.Contains(c.Unsteady,
				"in 6 of 6 trials its median response time changes within the trial, by 20") {
				t.Errorf("in full: %s", c.Unsteady)
			}
			said := strings.Join(a.Answer.Withheld, " ")
			within := strings.Contains(test.words, "b is not steady")
			if strings.HasPrefix(said, "Not steady: b at at-100") != within {
				t.Errorf("withheld: %s", said)
			}
			const about = "b against a in median response time at 100 operations/s."
			want := test.verdict == lab.Undecided
			if strings.Contains(said, "So there is no verdict on "+about) != want ||
				strings.Contains(said, "the size, of "+about) != (within && !want) {
				t.Errorf("the verdict is not named: %s", said)
			}
			if rows := a.Comparisons[len(a.Comparisons)-1]; rows.Metric != "rows" || rows.Verdict != lab.Slower {
				t.Errorf("a count, which does not depend on the length, is %+v", rows)
			}
		})
	}
}

// TestWithheldVerdictsAreMarked: those on steps, effects and comparisons.
func TestWithheldVerdictsAreMarked(t *testing.T) {
	for swing, want := range map[float64]bool{1: false, 20: true} {
		in := followedTrials(1, func(_, second int) float64 { return []float64{1, swing}[second/3%2] })
		study := &in.Plan.Study
		study.Steps = []lab.PathStep{{Name: "split", Order: 1, Before: "a", Variant: "b"}}
		study.Factorial = &lab.Factorial{Factors: []lab.Factor{{Knob: "k", Low: "off", High: "on"}},
			Runs:    []lab.FactorialRun{{Variant: "a", High: []bool{false}}, {Variant: "b", High: []bool{true}}},
			Effects: []lab.FactorialGroup{{Terms: []lab.Term{{"k"}}}}}
		a := Analyse(in)
		got := []bool{a.Waterfalls[0].Steps[0].Withheld, a.FactorEffects[0].Effects[0].Withheld,
			a.Comparisons[0].Withheld}
		if slices.Contains(got, !want) {
			t.Errorf("of a step, an effect and a comparison are withheld %v, want all %v", got, want)
		}
		said := strings.Join(a.Answer.Withheld, " ")
		if want != strings.Contains(said, "no verdict on split in ") ||
			want != strings.Contains(said, ", k on in ") {
			t.Errorf("withheld: %s", said)
		}
	}
}

// TestTrialsWithAnEmptyHalfAreNamed: their halves cannot be compared, but the other half is not steady.
func TestTrialsWithAnEmptyHalfAreNamed(t *testing.T) {
	in := followedTrials(1, func(_, second int) float64 { return []float64{1, 20}[min(1, second/3)] })
	for _, trial := range in.Trials {
		clear(trial.Cohorts.All[lab.CohortsOfLoad/2:])
	}
	a := Analyse(in)
	const want = "b at at-100: in 6 of 6 trials its median response time changes"
	if said := strings.Join(a.Answer.Withheld, " "); !strings.Contains(said, want) {
		t.Errorf("withheld: %s", said)
	}
}

// TestNothingIsWithheldThatWasOpenAnyway: b is not steady, but no verdict depends on it.
func TestNothingIsWithheldThatWasOpenAnyway(t *testing.T) {
	in := followedTrials(1, func(_, second int) float64 { return []float64{1, 20}[second/3%2] })
	for i, trial := range in.Trials {
		if trial.Variant == "b" {
			in.Trials[i].Measures["response_time_p50"] = []float64{0.0005, 0.002}[trial.Block%2]
		}
	}
	a := Analyse(in)
	if c := a.Comparisons[0]; c.Words != "undecided, and b is not steady" || c.MoreBlocks != 0 {
		t.Errorf("%+v", c)
	}
	in.Plan.Study.Metrics = in.Plan.Study.Metrics[1:]
	for name, a := range map[string]lab.Analysis{"undecided": a, "only a count": Analyse(in)} {
		if len(a.Answer.Withheld) > 0 || len(a.Steadiness) == 0 {
			t.Errorf("%s: withheld %q; steadiness %+v", name, a.Answer.Withheld, a.Steadiness)
		}
	}
}

// warmedTrials returns steady trials of a and b after warm-ups until steady. Those of b became
// steady in the given number of blocks, and still changed by the factor left in the others.
func warmedTrials(ratio float64, steady int, left float64) Input {
	in := followedTrials(ratio, func(int, int) float64 { return 1 })
	for i := range in.Trials {
		t := &in.Trials[i]
		t.WarmUp = &lab.WarmUp{Seconds: 4, Steady: true, Course: "flat", Quantity: "rate", Factor: 1, Left: 1}
		if t.Variant == "b" {
			t.WarmUp = &lab.WarmUp{Seconds: 8, Steady: t.Block <= steady, Course: "warm-up", Quantity: "median",
				Factor: 5, Left: 1}
			if t.Block > steady {
				t.WarmUp.Course = "no steady state"
				t.WarmUp.Left = left
			}
		}
	}
	return in
}

func TestVerdictsAfterAWarmUpThatWasNotDoneAreWithheld(t *testing.T) {
	tests := map[string]struct {
		ratio   float64
		steady  int
		left    float64
		verdict lab.ComparisonVerdict
		words   string
	}{
		"most were steady":       {2, 4, 1.5, lab.Slower, "slower by at least"},
		"it could turn it":       {1.3, 2, 1.5, lab.Undecided, "withheld: b is not steady"},
		"it could not turn it":   {4, 2, 1.5, lab.Slower, "slower, by how much is open: b is not steady"},
		"as many as were steady": {1.3, 3, 1.5, lab.Undecided, "withheld: b is not steady"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := Analyse(warmedTrials(test.ratio, test.steady, test.left))
			c := a.Comparisons[slices.IndexFunc(a.Comparisons,
				func(c lab.Comparison) bool { return c.Metric == "response_time_p50" })]
			if c.Verdict != test.verdict || !strings.Contains(c.Words, test.words) {
				t.Errorf("%s: %s, want %s: %s", c.Verdict, c.Words, test.verdict, test.words)
			}
			withheld := c.Unsteady != ""
			first := strings.Join(a.Answer.Withheld, " ")
			if withheld != strings.HasPrefix(first, "Not steady: b at at-100: in ") ||
				withheld && !strings.Contains(first, "by 1.50x, when its warm-up ended at the limit of 8") {
				t.Errorf("withheld: %s", first)
			}
			if w := a.WarmUps; len(w) != 2 || w[1].Variant != "b" || w[1].Steady != test.steady || w[1].Trials != 6 ||
				w[1].Seconds != 8 || w[1].Factor != 5 {
				t.Errorf("warm-ups %+v", w)
			}
		})
	}
}

// TestClaimsThatDependOnTheLengthOfTrialsAreWithheld like comparisons. No more trials are played for them,
// since trials of the same length would not decide them.
func TestClaimsThatDependOnTheLengthOfTrialsAreWithheld(t *testing.T) {
	claim := func(kind lab.ClaimKind, low, high float64) lab.Claim {
		return lab.Claim{ID: "claim", Kind: kind, Metric: "response_time_p50", Variant: "b", Against: "a", Low: low,
			High: high}
	}
	level := lab.Claim{ID: "claim", Kind: lab.ClaimLevel, Metric: "response_time_p50", Variant: "b", Low: 0.001,
		High: 0.002}
	rows := claim(lab.ClaimSlower, 0, 0)
	rows.Metric = "rows"
	tests := map[string]struct {
		claim    lab.Claim
		ratio    float64
		steady   int
		verdict  lab.ClaimVerdict
		unsteady bool // the judgement says that it depends on the length
	}{
		"slower, steady":            {claim(lab.ClaimSlower, 0, 0), 1.3, 6, lab.ClaimSupported, false},
		"slower, could be turned":   {claim(lab.ClaimSlower, 0, 0), 1.3, 0, lab.ClaimUndecided, true},
		"slower, could not":         {claim(lab.ClaimSlower, 0, 0), 4, 0, lab.ClaimSupported, true},
		"faster, could be turned":   {claim(lab.ClaimSlower, 0, 0), 0.8, 0, lab.ClaimUndecided, true},
		"a factor, steady":          {claim(lab.ClaimFactor, 1.1, 1.6), 1.3, 6, lab.ClaimSupported, false},
		"a factor, by the upper":    {claim(lab.ClaimFactor, 0.1, 1.6), 1.3, 0, lab.ClaimUndecided, true},
		"a factor, by the lower":    {claim(lab.ClaimFactor, 1.1, 100), 1.3, 0, lab.ClaimUndecided, true},
		"a factor, could not":       {claim(lab.ClaimFactor, 0.1, 100), 1.3, 0, lab.ClaimSupported, true},
		"a level, could be turned":  {level, 1.5, 0, lab.ClaimUndecided, true},
		"a level, steady":           {level, 1.5, 6, lab.ClaimSupported, false},
		"a count":                   {rows, 1, 0, lab.ClaimSupported, false},
		"same, could be turned":     {claim(lab.ClaimEquivalent, 0, 0), 1, 0, lab.ClaimUndecided, true},
		"undecided, and not steady": {claim(lab.ClaimFactor, 1.3, 5), 1.3, 0, lab.ClaimUndecided, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := warmedTrials(test.ratio, test.steady, 1.5)
			in.Plan.Study.Claims = []lab.Claim{test.claim}
			j := Analyse(in).Claims[0]
			if j.Verdict != test.verdict || (j.Unsteady != "") != test.unsteady ||
				j.Withheld != strings.HasPrefix(j.Reason, "withheld: ") {
				t.Errorf("%s (%s; not steady: %s), want %s", j.Verdict, j.Reason, j.Unsteady, test.verdict)
			}
			if open := newExperiment(in).openSettings(); len(open) > 0 {
				t.Errorf("%v are played on", open)
			}
		})
	}
}

// TestAClaimNamesTheLeastSteadyPoint as the reason, whichever comes first.
func TestAClaimNamesTheLeastSteadyPoint(t *testing.T) {
	in := warmedTrials(4, 0, 1.5)
	worse := lab.Point{Name: "at-200", Levels: map[string]float64{"rate": 200}}
	in.Plan.Study.Points = append(in.Plan.Study.Points, worse)
	for _, trial := range warmedTrials(4, 0, 3).Trials {
		trial.Number = len(in.Trials) + 1
		trial.Point = worse
		in.Trials = append(in.Trials, trial)
	}
	in.Plan.Study.Claims = []lab.Claim{{ID: "claim", Kind: lab.ClaimSlower, Metric: "response_time_p50",
		Variant: "b", Against: "a"}}
	j := Analyse(in).Claims[0]
	if !strings.HasSuffix(j.Reason, "; b is not steady at at-200, which could not turn it") ||
		!strings.Contains(j.Unsteady, "by 3.00x") {
		t.Errorf("%s; not steady: %s", j.Reason, j.Unsteady)
	}
}

func TestStepsThatAreNotSteadyArePlayedNoFurther(t *testing.T) {
	for steady, want := range map[int]int{6: 2, 0: 0} {
		in := warmedTrials(1, steady, 1.5)
		for i := range in.Trials { // so noisy that nothing is decided
			if t := in.Trials[i]; t.Variant == "b" {
				t.Measures["response_time_p50"] *= []float64{0.8, 1.2}[t.Block%2]
			}
		}
		in.Plan.Study.Metrics = in.Plan.Study.Metrics[:1]
		in.Plan.Study.Steps = []lab.PathStep{{Order: 1, Before: "a", Variant: "b",
			Changes: []lab.KnobChange{{Knob: "k", From: "1", To: "2"}}}}
		if open := newExperiment(in).openSettings(); len(open) != want {
			t.Errorf("%d of 6 warm-ups steady: %v are played on, want %d", steady, open, want)
		}
	}
}

// TestTrialsThatAreNotSteadyBecomeLonger: they become twice as long after two blocks without a
// steady trial, up to the limit of the design; the shorter ones then do not count.
func TestTrialsThatAreNotSteadyBecomeLonger(t *testing.T) {
	swings := func(block, second int) float64 {
		return []float64{1, []float64{20, 20, 1, 1}[min(3, (block-1)/2)]}[second/3%2]
	}
	in := followedTrials(1, swings)
	in.Plan.Study.Design.Lengthen = 4
	for i := range in.Trials {
		in.Trials[i].Lengthened = []float64{0, 0, 0, 2, 2, 4, 4}[in.Trials[i].Block]
	}
	for last, want := range []float64{0, 0, 2, 2, 4, 4, 4} { // by the last block that was played
		rule := NewRule(in)
		if got := rule.Lengths(in.Trials[:2*last])["at-100"]; got != want {
			t.Errorf("after block %d load and warm-up last %g times as long, want %g", last, got, want)
		}
	}
	a := Analyse(in)
	if a.Trials.Valid != 4 || a.Answer.Sentence == "" || len(a.Answer.Withheld) > 0 {
		t.Errorf("%d trials count, want the last four; withheld: %s", a.Trials.Valid, a.Answer.Withheld)
	}
	if notes := strings.Join(a.Notes, "\n"); !strings.Contains(notes,
		"made 4 times as long there; the shorter ones (8) do not count. Their median response_time_p50, and that "+
			"of the longer ones: a 1") {
		t.Errorf("notes: %s", notes)
	}
	if sure := strings.Join(a.Answer.Sure, " "); !strings.Contains(sure,
		"4 of 12 trials counted (8 not, since later ones at their points were made longer).") {
		t.Errorf("how sure: %s", sure)
	}
	if s := strings.Join(a.Answer.NotTested, ", "); !strings.Contains(s, "loads of more than 40 s") {
		t.Errorf("not tested: %s; want the loads as long as they have become", s)
	}
	failed := in.only(func(lab.Trial) bool { return true })
	for i, trial := range failed.Trials {
		failed.Trials[i].Valid = trial.Lengthened < 4
	}
	if valid := Analyse(failed).Trials.Valid; valid != 4 {
		t.Errorf("of longest trials that failed %d trials count, want the four before these", valid)
	}
	in.Plan.Study.Design.Lengthen = 0
	if got := NewRule(in).Lengths(in.Trials[:4])["at-100"]; got != 0 {
		t.Errorf("a design that permits nothing has trials become %g times as long", got)
	}
}
