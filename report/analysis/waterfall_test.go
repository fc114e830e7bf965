package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// noiseFactor returns the factor of a trial: fixed noise of a few percent, and a drift from block to block.
func noiseFactor(block, variant int) float64 {
	pattern := []float64{1.01, 0.985, 1.004, 0.996, 1.013, 0.991, 1.007}
	return pattern[(3*block+5*variant)%len(pattern)] * (1 + 0.2*float64(block%4))
}

// explainInput returns an experiment with the steps; value returns the measure of a variant in a block.
func explainInput(steps []lab.PathStep, blocks int, value func(variant string, block int) float64) Input {
	s := lab.Study{
		Schema: lab.StudySchema, Name: "explain", System: "shop", Baseline: steps[0].Before, Steps: steps,
		Points: []lab.Point{{Name: "rate-40", Levels: map[string]float64{"rate": 40}}},
		Metrics: []lab.Metric{{Name: "completion_time_p50", Title: "median time to completion", Unit: "s",
			Better: lab.LowerIsBetter, Kind: lab.KindTime, Quantity: lab.CompletionTime, Quantile: 0.5,
			Source: lab.FromSystem}, {Name: "cpu_per_operation", Title: "CPU", Unit: "s", Kind: lab.KindCost,
			Quantity: lab.CPU, Per: lab.PerOperation, Source: lab.FromMeter}},
		Design: lab.Design{Blocks: blocks, Margin: 0.05, Confidence: 0.95},
	}
	in := Input{System: lab.SystemInfo{Name: "shop", Operation: "order"}}
	for _, name := range stepVariants(steps) {
		s.Variants = append(s.Variants, lab.Variant{Name: name, System: "shop"})
	}
	for block := 1; block <= blocks; block++ {
		for i, name := range stepVariants(steps) {
			in.Trials = append(in.Trials, lab.Trial{
				Number: len(in.Trials) + 1, Attempt: 1, Block: block, Variant: name, Point: s.Points[0], Valid: true,
				Operations: 400,
				Audit: lab.Audit{Verdict: lab.AuditValid,
					Figures: map[string]float64{"offered_rate": 40, "achieved_rate": 40}},
				Measures: map[string]float64{"completion_time_p50": value(name, block) * noiseFactor(block, i),
					"cpu_per_operation": 0.001},
			})
		}
	}
	in.Plan = lab.Plan{Study: s}
	return in
}

func change(knob, from, to string) lab.KnobChange {
	return lab.KnobChange{Knob: knob, From: from, To: to}
}

func step(order int, before, variant string, changes ...lab.KnobChange) lab.PathStep {
	return lab.PathStep{Order: order, Before: before, Variant: variant, Changes: changes}
}

// pathsToSync returns steps that change three knobs, and the same in another order.
func pathsToSync() (shown, other []lab.PathStep) {
	saga := change("coordination", "acid", "orchestrated")
	data := change("data", "shared", "databases")
	split := change("placement", "together", "apart")
	split.With = "binding http"
	return []lab.PathStep{step(1, "monolith", "saga", saga), step(1, "saga", "sync-together", data),
			step(1, "sync-together", "sync", split)},
		[]lab.PathStep{step(2, "monolith", "saga", saga), step(2, "saga", "sync-shared", split),
			step(2, "sync-shared", "sync", data)}
}

// actAlone gives every knob the same effect, whatever the others are set to.
func actAlone(variant string, _ int) float64 {
	return map[string]float64{"monolith": 1, "saga": 1.5, "sync-together": 1.5, "sync": 3,
		"sync-shared": 3}[variant] * 0.004
}

func TestStepsMultiplyToTheWhole(t *testing.T) {
	shown, _ := pathsToSync()
	whole := explainInput(shown, 7, actAlone)
	gap := explainInput(shown, 7, actAlone)
	gap.Trials = slices.DeleteFunc(gap.Trials, func(t lab.Trial) bool {
		return t.Block == 3 && t.Variant == "sync-together"
	})
	zero := explainInput(shown, 7, actAlone)
	zero.Trials[0].Measures["completion_time_p50"] = 0
	for name, c := range map[string]struct {
		in     Input
		blocks map[string]int // of steps to these; all others have seven
		note   string
	}{
		"complete": {whole, nil, ""},
		"a trial is missing": {gap, map[string]int{"sync-together": 6, "sync": 6},
			"blocks lack trials: 3 (no trial of sync-together counts)"},
		"a value without a ratio": {zero, map[string]int{"saga": 6}, "1 of 28 values left out of the ratios"},
	} {
		a := Analyse(c.in)
		if len(a.Waterfalls) != 2 || len(a.Waterfalls[0].Steps) != 3 {
			t.Fatalf("%s: %+v, want a waterfall of three steps for each metric", name, a.Waterfalls)
		}
		w, product := a.Waterfalls[0], 1.0
		for _, s := range w.Steps {
			product *= s.Ratio.Ratio
			if want := cmp.Or(c.blocks[s.Variant], 7); s.Ratio.N != want || s.Ratio.Low == nil {
				t.Errorf("%s: step %s is over %d blocks, want %d", name, s.Variant, s.Ratio.N, want)
			}
		}
		if math.Abs(product/w.Whole.Ratio-1) > 1e-12 {
			t.Errorf("%s: the steps multiply to %v, the whole is %v", name, product, w.Whole.Ratio)
		}
		if !strings.Contains(strings.Join(a.Notes, "\n"), c.note) {
			t.Errorf("%s: notes %q, want %q", name, a.Notes, c.note)
		}
		encode(t, a)
	}
}

// TestTuningStepsAreAStretch: the steps before the first tuning step and those after are stretches, whose
// ratios multiply to the whole ratio. There are none if other steps follow a tuning step.
func TestTuningStepsAreAStretch(t *testing.T) {
	shown, _ := pathsToSync()
	tunes := func(before, variant string) lab.PathStep {
		s := step(1, before, variant, change("batching", "off", "on"))
		s.Tunes = true
		return s
	}
	tuned := append(slices.Clone(shown), tunes("sync", "sync-batching"), tunes("sync-batching", "sync-tuned"))
	value := func(variant string, block int) float64 {
		return map[string]float64{"sync-batching": 0.009, "sync-tuned": 0.006}[variant] + actAlone(variant, block)
	}
	a := Analyse(explainInput(tuned, 7, value))
	w := a.Waterfalls[0]
	if len(w.Stretches) != 2 || w.Stretches[0].From != "monolith" || w.Stretches[0].To != "sync" ||
		w.Stretches[1].To != "sync-tuned" {
		t.Fatalf("stretches %+v", w.Stretches)
	}
	split, tuning := w.Stretches[0].Ratio, w.Stretches[1].Ratio
	if math.Abs(tuning.Ratio-0.5) > 0.02 || tuning.Low == nil ||
		math.Abs(split.Ratio*tuning.Ratio/w.Whole.Ratio-1) > 1e-12 {
		t.Errorf("split %v, tuning %v, whole %v", split, tuning, w.Whole)
	}
	want := "tuning takes back most of what the way to sync changes."
	if !strings.Contains(fmt.Sprint(a.Answer), want) {
		t.Errorf("the answer does not say %q: %v", want, a.Answer)
	}
	encode(t, a)
	for name, steps := range map[string][]lab.PathStep{
		"stock only": shown, "tuning only": tuned[3:], "tuned in between": slices.Concat(shown[:1], tuned[3:],
			shown[1:]),
	} {
		if got := stretches(steps); got != nil {
			t.Errorf("%s: stretches %v", name, got)
		}
	}
}

// TestTuningIsDescribedByItsDirection: it adds to a change, or takes some of it back; an undecided change has
// no direction.
func TestTuningIsDescribedByItsDirection(t *testing.T) {
	stretch := func(ratio float64, verdict lab.ComparisonVerdict) lab.Stretch {
		return lab.Stretch{To: "sync", Ratio: lab.Ratio{Ratio: ratio}, Verdict: verdict}
	}
	for want, stretches := range map[string][]lab.Stretch{
		"takes back half of":       {stretch(4, lab.Slower), stretch(0.5, lab.Faster)},
		"after sync adds to it":    {stretch(4, lab.Slower), stretch(2, lab.Slower)},
		"after sync makes it 0.50": {stretch(1.1, lab.Undecided), stretch(0.5, lab.Faster)},
		"after sync makes it 2.00": {stretch(1.1, lab.Equivalent), stretch(2, lab.Slower)},
	} {
		if got := tuningText(lab.Waterfall{Stretches: stretches}); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStepsOfAStudyWithClaims: they are shown beside the claims, for the metrics that the
// study names and at the points of all their variants.
func TestStepsOfAStudyWithClaims(t *testing.T) {
	shown, other := pathsToSync()
	in := explainInput(slices.Concat(shown, other), 7, actAlone)
	s := &in.Plan.Study
	s.Steps = shown
	for i := range s.Steps {
		s.Steps[i].Name = s.Steps[i].Before + " -> " + s.Steps[i].Variant
	}
	s.Steps[2].Changes = append(slices.Clone(s.Steps[2].Changes), change("replicas", "2", "1"))
	s.Points = append(s.Points, lab.Point{Name: "busy"}, lab.Point{Name: "partly"})
	s.Variants[0].Points = []string{"rate-40", "busy"}
	s.Explained = &lab.Explained{Metrics: []string{"completion_time_p50"}, Points: []string{"rate-40"}}
	s.Claims = []lab.Claim{{ID: "c", Text: "t", Kind: lab.ClaimSlower, Metric: "completion_time_p50",
		Variant: "sync", Against: "monolith"}}
	a := Analyse(in)
	if len(a.Waterfalls) != 1 || a.Waterfalls[0].Metric != "completion_time_p50" ||
		a.Waterfalls[0].Steps[2].Name != "sync-together -> sync" || len(a.Waterfalls[0].Steps[2].Changes) != 2 {
		t.Fatalf("%+v, want the one metric that is named, with the names of its steps", a.Waterfalls)
	}
	said := strings.Join(answerTexts(a.Answer), "\n")
	for _, want := range []string{"; most of the time comes from sync-together -> sync.",
		"waterfall: " + severalKnobs} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %s", want, said)
		}
	}
	e := newExperiment(in)
	for levelsKnown, want := range map[bool]string{true: "From monolith to sync, ",
		false: "Median time to completion at "} {
		if got := e.waterfallSentence(a.Waterfalls[0], false, levelsKnown); !strings.HasPrefix(got, want) {
			t.Errorf("%q: want it to begin with %q, levels known: %t", got, want, levelsKnown)
		}
	}
	s.Steps = slices.Clone(shown[:1])
	if one := Analyse(in); len(one.Waterfalls) > 0 || strings.Contains(answerOf(in), "comes from") {
		t.Errorf("of a single step beside claims there are %+v:\n%s", one.Waterfalls, answerOf(in))
	}
	s.Steps = nil
	if alone := answerOf(in); strings.Contains(alone, "waterfall") || strings.Contains(alone, "comes from") {
		t.Errorf("without steps the answer mentions some:\n%s", alone)
	}
	s.Steps = shown
	s.Explained = nil
	without := in
	without.Plan.Study.Claims = nil
	if answer := fmt.Sprint(Analyse(without).Answer); !strings.Contains(answer, severalKnobs) ||
		strings.Contains(answer, "in one order only") {
		t.Errorf("%s: want that steps turn several knobs, not that they were taken in one order", answer)
	}
	if notes := strings.Join(Analyse(in).Notes, " "); strings.Contains(notes, "partly") {
		t.Errorf("%s: a point that not all play is no gap", notes)
	}
}

// TestStepsInAMinorMetricAlone: the answer is about the metric that the study names, though it is not one of
// the main ones and nothing differs in it.
func TestStepsInAMinorMetricAlone(t *testing.T) {
	shown, _ := pathsToSync()
	in := explainInput(shown, 7, actAlone)
	in.Plan.Study.Metrics = append(in.Plan.Study.Metrics, lab.Metric{Name: "peak_memory", Title: "peak memory",
		Unit: "B", Better: lab.LowerIsBetter, Kind: lab.KindMemory, Quantity: lab.Memory})
	for i := range in.Trials {
		in.Trials[i].Measures["peak_memory"] = 1e6
	}
	in.Plan.Study.Explained = &lab.Explained{Metrics: []string{"peak_memory"}}
	a := Analyse(in).Answer
	if want := "with sync peak memory is the same"; !strings.Contains(a.Sentence, want) {
		t.Errorf("the answer is %q, want %q", a.Sentence, want)
	}
	if a.Headline == nil || len(a.Headline.Bars) == 0 || a.Headline.Bars[0].Metric != "peak_memory" {
		t.Errorf("the headline is %+v, want the steps in peak memory", a.Headline)
	}
}

// TestStepsMultiplyBlockByBlock: the identity holds in every single block.
func TestStepsMultiplyBlockByBlock(t *testing.T) {
	shown, _ := pathsToSync()
	for block := 1; block <= 7; block++ {
		in := explainInput(shown, 7, actAlone)
		in.Trials = slices.DeleteFunc(in.Trials, func(t lab.Trial) bool { return t.Block != block })
		w := Analyse(in).Waterfalls[0]
		product := w.Steps[0].Ratio.Ratio * w.Steps[1].Ratio.Ratio * w.Steps[2].Ratio.Ratio
		if math.Abs(product/w.Whole.Ratio-1) > 1e-12 {
			t.Errorf("block %d: the steps multiply to %v, the whole is %v", block, product, w.Whole.Ratio)
		}
	}
}

func TestStepsAreJudged(t *testing.T) {
	shown, _ := pathsToSync()
	a := Analyse(explainInput(shown, 7, actAlone))
	want := []lab.ComparisonVerdict{lab.Slower, lab.Equivalent, lab.Slower}
	for i, s := range a.Waterfalls[0].Steps {
		if s.Verdict != want[i] || s.Words == "" || s.PHolm == nil || s.Margin < 0.05 {
			t.Errorf("step %s: %+v, want %s", s.Variant, s, want[i])
		}
	}
	if s := a.Waterfalls[0].Steps[2]; s.Knob != "placement" || s.Change != "together -> apart" ||
		s.With != "binding http" || s.Before != "sync-together" {
		t.Errorf("%+v", s)
	}
	few := Analyse(explainInput(shown, 1, actAlone)).Waterfalls[0]
	if few.Verdict != lab.Undecided || few.Steps[0].Verdict != lab.Undecided || few.Steps[0].Ratio.Low != nil {
		t.Errorf("one block decides: %+v", few)
	}
}

func TestTheAnswerSaysWhereItComesFrom(t *testing.T) {
	shown, other := pathsToSync()
	oneHelps := explainInput(shown, 7, func(variant string, _ int) float64 {
		return map[string]float64{"monolith": 1, "saga": 2, "sync-together": 1.6, "sync": 4}[variant]
	})
	unheld := explainInput(shown, 7, actAlone)
	for i := range unheld.Trials {
		if unheld.Trials[i].Variant == "sync" {
			unheld.Trials[i].Audit.Figures["achieved_rate"] = 30
		}
	}
	broken := explainInput(shown, 7, actAlone)
	broken.Trials[1].Audit = lab.Audit{Verdict: lab.AuditInvalid,
		Problems: []string{"I1"}}
	broken.Trials[1].Valid = false
	for name, c := range map[string]struct {
		in   Input
		want []string
	}{
		"largest first": {explainInput(shown, 7, actAlone),
			[]string{"Median time to completion at 40 orders/s: ", " ms with monolith, ", " with sync.",
				"; most of the time comes from placement apart in place of placement together.", "in one order only"}},
		"one helps": {oneHelps, []string{"; the other way: data databases."}},
		"rate":      {unheld, []string{"not every step held the rate (sync did not)"}},
		"broken":    {broken, []string{"No block holds every step of the way", "saga is struck out"}},
		"a single step": {explainInput(shown[:1], 7, actAlone),
			[]string{"with saga an order takes 1.50 times as long", "; nearly all of the time comes from"}},
		"a knob turned twice": {explainInput([]lab.PathStep{shown[0],
			step(1, "saga", "sync", shown[2].Changes...),
			step(1, "sync", "async", change("coordination", "orchestrated", "choreographed"))}, 7,
			func(variant string, _ int) float64 {
				return map[string]float64{"monolith": 1, "saga": 1.5, "sync": 1.6, "async": 4}[variant]
			}), []string{"most of the time comes from coordination choreographed in place of coordination " +
			"orchestrated."}},
		"two together": {explainInput(shown, 7, func(variant string, _ int) float64 {
			return map[string]float64{"monolith": 1, "saga": 1.5, "sync-together": 2, "sync": 2.9}[variant]
		}), []string{"most of the time comes from coordination orchestrated in place of coordination acid and " +
			"from placement apart in place of placement together."}},
		"both alike": {explainInput(append(slices.Clone(shown), other...), 7, actAlone),
			[]string{"In another order of the steps the shares are the same within the margin: " +
				"each change acts alone."}},
	} {
		said := answerOf(c.in)
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, said)
			}
		}
	}
}

func TestTheOrderOfTheStepsMayMatter(t *testing.T) {
	shown, other := pathsToSync()
	both := append(slices.Clone(shown), other...)
	// Splitting costs more with shared data: the effects of the knobs depend on each other.
	in := explainInput(both, 7, func(variant string, _ int) float64 {
		return map[string]float64{"monolith": 1, "saga": 1.5, "sync-together": 1.5, "sync": 3,
			"sync-shared": 4.5}[variant]
	})
	a := Analyse(in)
	matters := map[string]bool{}
	for _, i := range a.Waterfalls[0].Interactions {
		matters[i.Knob] = i.Matters
		if got := i.First.Ratio / i.Second.Ratio; math.Abs(got/i.OfRatios.Ratio-1) > 1e-9 {
			t.Errorf("%s: %v over %v is not %v", i.Knob, i.First.Ratio, i.Second.Ratio, i.OfRatios.Ratio)
		}
	}
	if fmt.Sprint(matters) != "map[coordination:false data:true placement:true]" {
		t.Errorf("what depends on the order: %v", matters)
	}
	want := "The order of the steps changes the answer: data databases ("
	if !slices.ContainsFunc(a.Answer.Findings, func(s lab.Finding) bool {
		return strings.HasPrefix(s.Text, want) && s.Section == "waterfall"
	}) {
		t.Errorf("%q is missing in %+v", want, a.Answer)
	}
}

// TestChangesMadeTogetherAreComparedTogether: changes that are made in one step have no effects of their own.
func TestChangesMadeTogetherAreComparedTogether(t *testing.T) {
	a := change("a", "0", "1")
	b := change("b", "0", "1")
	c := change("c", "0", "1")
	d := change("a", "1", "2")
	first := []lab.PathStep{step(1, "v0", "v1", a, b), step(1, "v1", "v2", c), step(1, "v2", "v3", d)}
	second := []lab.PathStep{step(2, "v0", "w1", c), step(2, "w1", "w2", b), step(2, "w2", "w3", a),
		step(2, "w3", "v3", d)}
	var groups []string
	for _, g := range changedTogether(first, second) {
		groups = append(groups, groupName(g, second))
	}
	if want := "[a 0 -> 1 and b c a 1 -> 2]"; fmt.Sprint(groups) != want {
		t.Errorf("groups %v, want %s", groups, want)
	}
	if groups := changedTogether(first, second[:3]); groups != nil {
		t.Errorf("steps with other changes have groups: %v", groups)
	}
	in := explainInput(slices.Concat(first, second), 7, func(variant string, _ int) float64 {
		return map[string]float64{"v0": 1, "v1": 6, "v2": 30, "v3": 210, "w1": 5, "w2": 10, "w3": 30}[variant]
	})
	for _, i := range Analyse(in).Waterfalls[0].Interactions {
		want := map[string]float64{"a 0 -> 1 and b": 6, "c": 5, "a 1 -> 2": 7}[i.Knob]
		if math.Abs(i.First.Ratio/want-1) > 0.05 || math.Abs(i.Second.Ratio/want-1) > 0.05 || i.Matters {
			t.Errorf("%s: %v and %v, want %v in both", i.Knob, i.First.Ratio, i.Second.Ratio, want)
		}
	}
}

func TestWithoutStepsThereIsNoWaterfall(t *testing.T) {
	if a := Analyse(table1(t)); a.Waterfalls != nil {
		t.Errorf("%+v", a.Waterfalls)
	}
}
