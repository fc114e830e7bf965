package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestTheFirstScreenIsInPlainWords(t *testing.T) {
	swings := followedTrials(1, func(_, second int) float64 { return []float64{1, 20}[second/3%2] })
	silent := followedTrials(2, func(int, int) float64 { return 1 })
	silent.Plan.Study.Variants = append(silent.Plan.Study.Variants, lab.Variant{Name: "c"})
	silent.Trials = append(silent.Trials, lab.Trial{Number: 99, Attempt: 1, Block: 1, Variant: "c",
		Point: silent.Plan.Study.Points[0], Reason: "no"})
	shown, _ := toSync()
	for name, test := range map[string]struct {
		in   Input
		want []string
	}{
		"under load": {shopUnderLoad(), []string{
			"Compared with monolith, at 80 orders/s: with sync an order takes 2.3 times as long and costs 2.5 times " +
				"the CPU, and the highest rate is 0.61 times as high; with async"}},
		"a way": {onTheWay(shown, 7, actAlone), []string{
			"Compared with monolith, at 40 orders/s: with sync an order takes 3.0 times as long and costs as much " +
				"processor time; most of the time comes from placement (together to apart)."}},
		"not steady": {swings,
			[]string{"Not steady: b at at-100, so that verdicts which hang on how long a trial lasts are withheld."}},
		"one is mute": {silent, []string{"Nothing can be said of c: none of its trials count. Compared with a, " +
			"at 100 operations/s: with b an operation takes 2.0 times as long."}},
	} {
		s := Analyse(test.in).Summary
		for _, want := range test.want {
			if !strings.Contains(s.Sentence, want) {
				t.Errorf("%s: %q lacks %q", name, s.Sentence, want)
			}
		}
		if !strings.Contains(s.Sure, "blocks") || !strings.HasPrefix(s.NotTested, "Another host") ||
			strings.Contains(s.Sentence, "[") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := Analyse(Input{Plan: silent.Plan}).Summary; s != (lab.Summary{}) {
		t.Errorf("without a trial: %+v", s)
	}
}

func TestTheFirstSentenceNamesPlaceAndWhoDidNotHoldIt(t *testing.T) {
	e := newExperiment(shopUnderLoad())
	e.study.Points = append(e.study.Points, lab.Point{Name: "users-4",
		Levels: map[string]float64{lab.FactorUsers: 4}})
	if place := e.plainPlace("users-4"); place != "with 4 users" {
		t.Errorf("a closed loop is compared %q", place)
	}
	held := []lab.HeldRate{{Variant: "a", Point: "p", Trials: 3, Held: 3}, {Variant: "b", Point: "p", Trials: 3},
		{Variant: "c", Point: "p", Trials: 3, Held: 2}, {Variant: "a", Point: "q", Trials: 3}}
	if missed := e.plainMissed(lab.Analysis{Held: held}, "p"); missed != " That rate was not held by b and c." {
		t.Errorf("%q", missed)
	}
	if missed := e.plainMissed(lab.Analysis{Held: held[:1]}, "p"); missed != "" {
		t.Errorf("everybody held it: %q", missed)
	}
	slowest := e.plainFindings("b", []finding{{lab.Metric{Kind: lab.KindTime, Quantile: 0.99}, 56, lab.Slower}})
	if !strings.HasSuffix(slowest, "takes 56 times as long (of the slowest 1 %)") {
		t.Errorf("%q", slowest)
	}
}

// TestKnobsAreToldInTheSystemsWords: who reads the first sentence may never have seen a knob.
func TestKnobsAreToldInTheSystemsWords(t *testing.T) {
	shown, _ := toSync()
	in := onTheWay(shown, 7, actAlone)
	in.System.Architectures = []lab.Architecture{{Knobs: []lab.Knob{
		{Name: "placement", Means: map[string]string{"together": "one process",
			"apart": "a process per component"}},
		{Name: "data", Means: map[string]string{"databases": "a database per component"}}}}}
	a := Analyse(in)
	want := "most of the time comes from a process per component in place of one process."
	if !strings.Contains(a.Summary.Sentence, want) {
		t.Errorf("%q lacks %q", a.Summary.Sentence, want)
	}
	plain := map[string]string{}
	for _, s := range a.Waterfalls[0].Steps {
		plain[s.Knob] = s.Plain
	}
	if plain["placement"] != "a process per component" || plain["data"] != "a database per component" ||
		plain["coordination"] != "" {
		t.Errorf("steps are called %v", plain)
	}
}

// TestWhatNobodyMetersIsSaid: of a system that runs already there is no CPU time and no memory.
func TestWhatNobodyMetersIsSaid(t *testing.T) {
	const unmetered = "CPU and memory of the systems that run already, which nobody meters"
	for name, c := range map[string]struct {
		system *lab.ExternalSystem
		said   bool
	}{
		"of our own": {},
		"a URL":      {&lab.ExternalSystem{URL: "http://127.0.0.1:1/"}, true},
		"a command":  {&lab.ExternalSystem{URL: "http://127.0.0.1:{port}/", Command: []string{"serve"}}, false},
		"an image":   {&lab.ExternalSystem{URL: "http://127.0.0.1:{port}/", Image: "web"}, false},
		"compose":    {&lab.ExternalSystem{URL: "http://127.0.0.1:1/", Compose: &lab.Compose{}}, false},
	} {
		e := newExperiment(shopUnderLoad())
		e.study.Variants = slices.Clone(e.study.Variants)
		e.study.Variants[0].External = c.system
		if said := e.notTested(lab.Analysis{}); strings.Contains(said, unmetered) != c.said {
			t.Errorf("%s: %q", name, said)
		}
	}
}
