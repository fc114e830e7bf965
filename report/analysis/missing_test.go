package analysis

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// only returns the input with the trials for which keep is true.
func (in Input) only(keep func(lab.Trial) bool) Input {
	in.Trials = slices.DeleteFunc(slices.Clone(in.Trials), func(trial lab.Trial) bool { return !keep(trial) })
	return in
}

// cutDown returns experiments that are incomplete or invalid in some way.
func cutDown(t *testing.T) map[string]Input {
	full := table1(t)
	wild := full.only(func(trial lab.Trial) bool { return trial.Block <= 2 })
	for i := range wild.Trials {
		wild.Trials[i].ElapsedSeconds *= math.Pow(10, float64(i%7*20))
	}
	zeroDesign, nonsense := full, full
	zeroDesign.Plan.Study.Design = lab.Design{}
	nonsense.Plan.Study.Design = lab.Design{Confidence: 2, Margin: math.NaN(), Scale: math.Inf(1)}
	return map[string]Input{
		"all":                   full,
		"nothing at all":        {},
		"a plan without trials": full.only(func(lab.Trial) bool { return false }),
		"one block":             full.only(func(trial lab.Trial) bool { return trial.Block == 3 }),
		"two blocks":            full.only(func(trial lab.Trial) bool { return trial.Block < 3 }),
		"one point":             full.only(func(trial lab.Trial) bool { return trial.Point.Name == "s4" }),
		"two points": full.only(func(trial lab.Trial) bool {
			return trial.Point.Name == "s4" || trial.Point.Name == "s5"
		}),
		"no baseline":    full.only(func(trial lab.Trial) bool { return trial.Variant != "threads" }),
		"baseline alone": full.only(func(trial lab.Trial) bool { return trial.Variant == "threads" }),
		"no twin":        full.only(func(trial lab.Trial) bool { return trial.Variant != "uds.twin" }),
		"no block in common": full.only(func(trial lab.Trial) bool {
			return (trial.Variant == "threads") == (trial.Block < 3)
		}),
		"first half":            full.only(func(trial lab.Trial) bool { return trial.Number <= 60 }),
		"numbers not finite":    notFinite(t),
		"numbers too large":     sized(t, 1e300, 1),
		"numbers far apart":     sized(t, 1e129, 1e-129),
		"numbers too far apart": sized(t, 1e129, 1e-300),
		"nothing to divide by":  nothingToDivideBy(),
		"wild spread":           wild,
		"design of zeros":       zeroDesign,
		"design of nonsense":    nonsense,
		"trials from elsewhere": {Trials: full.Trials, Published: full.Published},
	}
}

// notFinite returns an experiment whose records hold all numbers that JSON cannot encode.
func notFinite(t *testing.T) Input {
	in := table1(t)
	for i := range in.Trials {
		trial := &in.Trials[i]
		switch i % 5 {
		case 0:
			trial.ElapsedSeconds = math.NaN()
		case 1:
			trial.ElapsedSeconds = math.Inf(1)
			trial.Metered.Total.CPUSeconds = math.Inf(-1)
		case 2:
			trial.ElapsedSeconds = 0
			trial.Operations = 0
		case 3:
			trial.Conditions.StealShare = math.NaN()
			trial.Conditions.Unavailable = nil
			trial.Metered.OwnShare = math.Inf(1)
			trial.Audit.Figures["fairness"] = math.NaN()
		}
	}
	return in
}

// sized returns an experiment whose trials have times of two sizes in turn.
func sized(t *testing.T, sizes ...float64) Input {
	in := table1(t)
	for i := range in.Trials {
		trial, size := &in.Trials[i], sizes[i%len(sizes)]
		trial.ElapsedSeconds = size
		trial.LifetimeSeconds = size
		trial.Metered.Total.CPUSeconds = size
	}
	return in
}

// nothingToDivideBy returns an experiment with zeros in denominators: an offered rate of 0 in the first
// block, and profiles and traces without time.
func nothingToDivideBy() Input {
	point := at("p", lab.FactorUsers, 4)
	in := underLoad(point)
	study := &in.Plan.Study
	study.Metrics = append(study.Metrics, lab.ProfiledMetric(), lab.Metric{Name: "goodput", Unit: "1/s",
		Better: lab.HigherIsBetter, Kind: lab.KindRate, Quantity: lab.Goodput})
	study.Variants[1].Replicas = map[string]int{"orders": 2}
	for block := 1; block <= 2; block++ {
		for _, variant := range []string{"one", "two"} {
			trial := in.trial(variant, point, block, map[string]float64{"cpu_per_operation": 0.004, "goodput": 9})
			trial.Audit.Figures[lab.FigureOffered] = float64(block - 1)
			trial.Traced = &lab.TraceSet{Operations: []lab.TracedOperation{{Traces: 1, Batches: []lab.TraceBatch{
				{Parts: []lab.PartCost{{TracePart: lab.TracePart{Service: "orders"}, Path: 1}}}}}}}
		}
		profiled := in.trial("one", point, block, nil)
		profiled.Profiled = true
		profiled.Layers = []lab.RoleLayers{{Role: "orders", Samples: 9,
			Seconds: map[lab.Layer]float64{lab.LayerJSON: 0}}}
	}
	return in
}

// TestDocumentsOfIncompleteExperiments: the document can be encoded (JSON has no NaN), has a reason for every
// verdict on a claim, and has empty lists in place of null.
func TestDocumentsOfIncompleteExperiments(t *testing.T) {
	for name, in := range cutDown(t) {
		t.Run(name, func(t *testing.T) {
			a := Analyse(in)
			checkTop(t, encode(t, a))
			for _, c := range a.Claims {
				if c.Reason == "" || c.Verdict == "" {
					t.Errorf("claim %s: verdict %q, reason %q", c.ID, c.Verdict, c.Reason)
				}
			}
			for _, f := range a.Published {
				if f.Measured == nil && f.Reason == "" {
					t.Errorf("figure %s has neither a number nor a reason", f.ID)
				}
			}
			for _, c := range a.Comparisons {
				checkComparison(t, c)
			}
			if a.Answer.Sentence == "" {
				t.Error("no answer")
			}
		})
	}
}

// TestTrialsWithExtremeNumbersAreLeftOut: what is computed of them might not be finite. The others count.
func TestTrialsWithExtremeNumbersAreLeftOut(t *testing.T) {
	for name, spoil := range map[string]func(*lab.Trial){
		"conditions": func(t *lab.Trial) {
			t.Conditions.CalibrationBefore = 1e300
			t.Conditions.CalibrationAfter = 1e-300
		},
		"figures": func(t *lab.Trial) {
			t.Audit.Figures[lab.FigureOffered] = 1e-300
			t.Audit.Figures[lab.FigureAchieved] = 1e300
		},
	} {
		t.Run(name, func(t *testing.T) {
			point := at("p", lab.FactorRate, 10)
			in := underLoad(point)
			for block := 1; block <= 3; block++ {
				in.trial("one", point, block, map[string]float64{"cpu_per_operation": 0.004})
			}
			spoil(&in.Trials[0])
			a := Analyse(in)
			encode(t, a)
			if r := a.Results; len(r) != 1 || r[0].N != 2 {
				t.Errorf("results %+v, want one of two trials", r)
			}
			if !strings.Contains(strings.Join(a.Notes, "\n"), "Trial 1 of one at p holds the number ") {
				t.Errorf("no note says why a trial is left out: %q", a.Notes)
			}
		})
	}
}

// TestABrokenRuleCountsBesideAnExtremeNumber: the trial is left out, but it was played, and its variant is
// struck out.
func TestABrokenRuleCountsBesideAnExtremeNumber(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	in.Plan.Study.Design.Until = lab.UntilDecided
	in.Plan.Trials = []lab.PlannedTrial{{Number: 1, Block: 1, Variant: "two", Point: "p"}}
	audit := &in.trial("two", point, 1, map[string]float64{"cpu_per_operation": 0.004}).Audit
	audit.Verdict = lab.AuditInvalid
	audit.Figures[lab.FigureOffered] = 1e300
	a := Analyse(in)
	encode(t, a)
	if !a.StruckOut("two") || a.Trials.Spared != 0 {
		t.Errorf("struck out: %t, %d trials spared; want true and 0", a.StruckOut("two"), a.Trials.Spared)
	}
}

// checkTop checks that the document has lists and objects, not null, at its top and in its answer and trials.
func checkTop(t *testing.T, data []byte) {
	t.Helper()
	var top map[string]json.RawMessage
	testset.Must(t, json.Unmarshal(data, &top))
	for _, name := range []string{"answer", "metrics", "variants", "points", "results", "comparisons",
		"averages", "trends", "ladder", "claims", "published", "notes", "noise_floor", "margins", "audit",
		"environment"} {
		if text := string(top[name]); text == "null" || text == "" {
			t.Errorf("%s is %q", name, text)
		}
	}
	for _, name := range []string{"findings", "withheld", "sure", "not_tested", "invalid"} {
		if strings.Contains(string(data), `"`+name+`": null`) {
			t.Errorf("%s is null", name)
		}
	}
}

// checkComparison checks what must be true of every comparison.
func checkComparison(t *testing.T, c lab.Comparison) {
	t.Helper()
	name := c.Metric + " " + c.Variant + "/" + c.Baseline + " at " + c.Point.Name
	if (c.Low == nil) != (c.High == nil) || c.Words == "" || (c.N < 1 && c.Low == nil) {
		t.Errorf("%s: half an interval, no words or no blocks: %+v", name, c)
	}
	if c.N < 2 && c.Low != nil && c.Spread != string(stats.OfTable) {
		t.Errorf("%s: an interval of one block, and not by the other variants: %+v", name, c)
	}
	if c.N < 2 && c.Low == nil && (c.P != nil || c.Verdict != lab.Undecided || c.MoreBlocks != 1) {
		t.Errorf("%s: one block decides: %+v", name, c)
	}
	if c.Low != nil && (c.Ratio.Ratio < *c.Low*(1-1e-12) || c.Ratio.Ratio > *c.High*(1+1e-12)) {
		t.Errorf("%s: %g lies outside [%g, %g]", name, c.Ratio.Ratio, *c.Low, *c.High)
	}
}

func TestOneBlockDecidesNothing(t *testing.T) {
	a := Analyse(table1(t).only(func(trial lab.Trial) bool { return trial.Block == 1 }))
	if len(a.Comparisons) == 0 {
		t.Fatal("no comparisons")
	}
	for _, c := range a.Claims {
		if c.Verdict == lab.ClaimSupported || c.Verdict == lab.ClaimContradicted {
			t.Errorf("%s is %s on one block", c.ID, c.Verdict)
		}
	}
	if r := a.Results[0]; r.N != 1 || r.Low != nil || r.High != nil {
		t.Errorf("result = %+v, want no interval", r)
	}
	if sure := strings.Join(a.Answer.Sure, " "); !strings.Contains(sure, "measured alike is unknown") {
		t.Errorf("sure: %s", sure)
	}
}

func TestMissingPoints(t *testing.T) {
	quick := []string{"s1", "s3", "s5", "s7", "s9"}
	in := table1(t).only(func(trial lab.Trial) bool { return slices.Contains(quick, trial.Point.Name) })
	a := Analyse(in)
	c := claimOf(t, a, "uds-linear-in-workers")
	if c.Verdict != lab.ClaimContradicted || !strings.HasSuffix(c.Reason,
		"not tested at s2, s4, which did not run") {
		t.Errorf("claim over s1 to s5 without s2 and s4 is %s: %s", c.Verdict, c.Reason)
	}
	if len(a.Trends) != 0 {
		t.Errorf("%d trends through points that did not run", len(a.Trends))
	}
	for _, f := range a.Published {
		if missing := !slices.Contains(quick, f.Point); f.Source == "Table 2" && missing != (f.Measured == nil) {
			t.Errorf("%s at %s: measured %v, reason %q", f.ID, f.Point, f.Measured, f.Reason)
		}
		if f.ID == "s0-172" && (f.Measured == nil || !strings.Contains(f.Reason, "average of 5 points")) {
			t.Errorf("average over five points: %v, %q", f.Measured, f.Reason)
		}
	}
	two := Analyse(table1(t).only(func(trial lab.Trial) bool {
		return trial.Point.Name == "s1" || trial.Point.Name == "s2"
	}))
	if c := claimOf(t, two, "uds-linear-in-workers"); c.Verdict != lab.ClaimUntestable ||
		!strings.Contains(c.Reason, "3 different levels") {
		t.Errorf("an exponent from two points is %s: %s", c.Verdict, c.Reason)
	}
}

func TestARepeatedTrialCountsOnce(t *testing.T) {
	in := table1(t)
	again := in.Trials[0]
	in.Trials[0].Valid = false
	in.Trials[0].Reason = "steal of 3 %"
	again.Attempt = 2
	again.ElapsedSeconds++
	in.Trials = append(in.Trials, again)
	a := Analyse(in)
	if a.Trials.Valid != a.Trials.Planned || len(a.Trials.Invalid) != 1 ||
		a.Trials.Invalid[0].Reason != "steal of 3 %" {
		t.Errorf("trials = %+v", a.Trials)
	}
	i := slices.IndexFunc(a.Results, func(r lab.Result) bool {
		return r.Variant == again.Variant && r.Point.Name == again.Point.Name
	})
	if r := a.Results[i]; r.N != 5 || r.Values[again.Block-1] != again.ElapsedSeconds {
		t.Errorf("result = %+v, want the second attempt in block %d", r, again.Block)
	}
}

// TestABlockThatLacksAVariantStillCounts: blocks 1, 3 and 5 have three variants, block 2
// lacks uds and block 4 http. By least squares, the complete blocks have six times the weight
// of http/threads of block 2 times threads/uds of block 4.
func TestABlockThatLacksAVariantStillCounts(t *testing.T) {
	in := table1(t).only(func(trial lab.Trial) bool {
		return trial.Variant != "uds.twin" && trial.Variant != "uds-persistent" &&
			!(trial.Variant == "uds" && trial.Block == 2) && !(trial.Variant == "http" && trial.Block == 4)
	})
	c := comparisonOf(t, Analyse(in), "elapsed", "s1", "http", "uds")
	if c.N != 3 {
		t.Errorf("n = %d, want the 3 blocks in common", c.N)
	}
	at := func(variant string, block int) float64 {
		i := slices.IndexFunc(in.Trials, func(trial lab.Trial) bool {
			return trial.Variant == variant && trial.Block == block && trial.Point.Name == "s1"
		})
		return math.Log(in.Trials[i].ElapsedSeconds)
	}
	whole := math.Log(114.685*116.764*128.898/(31.131*33.026*33.193)) / 3
	want := math.Exp((6*whole + at("http", 2) - at("threads", 2) + at("threads", 4) - at("uds", 4)) / 7)
	near(t, "ratio", &c.Ratio.Ratio, want, 1e-12)
}

// TestATwinKeepsTheVerdictDespiteALostTrial: b costs 2.3 times as much as a, which has a twin. The last block
// of two, and of three, lacks b. The noise of the pair a and a.twin still gives an interval.
func TestATwinKeepsTheVerdictDespiteALostTrial(t *testing.T) {
	cost := func(name string, _ int) float64 {
		return map[string]float64{"a": 169e-6, "a.twin": 169e-6, "b": 392e-6}[name]
	}
	for blocks := 2; blocks <= 3; blocks++ {
		in := explainInput([]lab.PathStep{step(1, "a", "a.twin"), step(1, "a", "b")}, blocks, cost)
		in.Plan.Study.Steps = nil
		in.Plan.Study.Variants[1].TwinOf = "a"
		for i, trial := range in.Trials {
			if trial.Variant == "b" && trial.Block == blocks {
				in.Trials[i].Valid = false
				in.Trials[i].Reason = "steal of 3 %"
			}
		}
		c := comparisonOf(t, Analyse(in), "completion_time_p50", "rate-40", "b", "a")
		if c.N != blocks-1 || c.Verdict != lab.Slower || c.Spread != string(stats.OfTable) {
			t.Errorf("%d blocks: %+v, want slower by the spread of the table", blocks, c)
		}
	}
}

// TestPairsWithABlockInCommonInAnyMetricAreNotNoted: the first metric of the study has no values, as at a
// point with a search.
func TestPairsWithABlockInCommonInAnyMetricAreNotNoted(t *testing.T) {
	full := shopUnderLoad()
	full.Plan.Study.Metrics = append([]lab.Metric{{Name: "without_values"}}, full.Plan.Study.Metrics...)
	apart := full.only(func(trial lab.Trial) bool { return (trial.Variant == "monolith") == (trial.Block < 3) })
	for name, in := range map[string]Input{"in common": full, "apart": apart} {
		noted := slices.ContainsFunc(Analyse(in).Notes,
			func(note string) bool { return strings.Contains(note, "have no block in common at") })
		if noted != (name == "apart") {
			t.Errorf("%s: noted %t", name, noted)
		}
	}
}
