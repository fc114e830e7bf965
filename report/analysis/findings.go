package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
)

// findings adds the findings that follow the sentence: the levels of its metrics, other differences, and
// those that belong to the kind of the study.
func (e *experiment) findings(a lab.Analysis, s subject, c *lab.Conclusion) {
	add := func(section string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				c.Findings = append(c.Findings, lab.Finding{Text: text, Section: section})
			}
		}
	}
	add("claims", claimsSentence(a))
	add("curves", e.autoscalingSentences()...)
	stepTexts := e.stepSentences(a, s, c.Headline)
	if !e.study.Explains() {
		for _, m := range s.metrics {
			named := append([]string{s.baseline}, s.variants...)
			add(traitsOf(m).section, sentence(e.levelsText(m, s.point, named)))
		}
	}
	add("waterfall", stepTexts...)
	add("factors", e.factorFindings(a)...)
	add("usage", e.differenceSentences(s, c)...)
	add("curves", e.wrongAnswerSentences(s)...)
	if e.completes() {
		add("ratios", e.earlyAnswerSentence(s))
		add("curves", e.unsentSentence(), e.unfinishedSentence())
	} else {
		add("curves", e.heldSentence(a.Held))
	}
	add("ratios", e.averageSentence(a))
	add("trends", e.trendsSentence(a))
	for _, fit := range a.ScalingFits {
		if fit.Refused == "" {
			add("scalability", fit.Words)
		}
	}
}

// sentence returns a text with a full stop, "" if it is empty.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return text + "."
}

// levelsText returns the levels of variants in a metric, as in the tables, without a full stop:
// "Median time at 80 orders/s: 6.18 ms with monolith, 38.4 ms with async".
func (e *experiment) levelsText(m lab.Metric, point string, variants []string) string {
	if m.Quantity == lab.Capacity {
		point = e.searchedPoint(m.Name)
	}
	var parts []string
	for _, name := range variants {
		if level := e.levelOf(m, name, point); level != "" {
			parts = append(parts, fmt.Sprintf("%s with %s", level, name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	what := figure.Capital(m.Title) + e.placeOf(m, point)
	return what + ": " + strings.Join(parts, ", ")
}

// levelOf formats the value of a variant in a metric: the median over the trials for quantiles,
// as in curves, else the mean. It returns "" if nothing was measured.
func (e *experiment) levelOf(m lab.Metric, variant, point string) string {
	values := e.series[seriesKey{variant, point, m.Name}].values
	switch {
	case len(values) == 0:
		return ""
	case m.Quantile > 0:
		return figure.Amount(stats.Median(values), m.Unit)
	}
	low, high := e.meanInterval(values)
	mean := lab.Estimate{Value: stats.Mean(values), Low: low, High: high}
	level, _, _ := strings.Cut(figure.Quantity(mean, m.Unit), " [")
	return level
}

// searchedPoint returns the first point at which a capacity was measured.
func (e *experiment) searchedPoint(capacity string) string {
	for _, p := range e.study.Points {
		for _, v := range e.variants() {
			if len(e.series[seriesKey{v.Name, p.Name, capacity}].values) > 0 {
				return p.Name
			}
		}
	}
	return ""
}

// differenceSentences returns sentences on start-up time and memory, if variants differ in them and no other
// finding has them.
func (e *experiment) differenceSentences(s subject, c *lab.Conclusion) []string {
	var texts []string
	for _, m := range e.study.AllMetrics() {
		relevant := m.Quantity == lab.FirstAnswer || m.Quantity == lab.Memory
		alreadySaid := isAmong(s.metrics, m.Name) ||
			slices.ContainsFunc(c.Findings, func(f lab.Finding) bool {
				return strings.HasPrefix(f.Text, figure.Capital(m.Title)+e.placeOf(m, s.point)+":")
			})
		if !relevant || alreadySaid {
			continue
		}
		point, known := e.study.Point(s.point)
		differing := filter(s.compared, func(name string) bool {
			p := pair{name, s.baseline}
			return known && e.comparison(m, point, p, e.contrast(m.Name, s.point, p)).Verdict.Differs()
		})
		if n := len(differing); n > 0 {
			named := append([]string{s.baseline}, differing[:min(mostNamed, n)]...)
			texts = append(texts, sentence(e.levelsText(m, s.point, named)))
		}
	}
	return texts
}

// wrongAnswerSentences returns a sentence with the shares of wrong answers at the subject's point, and
// another one for the point with the largest share.
func (e *experiment) wrongAnswerSentences(s subject) []string {
	worst, most := "", 0.0
	for _, p := range e.study.Points {
		for _, name := range append([]string{s.baseline}, s.compared...) {
			if share, counted := e.wrongShare(name, p.Name); counted && share > most {
				worst, most = p.Name, share
			}
		}
	}
	texts := []string{e.wrongAnswerSentence(s, s.point)}
	if worst != s.point && worst != "" {
		texts = append(texts, e.wrongAnswerSentence(s, worst))
	}
	return texts
}

// wrongAnswerSentence returns the shares of wrong answers at a point, of the baseline and of each variant
// that gave some, the largest first; "" if all were right.
func (e *experiment) wrongAnswerSentence(s subject, point string) string {
	shares := map[string]float64{}
	for _, name := range append([]string{s.baseline}, s.compared...) {
		share, counted := e.wrongShare(name, point)
		isShown := share > 0 || name == s.baseline
		if counted && isShown {
			shares[name] = share
		}
	}
	names := slices.SortedFunc(maps.Keys(shares), func(x, y string) int {
		return cmp.Or(cmp.Compare(shares[y], shares[x]), cmp.Compare(x, y))
	})
	if len(names) == 0 || shares[names[0]] == 0 {
		return ""
	}
	var parts []string
	for i, name := range names {
		if i < mostNamed || name == s.baseline {
			parts = append(parts, fmt.Sprintf("%s with %s", figure.Percent(shares[name]), name))
		}
	}
	return fmt.Sprintf("Answers that were not right %s: %s.", e.plainPlace(point), strings.Join(parts, ", "))
}

// wrongShare returns the mean share of wrong answers over the trials that count, or false if none does.
func (e *experiment) wrongShare(variant, point string) (share float64, counted bool) {
	shares := figuresOf(e.counted(variant, point), lab.FigureErrors)
	return stats.Mean(shares), len(shares) > 0
}

// earlyAnswerSentence returns a sentence on the variants that answer before the operation is done, "" if none
// does.
func (e *experiment) earlyAnswerSentence(s subject) string {
	completed := e.metricName(lab.CompletionTime, 0.5, "")
	answered := e.metricName(lab.ResponseTime, 0.5, "")
	m, _ := e.metric(answered)
	var parts []string
	for _, name := range s.variants {
		early := e.contrastOf(completed, answered, s.point, pair{name, name})
		if !early.decided || early.ratio.Low <= 1+e.design.Margin {
			continue
		}
		value := stats.Median(e.series[seriesKey{name, s.point, answered}].values)
		parts = append(parts, fmt.Sprintf("%s answers after %s, and the %s is done after %s times as long", name,
			figure.Amount(value, m.Unit), e.operation(),
			figure.Factor(figure.Between(early.ratio.Value, early.ratio.Low, early.ratio.High))))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Accepting is not completing: %s (medians).", strings.Join(parts, "; "))
}

// unsentSentence returns a sentence with the smallest share of offered operations that were sent, and its
// rate, for each variant with less than all. Unsent operations are in no error rate.
func (e *experiment) unsentSentence() string {
	achieved := e.metricName(lab.Achieved, 0, "")
	return e.worstShares("Not all was begun in time: %s. What was never sent is in no error rate.",
		"%s took %s of %s", e.rateText, cmp.Compare[float64],
		func(variant, point string) (float64, bool) {
			share, measured := e.mean(variant, point, achieved)
			return share, measured && share < leastAchieved
		})
}

// unfinishedSentence returns a sentence with the largest share of unfinished operations, and its place, for
// each variant that has some.
func (e *experiment) unfinishedSentence() string {
	return e.worstShares("Accepted, and not done when the load ended: %s. An error rate does not show that.",
		"%s left %s of them %s", e.plainPlace, func(x, y float64) int { return cmp.Compare(y, x) }, e.behind)
}

// worstShares formats a sentence with a part for each variant with bad shares. A part has the variant, its
// worst share, which is the first by order, and the text of the point at which it was measured.
func (e *experiment) worstShares(
	sentence, part string, place func(point string) string, order func(x, y float64) int,
	share func(variant, point string) (value float64, bad bool),
) string {
	var parts []string
	for _, v := range e.variants() {
		worst, at := 0.0, ""
		for _, p := range e.study.Points {
			value, bad := share(v.Name, p.Name)
			isWorst := at == "" || order(value, worst) < 0
			if bad && isWorst {
				worst, at = value, p.Name
			}
		}
		if at != "" {
			parts = append(parts, fmt.Sprintf(part, v.Name, figure.Percent(worst), place(at)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(sentence, strings.Join(parts, "; "))
}

// averageSentence says whether one ratio stands for all points: for a pair that a claim names, else for the
// first pair.
func (e *experiment) averageSentence(a lab.Analysis) string {
	elapsed := e.metricName(lab.Elapsed, 0, "")
	i := slices.IndexFunc(a.Averages, func(x lab.Average) bool {
		return x.Metric == elapsed && x.Baseline != e.study.Baseline
	})
	if i < 0 {
		i = slices.IndexFunc(a.Averages, func(x lab.Average) bool { return x.Metric == elapsed })
	}
	if i < 0 || a.Averages[i].Mean == nil || a.Averages[i].I2 == nil {
		return ""
	}
	x := a.Averages[i]
	over := fmt.Sprintf("Over %s %s takes", lab.Count(len(x.Points), "point"), x.Variant)
	if x.Homogeneous {
		return fmt.Sprintf("%s %s as long as %s (elapsed time, random-effects mean; the points do not differ "+
			"much, I2 %s).", over, times(*x.Mean), x.Baseline, figure.Percent(*x.I2))
	}
	low, high := extremes(a, x)
	text := fmt.Sprintf("%s from %s to %s as long as %s, depending on the point (elapsed time, I2 %s): no "+
		"single factor stands for all", over, low, high, x.Baseline, figure.Percent(*x.I2))
	if x.PredictionLow != nil && x.PredictionHigh != nil {
		text += fmt.Sprintf("; a new point is expected between %s and %s",
			figure.Multiple(*x.PredictionLow), figure.Multiple(*x.PredictionHigh))
	}
	return text + "."
}

// extremes returns the smallest and the largest ratio of an average as text, each with its point.
func extremes(a lab.Analysis, x lab.Average) (low, high string) {
	var found []lab.Comparison
	for _, point := range x.Points {
		if c := findComparison(a.Comparisons, x.Metric, point, pair{x.Variant, x.Baseline}); c != nil {
			found = append(found, *c)
		}
	}
	slices.SortStableFunc(found, func(a, b lab.Comparison) int {
		return cmp.Compare(a.Ratio.Ratio, b.Ratio.Ratio)
	})
	if len(found) == 0 {
		return figure.Absent, figure.Absent
	}
	show := func(c lab.Comparison) string { return times(c.Ratio) + " (" + c.Point.Name + ")" }
	return show(found[0]), show(found[len(found)-1])
}

// trendsSentence returns a sentence on the variants whose time does not grow in proportion to a factor. It is
// empty if the study has claims about that, whose tests are by block and more exact than a line through
// means.
func (e *experiment) trendsSentence(a lab.Analysis) string {
	if slices.ContainsFunc(e.study.Claims, func(c lab.Claim) bool { return c.Kind == lab.ClaimLinear }) {
		return ""
	}
	var off []string
	lines := 0
	elapsed := e.metricName(lab.Elapsed, 0, "")
	for _, t := range a.Trends {
		if t.Metric != elapsed || t.ExponentLow == nil || t.ExponentHigh == nil {
			continue
		}
		lines++
		shown := fmt.Sprintf("%s with %s to the power %s", t.Variant, t.Factor,
			figure.Number(lab.Estimate{Value: t.Exponent, Low: t.ExponentLow, High: t.ExponentHigh}))
		if *t.ExponentLow > 1 || *t.ExponentHigh < 1 {
			off = append(off, shown)
		}
	}
	switch {
	case lines == 0:
		return ""
	case len(off) == 0:
		return fmt.Sprintf("Elapsed time may grow in proportion to its factor in all %s: "+
			"no exponent is clear of 1.", lab.Count(lines, "trend"))
	}
	return fmt.Sprintf("Elapsed time does not grow in proportion to its factor: %s (of %s).", some(off),
		lab.Count(lines, "trend"))
}

// quoted returns the text of a claim, or its ID if it has none, in quotation marks.
func quoted(j lab.Judgement) string {
	return `"` + strings.TrimSuffix(cmp.Or(j.Text, j.ID), ".") + `"`
}

// claimsSentence returns a sentence with the number of claims of each verdict, "" without claims.
func claimsSentence(a lab.Analysis) string {
	if len(a.Claims) == 0 {
		return ""
	}
	counts := map[string]int{}
	var contradicted []string
	for _, c := range a.Claims {
		counts[c.Standing()]++
		if c.Verdict == lab.ClaimContradicted {
			contradicted = append(contradicted, quoted(c))
		}
	}
	named := ""
	if len(contradicted) > 0 {
		named = " (" + some(contradicted) + ")"
	}
	var parts []string
	for _, standing := range []string{string(lab.ClaimSupported), string(lab.ClaimContradicted),
		string(lab.ClaimUndecided), lab.NotAskedFor, string(lab.ClaimUntestable)} {
		text := fmt.Sprintf("%d %s", counts[standing], standing)
		if standing == string(lab.ClaimContradicted) {
			text += named
		}
		if counts[standing] > 0 {
			parts = append(parts, text)
		}
	}
	all := lab.Count(len(a.Claims), "claim")
	return fmt.Sprintf("Of %s here: %s.", all, strings.Join(parts, ", "))
}
