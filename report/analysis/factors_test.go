package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// pairsOfFour holds the aliased interactions of four factors. It repeats part of study.Factorial, which this
// package may not import.
var pairsOfFour = [][]lab.Term{{{"a", "b"}, {"c", "d"}}, {{"a", "c"}, {"b", "d"}}, {{"a", "d"}, {"b", "c"}}}

// halfOfFour returns the design 2^(4-1), I = ABCD.
func halfOfFour() lab.Factorial {
	d := lab.Factorial{Notation: "2^(4-1)", Resolution: 4, Generators: []string{"D = ABC"}, Relation: "I = ABCD"}
	for _, knob := range []string{"a", "b", "c", "d"} {
		d.Factors = append(d.Factors, lab.Factor{Knob: knob, Low: "off", High: "on"})
		d.Effects = append(d.Effects, lab.FactorialGroup{Terms: []lab.Term{{knob}}})
	}
	for i := range 8 {
		a := i&1 > 0
		b := i&2 > 0
		c := i&4 > 0
		run := lab.FactorialRun{Variant: "base", High: []bool{a, b, c, a != b != c}}
		for k, high := range run.High {
			if high {
				run.Variant += "-" + d.Factors[k].Knob
			}
		}
		d.Runs = append(d.Runs, run)
	}
	for _, terms := range pairsOfFour {
		d.Effects = append(d.Effects, lab.FactorialGroup{Terms: terms})
	}
	return d
}

// inFactors returns an experiment of that design. The log of a value is the sum of a term for its block, of
// noise, and of half the log of each factor's effect and a quarter of that of each interaction, with the sign
// of the run. effects holds the ratios by label: "a", "a x d".
func inFactors(blocks int, effects map[string]float64, noise float64, seed uint64) Input {
	d := halfOfFour()
	var steps []lab.PathStep
	for _, run := range d.Runs[1:] {
		steps = append(steps, lab.PathStep{Before: "base", Variant: run.Variant})
	}
	random := rand.New(rand.NewPCG(seed, 1))
	in := explainInput(steps, blocks, func(string, int) float64 { return 1 })
	in.Plan.Study.Steps = nil
	in.Plan.Study.Factorial = &d
	for i, trial := range in.Trials {
		run := d.Runs[slices.IndexFunc(d.Runs, func(r lab.FactorialRun) bool { return r.Variant == trial.Variant })]
		log := math.Log(0.004) + 0.3*float64(trial.Block%3) + noise*random.NormFloat64()
		for name, ratio := range effects {
			term := lab.Term(strings.Split(name, " x "))
			log += d.Sign(run, term) * math.Log(ratio) / float64(2*len(term))
		}
		in.Trials[i].Measures["completion_time_p50"] = math.Exp(log)
	}
	return in
}

// effectsOf returns the effects on the first metric by their labels.
func effectsOf(t *testing.T, all []lab.FactorEffects) map[string]lab.FactorEffect {
	t.Helper()
	byLabel := map[string]lab.FactorEffect{}
	if len(all) == 0 {
		t.Fatal("there are no effects")
	}
	for _, x := range all[0].Effects {
		byLabel[x.Label] = x
	}
	return byLabel
}

// TestEffectsOfFactorsAreFound: real effects are found with their size, and the others are equivalent.
func TestEffectsOfFactorsAreFound(t *testing.T) {
	a := Analyse(inFactors(6, map[string]float64{"a": 2, "c": 0.8, "a x d": 1.5}, 0.01, 3))
	found := effectsOf(t, a.FactorEffects)
	for label, want := range map[string]struct {
		ratio   float64
		verdict lab.ComparisonVerdict
	}{
		"a on": {2, lab.Slower}, "b on": {1, lab.Equivalent},
		"c on": {0.8, lab.Faster}, "d on": {1, lab.Equivalent},
		"a x b or c x d": {1, lab.Equivalent}, "a x c or b x d": {1, lab.Equivalent},
		"a x d or b x c": {1.5, lab.Slower},
	} {
		x := found[label]
		if x.Ratio.Low == nil || *x.Ratio.Low > want.ratio || *x.Ratio.High < want.ratio ||
			math.Abs(x.Ratio.Ratio/want.ratio-1) > 0.05 || x.Verdict != want.verdict {
			t.Errorf("%s: %+v %s, want %g in the interval and %s", label, x.Ratio, x.Verdict, want.ratio,
				want.verdict)
		}
	}
	if words := found["a x d or b x c"].Words; !strings.HasPrefix(words, "together: slower by at least") {
		t.Errorf("the interaction: %q", words)
	}
	for _, want := range []string{"with a on an order takes 2.0", "with c on an order takes 0.80"} {
		if !strings.Contains(a.Answer.Sentence, want) {
			t.Errorf("the sentence %q lacks %q", a.Answer.Sentence, want)
		}
	}
	findings := ""
	for _, f := range a.Answer.Findings {
		findings += f.Text + "\n"
	}
	for _, want := range []string{"Factors interact: a x d or b x c (", "a x d cannot be told from b x c",
		"The design is a fraction (2^(4-1))"} {
		if !strings.Contains(findings, want) {
			t.Errorf("the findings lack %q:\n%s", want, findings)
		}
	}
	h := a.Answer.Headline
	if h == nil || len(h.Bars) != 7 || h.Bars[0].Label != "a on" || h.Bars[0].Begin != 1 {
		t.Errorf("the headline is %+v", h)
	}
}

// TestNullEffectsAreSeldomClaimed: if all runs are identical, one of the seven effects may be claimed in 5 %
// of the experiments. The limit is three standard errors above that.
func TestNullEffectsAreSeldomClaimed(t *testing.T) {
	const experiments = 400
	wrong := 0
	for seed := range experiments {
		for _, x := range effectsOf(t, newExperiment(inFactors(4, nil, 0.1, uint64(seed))).factorEffects()) {
			if x.Verdict.Differs() {
				wrong++
				break
			}
		}
	}
	if share := float64(wrong) / experiments; share > 0.083 {
		t.Errorf("in %.1f %% of the experiments some effect was claimed, at most 5 %% may be", 100*share)
	}
}

// TestEffectsNeedWholeBlocks: a block without one run does not count for any effect. Without any whole block
// the answer says so.
func TestEffectsNeedWholeBlocks(t *testing.T) {
	in := inFactors(4, nil, 0.1, 5)
	lacking := func(blocks int) lab.Analysis {
		less := in
		less.Trials = slices.DeleteFunc(slices.Clone(in.Trials), func(trial lab.Trial) bool {
			return trial.Variant == "base-a-b" && trial.Block <= blocks
		})
		return Analyse(less)
	}
	if x := lacking(1).FactorEffects[0].Effects[0]; x.Ratio.N != 3 {
		t.Errorf("%d blocks, want the 3 whole ones", x.Ratio.N)
	}
	a := lacking(4)
	if len(a.FactorEffects) > 0 ||
		!slices.ContainsFunc(a.Answer.Findings, func(f lab.Finding) bool {
			return strings.HasPrefix(f.Text, "No block holds every run")
		}) {
		t.Errorf("%d effects and the findings %+v", len(a.FactorEffects), a.Answer.Findings)
	}
}

// TestEffectsWithoutTheFirstRun: a host may lack it, also in an experiment that goes on until decided.
func TestEffectsWithoutTheFirstRun(t *testing.T) {
	in := untilDecided(inFactors(4, map[string]float64{"a": 2}, 0.1, 9), 12)
	in.Plan.Study.Variants = slices.DeleteFunc(slices.Clone(in.Plan.Study.Variants),
		func(v lab.Variant) bool { return v.Name == "base" })
	if a := Analyse(in); len(a.FactorEffects) > 0 {
		t.Errorf("%d effects, want none without a run", len(a.FactorEffects))
	}
}

// TestBarsOfEffectsAreAtThePointOfTheSentence: another point before it has only the second metric.
func TestBarsOfEffectsAreAtThePointOfTheSentence(t *testing.T) {
	in := inFactors(6, map[string]float64{"a": 2}, 0.01, 3)
	s := &in.Plan.Study
	s.Metrics = []lab.Metric{s.Metrics[0], {Name: "cpu_per_operation", Title: "CPU per order", Unit: "s",
		Better: lab.LowerIsBetter, Kind: lab.KindCost, Quantity: lab.CPU, Per: lab.PerOperation}}
	other := lab.Point{Name: "other", Levels: map[string]float64{lab.FactorUsers: 4}}
	s.Points = append([]lab.Point{other}, s.Points...)
	for i, trial := range in.Trials {
		cost := 0.001
		if strings.Contains(trial.Variant, "-b") {
			cost = 0.005
		}
		cost *= 1 + 0.01*float64((7*trial.Block+i)%5)
		in.Trials[i].Measures = map[string]float64{"cpu_per_operation": cost,
			"completion_time_p50": trial.Measures["completion_time_p50"]}
		trial.Point = other
		trial.Number += 1000
		trial.Measures = map[string]float64{"cpu_per_operation": cost}
		in.Trials = append(in.Trials, trial)
	}
	a := Analyse(in)
	if h := a.Answer.Headline; h == nil || h.Bars[0].Metric != "cpu_per_operation" ||
		h.Bars[0].Point != a.Answer.Point {
		t.Errorf("the sentence is about %s, and the headline is %+v", a.Answer.Point, h)
	}
}

// TestUndecidedEffectsNeedEveryRun: as long as one effect is open all runs go on, also those whose
// difference from the first run is decided. If none is open, no run goes on.
func TestUndecidedEffectsNeedEveryRun(t *testing.T) {
	open := untilDecided(inFactors(4, map[string]float64{"a": 20}, 0.1, 7), 12)
	open.Plan.Study.Metrics = open.Plan.Study.Metrics[:1]
	if got := needed(open); len(got) != 8 {
		t.Errorf("needed: %v, want all 8 runs", got)
	}
	decided := untilDecided(inFactors(8, map[string]float64{"a": 2}, 0.001, 7), 12)
	decided.Plan.Study.Metrics = decided.Plan.Study.Metrics[:1]
	if got := needed(decided); len(got) != 0 {
		t.Errorf("needed: %v, want nothing", got)
	}
}
