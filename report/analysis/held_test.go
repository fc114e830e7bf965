package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestHeldRates(t *testing.T) {
	point := lab.Point{Name: "rate-10", Levels: map[string]float64{lab.FactorRate: 10}}
	trial := func(number, attempt int, valid bool, figures map[string]float64) lab.Trial {
		return lab.Trial{Number: number, Attempt: attempt, Block: number, Valid: valid, Variant: "a", Point: point,
			Audit: lab.Audit{Verdict: lab.AuditValid, Figures: figures}}
	}
	figures := func(held, objective, limited float64) map[string]float64 {
		return map[string]float64{lab.FigureOffered: 10, lab.FigureAchieved: 8 + 2*held, lab.FigureHeld: held,
			lab.FigureObjective: objective, lab.FigureLimited: limited, lab.FigureErrors: 0}
	}
	good := trial(1, 1, true, figures(1, 1, 0))
	missed := trial(2, 1, true, figures(0, 1, 0))
	for name, test := range map[string]struct {
		trials   []lab.Trial
		held, of int
		says     string
	}{
		"none": {nil, 0, 0, ""},
		"all":  {[]lab.Trial{good}, 1, 1, ""},
		"rate missed": {[]lab.Trial{good, missed, trial(3, 1, true, figures(0, 1, 0))}, 1, 3,
			"a held none, not 10/s (missed in 2 of 3 trials: 80 % of it was begun)"},
		"objective missed": {[]lab.Trial{trial(1, 1, true, figures(1, 0, 0))}, 0, 1,
			"the objective was missed"},
		"wrong answers": {[]lab.Trial{trial(1, 1, true, map[string]float64{lab.FigureOffered: 10,
			lab.FigureAchieved: 10, lab.FigureHeld: 1, lab.FigureErrors: 0.02})}, 0, 1,
			"2.0 % of the answers were not right"},
		"client limited":        {[]lab.Trial{good, trial(2, 1, false, figures(1, 1, 1))}, 1, 1, ""},
		"disturbed by the host": {[]lab.Trial{good, trial(2, 1, false, figures(0, 1, 0))}, 1, 1, ""},
		"all disturbed":         {[]lab.Trial{trial(1, 1, false, figures(0, 1, 0))}, 0, 0, ""},
		"a minority, by its rate": {[]lab.Trial{good, trial(3, 1, true, figures(1, 1, 0)), missed}, 2, 3,
			"(missed in 1 of 3 trials: 80 % of it was begun)"},
		"no objective": {[]lab.Trial{trial(1, 1, true, map[string]float64{lab.FigureOffered: 10,
			lab.FigureAchieved: 10, lab.FigureHeld: 0})}, 0, 1, "not all of it was done within the load"},
		"second attempt": {[]lab.Trial{trial(1, 1, false, figures(0, 1, 0)), trial(1, 2, true, figures(1, 1, 0))},
			1, 1, ""},
		"nothing known": {[]lab.Trial{trial(1, 1, false, nil)}, 0, 0, ""},
	} {
		e := newExperiment(Input{Plan: lab.Plan{Study: lab.Study{Variants: []lab.Variant{{Name: "a"}},
			Points: []lab.Point{point}}}, Trials: test.trials})
		rates := e.heldRates()
		var got lab.HeldRate
		if len(rates) > 0 {
			got = rates[0]
		}
		if says := e.heldSentence(rates); got.Held != test.held || got.Trials != test.of ||
			!strings.Contains(says, test.says) || (says == "") != (test.says == "") {
			t.Errorf("%s: %+v, %q; want %d of %d, %q", name, rates, says, test.held, test.of, test.says)
		}
	}
}

// TestRatesThatWereNotHeldStayInTheResults: as hollow points of the curves. The answer is about a rate that
// all variants held.
func TestRatesThatWereNotHeldStayInTheResults(t *testing.T) {
	in := followedTrials(2, func(int, int) float64 { return 1 })
	fast := lab.Point{Name: "at-900", Levels: map[string]float64{"rate": 900}}
	in.Plan.Study.Points = append(in.Plan.Study.Points, fast)
	for _, trial := range slices.Clone(in.Trials) {
		trial.Point = fast
		trial.Course = nil
		trial.Number += 100
		trial.Audit.Figures = map[string]float64{lab.FigureOffered: 900, lab.FigureAchieved: 700, lab.FigureHeld: 0,
			lab.FigureFlow: 3}
		in.Trials = append(in.Trials, trial)
	}
	e := newExperiment(in)
	if one, several := e.rateText("at-100"), e.rateText("at-900"); one != "100 operations/s" ||
		several != "900 flows/s" {
		t.Errorf("the rates are %s and %s", one, several)
	}
	a := Analyse(in)
	i := slices.IndexFunc(a.Curves, func(c lab.Curve) bool {
		return c.Variant == "b" && c.Metric == "response_time_p50"
	})
	if i < 0 || len(a.Curves[i].Points) != 2 || !a.Curves[i].Points[0].Held || a.Curves[i].Points[1].Held ||
		a.Curves[i].Points[1].Due != 2700 {
		t.Errorf("curves %+v, want a hollow point at 900 flows/s, 2700 operations/s", a.Curves)
	}
	if s := a.Answer.Sentence; a.Answer.Point != "at-100" || !strings.Contains(s, "at 100 operations/s") {
		t.Errorf("the answer is about %s", s)
	}
	if !slices.ContainsFunc(a.Answer.Findings, func(s lab.Finding) bool {
		return strings.Contains(s.Text, "not 900/s")
	}) {
		t.Errorf("no sentence says that 900/s were not held: %+v", a.Answer)
	}
}

// TestARateThatMissedItsObjectiveIsMissedEverywhere: in the table of rates and in the curve. Its comparisons
// stand, since no operations piled up.
func TestARateThatMissedItsObjectiveIsMissedEverywhere(t *testing.T) {
	for missing, want := range map[int]bool{0: false, 1: true, 3: true, 6: true} {
		in := followedTrials(2, func(int, int) float64 { return 1 })
		for i, trial := range in.Trials {
			met := 1.0
			if trial.Variant == "b" && trial.Block <= missing {
				met = 0
			}
			in.Trials[i].Audit.Figures = map[string]float64{lab.FigureOffered: 100, lab.FigureAchieved: 100,
				lab.FigureHeld: 1, lab.FigureObjective: met}
		}
		a := Analyse(in)
		i := slices.IndexFunc(a.Curves, func(c lab.Curve) bool { return c.Variant == "b" })
		k := slices.IndexFunc(a.Held, func(r lab.HeldRate) bool { return r.Variant == "b" })
		if i < 0 || k < 0 || a.Held[k].Held != 6-missing || !a.Curves[i].Points[0].Held ||
			a.Curves[i].Points[0].Missed != want {
			t.Errorf("%d of 6 trials missed the objective: curves %+v, rates held %+v; missed is to be %t", missing,
				a.Curves, a.Held, want)
		}
		if a.Comparisons[0].Verdict != lab.Slower {
			t.Errorf("the comparison there is %q, want it to stand", a.Comparisons[0].Verdict)
		}
	}
}

// TestVariantsAreComparedWhereAllTrialsHeld: if one trial in six missed the rate, the answer is about the
// next lower one. If none was played, it says that the rate was missed.
func TestVariantsAreComparedWhereAllTrialsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		points []string // that are played
		want   string
	}{
		"a lower rate": {[]string{"at-20", "at-40", "at-80"}, "Compared with monolith, at 40 orders/s: "},
		"no lower one": {[]string{"at-80"}, " That rate was missed by async in 1 of 6 trials."},
	} {
		in := shopUnderLoad()
		in.Plan.Study.Points = slices.DeleteFunc(slices.Clone(in.Plan.Study.Points), func(p lab.Point) bool {
			return !slices.Contains(c.points, p.Name)
		})
		for _, trial := range in.Trials {
			if trial.Variant == "async" && trial.Point.Name == "at-80" && trial.Block == 2 {
				trial.Audit.Figures[lab.FigureHeld] = 0
			}
		}
		s := Analyse(in).Answer.Sentence
		if !strings.Contains(s, c.want) || strings.Contains(s, "missed") != (name == "no lower one") {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

func TestARateHeldAtSeveralPointsIsNamedOnce(t *testing.T) {
	e := newExperiment(Input{Plan: lab.Plan{Study: lab.Study{Variants: []lab.Variant{{Name: "a"}}}}})
	held := lab.HeldRate{Variant: "a", Rate: 10, Held: 1, Trials: 1}
	says := e.heldSentence([]lab.HeldRate{held, held, {Variant: "a", Rate: 1181.0 / 60, Trials: 1}})
	if !strings.HasPrefix(says, "Of the offered rates a held 10/s, not 19.68/s") {
		t.Errorf("%q", says)
	}
}
