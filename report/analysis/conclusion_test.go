package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// answerTexts returns all texts of an answer, with its bars as they are shown.
func answerTexts(c lab.Conclusion) []string {
	all := append(slices.Clone(c.Withheld), c.Sentence)
	if c.Headline != nil {
		all = append(all, "bars: "+c.Headline.Title)
		for _, b := range c.Headline.Bars {
			all = append(all, fmt.Sprintf("bar: %s %s %s", b.Label, times(b.Ratio), b.Verdict))
		}
	}
	for _, f := range c.Findings {
		all = append(all, f.Section+": "+f.Text)
	}
	return slices.Concat(all, c.Sure, c.NotTested)
}

// answerOf returns the complete answer, with a line per text.
func answerOf(in Input) string { return strings.Join(answerTexts(Analyse(in).Answer), "\n") }

func TestAnswerOfASystemUnderLoad(t *testing.T) {
	answer := answerOf(shopUnderLoad())
	for _, want := range []string{
		"Compared with monolith, at 80 orders/s: with sync an order takes 2.28 times as long and costs 2.52 " +
			"times the CPU, and the highest rate is 0.607 times as high; with async",
		"bars: median time to completion at 80 orders/s, compared with monolith",
		"bar: sync 2.28x [2.14, 2.43] slower", "bar: async 6.16x [5.86, 6.47] slower",
		"ratios: Median time to completion at 80 orders/s: 6.18 ms with monolith, 14.0 ms with sync, " +
			"38.4 ms with async.",
		"ratios: Accepting is not completing: async answers after 4.30 ms, and the order is done after 8.92 " +
			"times as long (medians).",
		"278/s with monolith, 169/s with sync, 117/s with async.",
		"cost: CPU time of shop and backing services per order at 80 orders/s: 2.13 ms with monolith, ",
		"of itself in median time to completion: no bias was found.",
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %q:\n%s", want, answer)
		}
	}
	if strings.Contains(answer, "not done when the load ended") {
		t.Errorf("the answer mentions unfinished orders, which were not measured:\n%s", answer)
	}
}

// leaveUnfinished lets async leave a share of its orders unfinished at a point.
func leaveUnfinished(in *Input, point string, share float64) {
	in.Plan.Study.Metrics = append(loadMetrics(),
		lab.Metric{Name: "unfinished_share", Title: "share of accepted orders that were not done", Unit: "1",
			Kind: lab.KindShare, Quantity: lab.Unfinished, Source: lab.FromSystem})
	for _, trial := range in.Trials {
		if trial.Variant == "async" && trial.Point.Name == point {
			trial.Measures["unfinished_share"] = share
			trial.Audit.Figures[lab.FigureHeld] = 0
		}
	}
}

func TestAnswerTellsWhatAcceptingHides(t *testing.T) {
	in := shopUnderLoad()
	leaveUnfinished(&in, "at-240", 0.4)
	want := "Accepted, and not done when the load ended: async left 40 % of them at 240 orders/s."
	if !strings.Contains(answerOf(in), want) {
		t.Errorf("the answer lacks %q:\n%s", want, answerOf(in))
	}
	leaveUnfinished(&in, "at-80", 0.2)
	if want := "Compared with monolith, at 40 orders/s"; !strings.Contains(answerOf(in), want) {
		t.Errorf("async does not keep up with 80/s, and still it is where all are compared:\n%s", answerOf(in))
	}
}

// TestUnfinishedOperationsOfAClosedLoop have no offered rate.
func TestUnfinishedOperationsOfAClosedLoop(t *testing.T) {
	in := shopUnderLoad()
	leaveUnfinished(&in, "at-240", 0.4)
	for i, p := range in.Plan.Study.Points {
		if p.Name == "at-240" {
			in.Plan.Study.Points[i].Levels = map[string]float64{lab.FactorUsers: 4}
		}
	}
	for _, trial := range in.Trials {
		if trial.Point.Name == "at-240" {
			delete(trial.Audit.Figures, lab.FigureOffered)
		}
	}
	want := "Accepted, and not done when the load ended: async left 40 % of them with 4 users."
	if !strings.Contains(answerOf(in), want) {
		t.Errorf("the answer lacks %q:\n%s", want, answerOf(in))
	}
}

func TestAnswerTellsWhatWasNeverSent(t *testing.T) {
	in := shopUnderLoad()
	in.Plan.Study.Metrics = append(loadMetrics(),
		lab.Metric{Name: "achieved_share", Title: "share that was begun", Unit: "1", Better: lab.HigherIsBetter,
			Kind: lab.KindShare, Quantity: lab.Achieved, Source: lab.FromGenerator})
	for _, trial := range in.Trials {
		share := map[string]float64{"at-160": 0.5, "at-240": 0.25}[trial.Point.Name]
		if trial.Variant == "sync" && share > 0 {
			trial.Measures["achieved_share"] = share
		}
	}
	if want := "Not all was begun in time: sync took 25 % of 240 orders/s."; !strings.Contains(answerOf(in),
		want) {
		t.Errorf("the answer lacks %q:\n%s", want, answerOf(in))
	}
}

func TestAnswerWithoutASearchOrABaseline(t *testing.T) {
	in := shopUnderLoad()
	for i := range in.Trials {
		in.Trials[i].Valid = in.Trials[i].Point.Name != "capacity"
	}
	if answer := answerOf(in); strings.Contains(answer, "highest rate") ||
		!strings.Contains(answer, "an order takes") {
		t.Errorf("without a search:\n%s", answer)
	}
	for i := range in.Trials {
		in.Trials[i].Valid = in.Trials[i].Variant == "async"
	}
	if answer := answerOf(in); !strings.Contains(answer,
		"Only async has trials that count: there is nothing to compare it with.") {
		t.Errorf("without a baseline:\n%s", answer)
	}
}

// TestTheSentenceSaysWhyNothingWasCompared: parts that the host lacks are distinguished from failures.
func TestTheSentenceSaysWhyNothingWasCompared(t *testing.T) {
	only := func(names ...string) Input {
		in := shopUnderLoad()
		in.Plan.Study.Variants = slices.DeleteFunc(slices.Clone(in.Plan.Study.Variants), func(v lab.Variant) bool {
			return !slices.Contains(names, v.Name)
		})
		in.Trials = slices.DeleteFunc(in.Trials, func(t lab.Trial) bool {
			return !slices.Contains(names, t.Variant)
		})
		return in
	}
	lacks := only("monolith")
	unasked := only("monolith")
	lacks.Plan.Study.Absent = []lab.AbsentVariant{{Name: "sync"}, {Name: "async"}}
	unasked.Plan.Study.Absent = []lab.AbsentVariant{{Name: "sync", Unasked: true}}
	apart := only("monolith", "sync")
	for i := range apart.Trials {
		apart.Trials[i].Valid = (apart.Trials[i].Variant == "sync") == (apart.Trials[i].Block == 1)
	}
	struck := only("monolith", "sync")
	for i := range struck.Trials {
		struck.Trials[i].Audit.Verdict = lab.AuditInvalid
	}
	for want, in := range map[string]Input{
		"Only monolith was measured: this host lacks a part of sync and async, and there is nothing": lacks,
		"Only monolith has trials that count: there is nothing to compare it with.":                  unasked,
		"No two of monolith and sync have a block in common: there is nothing to compare.":           apart,
		"No variant has trials that count and kept the rules of its system: nothing can be":          struck,
	} {
		if s := Analyse(in).Answer.Sentence; !strings.HasPrefix(s, want) {
			t.Errorf("%q, want %q", s, want)
		}
	}
}

// TestRatesOfSearchesWereTried: they count as tested although no point offers them.
func TestRatesOfSearchesWereTried(t *testing.T) {
	in := shopUnderLoad()
	in.Trials[0].Search = &lab.Search{Loads: []lab.SearchLoad{{Rate: 200, Pass: true}, {Rate: 900}, {Rate: 300}}}
	a := Analyse(in)
	if said := strings.Join(a.Answer.NotTested, ", "); !strings.Contains(said, "rates above 900/s") {
		t.Errorf("not tested: %s", said)
	}
	if sure := strings.Join(a.Answer.Sure, " "); strings.Count(sure, "dividing the levels beside them") != 1 {
		t.Errorf("that ratios are no quotients of levels is to be said once: %s", sure)
	}
}

func TestTheFirstScreenIsInPlainWords(t *testing.T) {
	swings := followedTrials(1, func(_, second int) float64 { return []float64{1, 20}[second/3%2] })
	silent := followedTrials(2, func(int, int) float64 { return 1 })
	silent.Plan.Study.Variants = append(silent.Plan.Study.Variants, lab.Variant{Name: "c"})
	silent.Trials = append(silent.Trials, lab.Trial{Number: 99, Attempt: 1, Block: 1, Variant: "c",
		Point: silent.Plan.Study.Points[0], Reason: "no"})
	shown, _ := pathsToSync()
	for name, test := range map[string]struct {
		in   Input
		want []string
	}{
		"under load": {shopUnderLoad(), []string{
			"Compared with monolith, at 80 orders/s: with sync an order takes 2.28 times as long"}},
		"explained by steps": {explainInput(shown, 7, actAlone), []string{
			"Compared with monolith, at 40 orders/s: with sync an order takes 3.0",
			" times as long and costs as much processor time; most of the time comes from placement apart in " +
				"place of placement together."}},
		"not steady": {swings, []string{"Compared with a, at 100 operations/s: with b "}},
		"one without a valid trial": {silent, []string{"Nothing can be said of c: none of its trials count. " +
			"Compared with a, at 100 operations/s: with b an operation takes 1.99 times as long."}},
	} {
		s := Analyse(test.in).Answer
		for _, want := range test.want {
			if !strings.Contains(s.Sentence, want) {
				t.Errorf("%s: %q lacks %q", name, s.Sentence, want)
			}
		}
		if !strings.Contains(s.Sure[0], "blocks") || s.NotTested[0] != "another host than this one" ||
			strings.Contains(s.Sentence, "[") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := Analyse(Input{Plan: silent.Plan}).Answer; !strings.HasPrefix(s.Sentence, "No trial counted (") {
		t.Errorf("without a trial: %+v", s)
	}
	lost := slices.Clone(silent.Trials[:1])
	lost[0].Valid = false
	if s := Analyse(Input{Plan: silent.Plan, Trials: lost}).Answer; !strings.Contains(s.Sentence,
		" planned, 1 attempt not valid)") {
		t.Errorf("with one lost trial: %q", s.Sentence)
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
	if missed := plainMissed(lab.Analysis{Held: held}, "p"); missed !=
		" That rate was missed by b in 3 of 3 trials and by c in 1 of 3 trials." {
		t.Errorf("%q", missed)
	}
	if missed := plainMissed(lab.Analysis{Held: held[:1]}, "p"); missed != "" {
		t.Errorf("everybody held it: %q", missed)
	}
	slowest := e.plainFindings("b", []judged{{
		metric: lab.Metric{Kind: lab.KindTime, Quantity: lab.ResponseTime, Quantile: 0.99},
		ratio:  lab.Ratio{Ratio: 56}, verdict: lab.Slower}})
	if !strings.HasSuffix(slowest, "takes 56.0 times as long (of the slowest 1 %)") {
		t.Errorf("%q", slowest)
	}
}

// TestTheSystemDescribesItsKnobs in the first sentence, whose reader may not know them.
func TestTheSystemDescribesItsKnobs(t *testing.T) {
	shown, _ := pathsToSync()
	in := explainInput(shown, 7, actAlone)
	in.System.Architectures = []lab.Architecture{{Knobs: []lab.Knob{
		{Name: "placement", Means: map[string]string{"together": "one process",
			"apart": "a process per component"}},
		{Name: "data", Means: map[string]string{"databases": "a database per component"}}}}}
	a := Analyse(in)
	want := "most of the time comes from a process per component in place of one process."
	if !strings.Contains(a.Answer.Sentence, want) {
		t.Errorf("%q lacks %q", a.Answer.Sentence, want)
	}
	plain := map[string]string{}
	for _, s := range a.Waterfalls[0].Steps {
		plain[s.Knob] = s.Plain
	}
	if plain["placement"] != "a process per component" || plain["data"] != "a database per component" ||
		plain["coordination"] != "coordination orchestrated" {
		t.Errorf("steps are called %v", plain)
	}
}

// TestSystemsThatRunAlreadyAreNotMetered: the answer lists their CPU time and memory as not tested.
func TestSystemsThatRunAlreadyAreNotMetered(t *testing.T) {
	const unmetered = "CPU and memory of the systems that run already, which nobody meters"
	for name, c := range map[string]struct {
		system *lab.ExternalSystem
		listed bool
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
		got := strings.Join(e.notTested(lab.Analysis{}), ", ")
		if strings.Contains(got, unmetered) != c.listed {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestTheSentenceIsAboutDecidedMetrics: if the main metrics are undecided, the sentence is about others, the
// largest difference first, and at another point if none is decided at the usual one.
func TestTheSentenceIsAboutDecidedMetrics(t *testing.T) {
	e := newExperiment(shopUnderLoad())
	ratio := func(metric, point string, r float64, verdict lab.ComparisonVerdict) judged {
		m, _ := e.metric(metric)
		return judged{m, point, "sync", "monolith", lab.Ratio{Ratio: r, N: 6}, verdict}
	}
	open := ratio("completion_time_p50", "at-80", 3, lab.Undecided)
	for want, all := range map[string][]judged{
		"at-80 [completion_time_p99 ": {open, ratio("completion_time_p99", "at-80", 2, lab.Slower)},
		"at-80 [cpu_per_operation completion_time_p99]": {open, ratio("completion_time_p99", "at-80", 2,
			lab.Slower), ratio("cpu_per_operation", "at-80", 0.25, lab.Faster)},
		"at-80 [peak_memory ":         {open, ratio("peak_memory", "at-80", 2, lab.Slower)},
		"at-20 [completion_time_p50]": {open, ratio("completion_time_p50", "at-20", 2, lab.Slower)},
	} {
		s := e.chooseSubject(all, "monolith", "at-80", []string{"sync"})
		var names []string
		for _, m := range s.metrics {
			names = append(names, m.Name)
		}
		got := fmt.Sprintf("%s %v", s.point, names)
		if !strings.HasPrefix(strings.ReplaceAll(got, "]", " "), strings.TrimSuffix(want, "]")) {
			t.Errorf("the sentence is about %s, want %s", got, want)
		}
	}
}

// TestFindingsOnStartAndMemory if these differ, unless the first sentence contains them.
func TestFindingsOnStartAndMemory(t *testing.T) {
	in := shopUnderLoad()
	start := lab.Metric{Name: "time_to_first_answer", Title: "time to the first right answer", Unit: "s",
		Better: lab.LowerIsBetter, Kind: lab.KindTime, Quantity: lab.FirstAnswer, Source: lab.FromSystem}
	in.Plan.Study.Metrics = append(slices.Clone(in.Plan.Study.Metrics), start)
	for i := range in.Trials {
		trial := &in.Trials[i]
		if _, loaded := trial.Measures["peak_memory"]; loaded {
			noise := 1 + 0.001*float64(trial.Block)
			trial.Measures[start.Name] = map[string]float64{"sync": 8}[trial.Variant]*noise + noise
			trial.Measures["peak_memory"] = 1e8 * noise
		}
	}
	e := newExperiment(in)
	memory, _ := e.metric("peak_memory")
	s := subject{point: "at-80", baseline: "monolith", compared: []string{"sync", "async"}}
	texts := e.differenceSentences(s, &lab.Conclusion{})
	if len(texts) != 1 || !strings.Contains(texts[0], "Time to the first right answer") ||
		!strings.Contains(texts[0], "with monolith") || !strings.Contains(texts[0], "9.03 s with sync") ||
		strings.Contains(texts[0], "async") {
		t.Errorf("findings %q, want one on the start, which differs, and none on memory, which does not", texts)
	}
	longer := lab.Conclusion{Findings: []lab.Finding{
		{Text: "Time to the first right answer of a page at 80 orders/s: 1 s with sync."}}}
	if got := e.differenceSentences(s, &longer); !slices.Equal(got, texts) {
		t.Errorf("findings %q, though no other one is about the same metric", got)
	}
	same := lab.Conclusion{Findings: []lab.Finding{{Text: texts[0]}}}
	if got := e.differenceSentences(s, &same); len(got) != 0 {
		t.Errorf("findings %q repeat another one", got)
	}
	if s.metrics = []lab.Metric{start, memory}; len(e.differenceSentences(s, &lab.Conclusion{})) != 0 {
		t.Error("a finding repeats the sentence")
	}
}

// TestATwinIntervalThatExcludesOneIsMentioned even if no bias was found after Holm's correction.
func TestATwinIntervalThatExcludesOneIsMentioned(t *testing.T) {
	e := newExperiment(shopUnderLoad())
	m, _ := e.metric("completion_time_p50")
	e.bias = nil
	e.twinTests = map[string]lab.Bias{m.Name: {PHolm: 0.3, Family: 12}}
	low, high := 1.07, 2.07
	a := lab.Analysis{NoiseFloor: map[string]lab.Ratio{m.Name: {Ratio: 1.49, Low: &low, High: &high, N: 3}}}
	said := e.twinSentence(a, m)
	if strings.Contains(said, "no bias was found") || !strings.Contains(said, "excludes 1") ||
		!strings.Contains(said, "12 comparisons of this kind") || !strings.Contains(said, "Holm p 0.300") {
		t.Errorf("%s", said)
	}
}

// TestTheAnswerMentionsWrongAnswers, but only if there were some.
func TestTheAnswerMentionsWrongAnswers(t *testing.T) {
	in := shopUnderLoad()
	if said := answerOf(in); strings.Contains(said, "Answers that were not right") {
		t.Errorf("there were none:\n%s", said)
	}
	for _, trial := range in.Trials {
		if trial.Variant == "sync" && trial.Point.Name == "at-80" {
			trial.Audit.Figures[lab.FigureErrors] = 0.01
		}
	}
	if said := answerOf(in); !strings.Contains(said, "Answers that were not right at 80 orders/s: ") ||
		!strings.Contains(said, "1.0 % with sync") {
		t.Errorf("the answer lacks the share of wrong answers:\n%s", said)
	}
	for _, trial := range in.Trials { // a variant that is not in the sentence, at another point
		if trial.Variant == "async" && trial.Point.Name == "at-20" {
			trial.Audit.Figures[lab.FigureErrors] = 0.05
		}
	}
	e := newExperiment(in)
	silent := subject{baseline: "monolith", point: "at-80", variants: []string{"sync"},
		compared: []string{"sync", "async"}}
	said := strings.Join(e.wrongAnswerSentences(silent), " ")
	if !strings.Contains(said, "Answers that were not right at 20 orders/s: 5.0 % with async.") {
		t.Errorf("%q lacks the wrong answers of a variant that the sentence leaves out", said)
	}
}
