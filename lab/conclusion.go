package lab

import "slices"

// Conclusion is the answer of an experiment. It is chosen once, and every report shows it:
// no report chooses a headline or writes a sentence of its own.
type Conclusion struct {
	// Sentence lists the decided effects, the largest first.
	Sentence string `json:"sentence"`
	// Point is the point at which the sentence compares the variants; reports show them side by side there.
	Point string `json:"point"`
	// Headline is the comparison of the sentence; nil if nothing was compared.
	Headline *Headline `json:"headline,omitempty"`
	// Findings are further results: one sentence for each metric or topic.
	Findings []Finding `json:"findings"`
	// Withheld lists what the answer leaves out, and why: variants without a valid trial or struck out, and
	// verdicts that depend on the length of a trial.
	Withheld []string `json:"withheld"`
	// Sure lists the evidence for the answer, in sentences.
	Sure []string `json:"sure"`
	// NotTested lists factors that could change the answer and were not varied.
	NotTested []string `json:"not_tested"`
}

// Finding is one sentence of the answer. Section is the part of the page that shows its
// figures: "ratios", "waterfall", "curves", "cost", "ladder", "claims" ...
type Finding struct {
	Text    string `json:"text"`
	Section string `json:"section"`
}

// Headline is the comparison that answers the question of the experiment, as bars on a log
// axis. The numbers of the sentence are those of its bars.
type Headline struct {
	Title string `json:"title"`
	// Baseline is the variant whose ratio is 1.
	Baseline string `json:"baseline"`
	Bars     []Bar  `json:"bars"`
}

// Bar is one ratio of a headline.
type Bar struct {
	// Label names the bar in words: "a saga", a variant, or a metric.
	Label    string `json:"label"`
	Metric   string `json:"metric"`
	Point    string `json:"point"`
	Variant  string `json:"variant"`
	Baseline string `json:"baseline"`
	// Begin is the ratio at which the bar begins: 1, or the end of the step before it. The bar ends at Begin
	// times its own ratio.
	Begin float64 `json:"begin"`
	Ratio
	Verdict ComparisonVerdict `json:"verdict"`
}

// mostExplained limits the metrics whose steps, or effects of factors, an answer explains.
const mostExplained = 6

// ExplainedWaterfalls returns the waterfalls that an answer explains: those of the first mostExplained
// metrics.
func ExplainedWaterfalls(all []Waterfall) []Waterfall {
	return ofFirstMetrics(all, func(w Waterfall) string { return w.Metric })
}

// ofFirstMetrics returns the elements of the first mostExplained metrics in a list.
func ofFirstMetrics[T any](all []T, metricOf func(T) string) []T {
	var metrics []string
	var first []T
	for _, one := range all {
		metric := metricOf(one)
		if !slices.Contains(metrics, metric) {
			metrics = append(metrics, metric)
		}
		if slices.Index(metrics, metric) < mostExplained {
			first = append(first, one)
		}
	}
	return first
}

// Chart returns the steps as bars, each of which begins where the one before it ended, then the stretches in
// the same way, from 1 again, and last the whole.
func (w Waterfall) Chart(title string) Headline {
	h := Headline{Title: title, Baseline: w.From}
	at := 1.0
	add := func(label, from, to string, begin float64, r Ratio, verdict ComparisonVerdict) {
		h.Bars = append(h.Bars, Bar{Label: label, Metric: w.Metric, Point: w.Point.Name, Variant: to,
			Baseline: from, Begin: begin, Ratio: r, Verdict: verdict})
	}
	for _, s := range w.Steps {
		add(s.Label(), s.Before, s.Variant, at, s.Ratio, s.Verdict)
		at *= s.Ratio.Ratio
	}
	at = 1
	for _, s := range w.Stretches {
		add(s.From+" -> "+s.To, s.From, s.To, at, s.Ratio, s.Verdict)
		at *= s.Ratio.Ratio
	}
	add(w.From+" -> "+w.To, w.From, w.To, 1, w.Whole, w.Verdict)
	return h
}
