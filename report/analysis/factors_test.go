package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// pairsOfFour are the aliased interactions of four factors; see study.Factorial, which this room does not
// know.
var pairsOfFour = [][]lab.Term{{{"a", "b"}, {"c", "d"}}, {{"a", "c"}, {"b", "d"}}, {{"a", "d"}, {"b", "c"}}}

// halfOfFour returns the design 2^(4-1), I = ABCD.
func halfOfFour() lab.Factorial {
	d := lab.Factorial{Notation: "2^(4-1)", Resolution: 4, Generators: []string{"D = ABC"}, Relation: "I = ABCD"}
	for _, knob := range []string{"a", "b", "c", "d"} {
		d.Factors = append(d.Factors, lab.Factor{Knob: knob, Low: "off", High: "on"})
		d.Effects = append(d.Effects, lab.FactorialGroup{Terms: []lab.Term{{knob}}})
	}
	for i := range 8 {
		a, b, c := i&1 > 0, i&2 > 0, i&4 > 0
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

// inFactors returns an experiment of that design. The logs of values are sums: of a block, of the effects,
// each half above and half below the mean, and of noise.
func inFactors(blocks int, effects map[string]float64, noise float64, seed uint64) Input {
	d := halfOfFour()
	var steps []lab.PathStep
	for _, run := range d.Runs[1:] {
		steps = append(steps, lab.PathStep{Before: "base", Variant: run.Variant})
	}
	random := rand.New(rand.NewPCG(seed, 1))
	in := onTheWay(steps, blocks, func(string, int) float64 { return 1 })
	in.Plan.Study.Steps, in.Plan.Study.Factorial = nil, &d
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

// TestEffectsOfFactorsAreFound: those that are there are recovered, and the others are not claimed.
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

// TestNullEffectsAreSeldomClaimed: of identical runs, one of the seven effects may be claimed in one
// experiment of twenty. The limit is three standard errors above that.
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

// TestEffectsNeedWholeBlocks: a block without one run tells nothing of any effect, and without any whole
// block the answer says so.
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

// TestUndecidedEffectsNeedEveryRun: as long as one effect is open all runs go on, also those whose
// difference from the first is decided, and none after that.
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
