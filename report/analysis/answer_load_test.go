package analysis

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// answerOf is the whole answer, a sentence a line, each with the part of the
// report that it names.
func answerOf(in Input) string {
	var all strings.Builder
	for _, s := range Analyse(in).Answer {
		all.WriteString(s.Figure + ": " + s.Text + "\n")
	}
	return all.String()
}

func TestAnswerOfASystemUnderLoad(t *testing.T) {
	answer := answerOf(shopUnderLoad())
	for _, want := range []string{
		"ratios: To complete one order at 80 orders/s (at-80), sync takes 2.28x [2.14, 2.43] as long as monolith " +
			"(median 14.0 ms, p99 49.8 ms: slower",
		"monolith itself takes 6.18 ms, p99 20.3 ms (medians over trials; 6 blocks, 95 % intervals).",
		"ratios: Accepting is not completing: async answers after 4.30 ms, which is 0.690x [0.658, 0.723] as " +
			"long as monolith, but the order takes 8.92x",
		"curves: Under \"p99<100ms,errors<0.1%\" the highest rate of completed orders is: monolith 278 [267, " +
			"289]/s (16700 a minute); sync",
		"0.607x [0.562, 0.656] that of monolith, less by at least 34 %",
		"cost: At 80 orders/s one order costs 2.13 ms CPU, 11.0 statements with monolith; ",
		"of itself in 99th percentile of the time to completion: no bias was found",
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %q:\n%s", want, answer)
		}
	}
	if strings.Contains(answer, "not done when the load ended") {
		t.Errorf("the answer tells of unfinished orders, which nobody measured:\n%s", answer)
	}
}

// leaveUnfinished has async leave a share of its orders behind at a point.
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
	if want := "To complete one order at 40 orders/s"; !strings.Contains(answerOf(in), want) {
		t.Errorf("async does not keep up with 80/s, and still it is where all are compared:\n%s", answerOf(in))
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
		!strings.Contains(answer, "To complete one order") {
		t.Errorf("without a search:\n%s", answer)
	}
	for i := range in.Trials {
		in.Trials[i].Valid = in.Trials[i].Variant == "async"
	}
	if answer := answerOf(in); strings.Contains(answer, "To complete") ||
		!strings.Contains(answer, "one order costs") {
		t.Errorf("without a baseline:\n%s", answer)
	}
}
