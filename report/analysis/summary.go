package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// summary is the first screen: what was found in a sentence of plain words, how sure that
// is, and what was not tested. It is empty where no trial counts.
func (e *experiment) summary(a lab.Analysis) lab.Summary {
	if a.Trials.Valid == 0 {
		return lab.Summary{}
	}
	var found string
	switch {
	case len(a.Bottlenecks) > 0 && len(e.study.Claims) == 0:
		found = a.Bottlenecks[0].Answer[0]
	case e.study.Explains() && len(a.Waterfalls) > 0:
		found = e.plainWay(a.Waterfalls)
	default:
		found = e.plainComparisons(a)
		if len(a.Waterfalls) > 0 && found != "" {
			found = strings.TrimSuffix(found, ".") + e.plainOrigin(a.Waterfalls[0]) + "."
		}
		if len(a.Bottlenecks) > 0 { // a study that scales units does so to find the one
			found = strings.TrimSpace(a.Bottlenecks[0].Answer[0] + " " + found)
		}
	}
	if found == "" {
		found = "What was measured does not tell the variants apart."
	}
	return lab.Summary{Sentence: e.plainWarnings() + found, Sure: e.howSure(a), NotTested: e.notTested(a)}
}

// plainWarnings say before all else of whom nothing is known, and who is not steady.
func (e *experiment) plainWarnings() string {
	text := ""
	for _, s := range SilentVariants(e.study, e.in.Trials) {
		text += fmt.Sprintf("Nothing can be said of %s: none of its trials count. ", s.Variant)
	}
	var unsteady []string
	for _, s := range e.steady {
		if !s.Steady {
			unsteady = appendNew(unsteady, s.Variant+" at "+s.Point.Name)
		}
	}
	if len(unsteady) > 0 {
		text += fmt.Sprintf("Not steady: %s, so that verdicts which hang on how long a trial lasts are withheld. ",
			some(unsteady))
	}
	return text
}

// plainMetrics are what a sentence in plain words is about: a time, of a load its median
// to completion or else what the study begins with, the cost in processor time, and the
// capacity. Those that the study has not are left out.
func (e *experiment) plainMetrics() []lab.Metric {
	var chosen []lab.Metric
	add := func(quantity string, quantile float64, per string) bool {
		m, known := lab.FindMetric(e.study.AllMetrics(), quantity, quantile, per)
		if known {
			chosen = append(chosen, m)
		}
		return known
	}
	switch first := e.study.AllMetrics()[0]; {
	case add(lab.CompletionTime, 0.5, ""), add(lab.Elapsed, 0, lab.PerOperation):
	default:
		chosen = append(chosen, first)
	}
	add(lab.CPU, 0, lab.PerOperation)
	if chosen[0].Quantity != lab.Capacity {
		add(lab.Capacity, 0, "")
	}
	return chosen
}

// finding is a ratio that is to be told, with its verdict.
type finding struct {
	metric  lab.Metric
	ratio   float64
	verdict lab.ComparisonVerdict
}

// plainFindings tell in words what was found of a variant: "with sync an order takes 2.3 times
// as long and costs 2.5 times the CPU"; "" where the data decide nothing.
func (e *experiment) plainFindings(variant string, all []finding) string {
	var each, whole []string // of an operation, and of the system
	for _, f := range all {
		if f.verdict == lab.Undecided {
			continue
		}
		m, same := f.metric, f.verdict == lab.Equivalent
		times := figure.Rough(f.ratio) + " times "
		if same {
			times = ""
		}
		tail := ""
		if m.Quantile > 0.5 {
			tail = fmt.Sprintf(" (of the slowest %s)", plainShare(1-m.Quantile))
		}
		switch {
		case m.Quantity == lab.Capacity && same:
			whole = append(whole, "the highest rate is the same")
		case m.Quantity == lab.Capacity:
			whole = append(whole, "the highest rate is "+times+"as high")
		case m.Kind == lab.KindRate:
			whole = append(whole, fmt.Sprintf("%sas many %ss get done", times, e.operation()))
		case m.Kind == lab.KindTime:
			each = append(each, "takes "+times+"as long"+tail)
		case m.Kind == lab.KindCost:
			often := times + "the "
			if same {
				often = "as much "
			}
			each = append(each, "costs "+often+cmp.Or(m.Phrase, "processor time"))
		default:
			whole = append(whole, fmt.Sprintf("%s is %sas much", m.Title, times))
		}
	}
	if len(each) > 0 {
		whole = slices.Insert(whole, 0, fmt.Sprintf("%s %s %s", article(e.operation()), e.operation(), and(each)))
	}
	if len(whole) == 0 {
		return ""
	}
	return fmt.Sprintf("with %s %s", variant, strings.Join(whole, ", and "))
}

// plainComparisons tells how the variants that ran at most points stand to the baseline.
func (e *experiment) plainComparisons(a lab.Analysis) string {
	point := e.fullestPoint()
	if e.study.Load != nil {
		point = cmp.Or(e.commonPoint(), point)
	}
	var parts []string
	for _, name := range e.widest() {
		var found []finding
		for _, m := range e.plainMetrics() {
			i := slices.IndexFunc(a.Comparisons, func(c lab.Comparison) bool {
				return c.Metric == m.Name && c.Variant == name && c.Baseline == e.study.Baseline &&
					(c.Point.Name == point || m.Quantity == lab.Capacity)
			})
			if i >= 0 {
				found = append(found, finding{m, a.Comparisons[i].Ratio.Ratio, a.Comparisons[i].Verdict})
			}
		}
		if text := e.plainFindings(name, found); text != "" && len(parts) < mostNamed {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Compared with %s, %s: %s.%s", e.study.Baseline, e.plainPlace(point),
		strings.Join(parts, "; "), e.plainMissed(a, point))
}

// plainMissed names who did not hold the rate at which the variants are compared: how long
// it takes there depends on how long the load lasts.
func (e *experiment) plainMissed(a lab.Analysis, point string) string {
	var names []string
	for _, r := range a.Held {
		if r.Point == point && r.Held < r.Trials {
			names = append(names, r.Variant)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" That rate was not held by %s.", and(names))
}

// plainPlace is where a comparison was made: "at 80 orders/s", "with 4 users".
func (e *experiment) plainPlace(point string) string {
	if at, known := e.study.Point(point); known {
		if _, open := offeredRate(at, e.counted(e.study.Baseline, point)); open {
			return "at " + e.rateWords(point)
		}
		if users, closed := at.Level(lab.FactorUsers); closed {
			return "with " + count(int(users), "user")
		}
	}
	return "at " + point
}

// plainShare is a share in the digits that it has: "1 %", "0.1 %".
func plainShare(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// plainWay tells a whole way and where most of it comes from: of the time that the study
// begins with, and of its cost.
func (e *experiment) plainWay(all []lab.Waterfall) string {
	var told []lab.Waterfall // in the order of the metrics
	var found []finding
	for _, m := range e.plainMetrics() {
		i := slices.IndexFunc(all, func(w lab.Waterfall) bool { return w.Metric == m.Name })
		if i >= 0 {
			found, told = append(found, finding{m, all[i].Whole.Ratio, all[i].Verdict}), append(told, all[i])
		}
	}
	if len(told) == 0 {
		return ""
	}
	first := told[0]
	text := e.plainFindings(first.To, found)
	if text == "" {
		return ""
	}
	for _, w := range told {
		if origin := e.plainOrigin(w); origin != "" {
			text += origin
			break
		}
	}
	return fmt.Sprintf("Compared with %s, %s: %s.", first.From, e.plainPlace(first.Point.Name), text)
}

// plainOrigin says which knob, or which two, make the most of a whole: as shares of its
// logarithm, in which steps add up; "" where no step is decided.
func (e *experiment) plainOrigin(w lab.Waterfall) string {
	whole := math.Log(w.Whole.Ratio)
	if w.Verdict == lab.Undecided || w.Verdict == lab.Equivalent || whole == 0 {
		return ""
	}
	type origin struct {
		name  string
		share float64
	}
	var origins []origin
	for _, s := range sortSteps(w).along {
		name := s.Name
		if name == "" {
			name = s.Knob
		}
		i := slices.IndexFunc(origins, func(o origin) bool { return o.name == name })
		if i < 0 {
			i, origins = len(origins), append(origins, origin{name: name})
		}
		origins[i].share += math.Log(s.Ratio.Ratio) / whole
	}
	slices.SortStableFunc(origins, func(a, b origin) int { return cmp.Compare(b.share, a.share) })
	if len(origins) == 0 {
		return ""
	}
	names, share := []string{origins[0].name}, origins[0].share
	if len(origins) > 1 && share < 0.4 {
		names, share = append(names, origins[1].name), share+origins[1].share
	}
	for i, name := range names {
		names[i] = e.knobWords(w, name)
	}
	return fmt.Sprintf("; %s of the %s comes from %s", shareWords(share), e.what(w), and(names))
}

// what a waterfall is of, in a word.
func (e *experiment) what(w lab.Waterfall) string {
	if m, _ := e.metric(w.Metric); m.Kind == lab.KindCost {
		return cmp.Or(m.Phrase, "cost")
	} else if m.Kind == lab.KindTime {
		return "time"
	}
	return "difference"
}

// knobWords are what a knob was turned to on a way, and from: "a saga of events in place of
// one transaction"; where the system has no words for that, "coordination (acid to
// choreographed)". A step with a name of its own has that.
func (e *experiment) knobWords(w lab.Waterfall, name string) string {
	var first, last []lab.KnobChange
	for _, s := range w.Steps {
		if s.Name == "" && s.Knob == name {
			if first == nil {
				first = s.Changes
			}
			last = s.Changes
		}
	}
	var from, to, before, after []string
	for i := range min(len(first), len(last)) {
		from, to = append(from, first[i].From), append(to, last[i].To)
		before, after = append(before, e.means(first[i].Knob, first[i].From)),
			append(after, e.means(last[i].Knob, last[i].To))
	}
	switch {
	case len(from) == 0:
		return name
	case slices.Contains(append(before, after...), ""):
		return fmt.Sprintf("%s (%s to %s)", spaced(name), and(from), and(to))
	}
	return and(after) + " in place of " + and(before)
}

// plainStep says in words what a step leads to; "" where it has a name, or the system has no words.
func (e *experiment) plainStep(s lab.PathStep) string {
	var all []string
	for _, c := range s.Changes {
		words := e.means(c.Knob, c.To)
		if words == "" || s.Name != "" {
			return ""
		}
		all = append(all, words)
	}
	return and(all)
}

// means is a knob's value in words, "" where the system has none.
func (e *experiment) means(knob, value string) string {
	for _, a := range e.in.System.Architectures {
		for _, k := range a.Knobs {
			if k.Name == knob && k.Means[value] != "" {
				return k.Means[value]
			}
		}
	}
	return ""
}

// shareWords are a share of a whole.
func shareWords(share float64) string {
	switch {
	case share > 1.1:
		return "more than all"
	case share > 0.85:
		return "nearly all"
	case share > 0.6:
		return "most"
	case share > 0.4:
		return "half"
	case share > 0.28:
		return "a third"
	}
	return figure.Percent(share)
}

// howSure says what the sentence stands on.
func (e *experiment) howSure(a lab.Analysis) string {
	headline := e.headline()
	undecided, all := e.countUndecided(a, headline)
	what := e.study.AllMetrics()[0].Title
	if m, known := e.metric(headline); known {
		what = m.Title
	}
	blocks := count(e.design.Blocks, "block") + ", in each of which every variant was played once"
	if a.Trials.Spared > 0 {
		blocks = "up to " + count(e.design.Blocks, "block") +
			", in each of which all that was not decided yet was played once"
	}
	if a.Trials.Further > 0 {
		blocks += ", and once more at points at which trials were lost"
	}
	text := fmt.Sprintf("%s, in random order; %d of %s counted; intervals of %s. ",
		blocks, a.Trials.Valid, count(a.Trials.Planned-a.Trials.Spared, "trial"), figure.Percent(a.Confidence))
	if all > 0 {
		text += fmt.Sprintf("Decided: %d of %s in %s. ", all-undecided, count(all, "comparison"), what)
	}
	if r, ok := a.NoiseFloor[headline]; ok && r.Low != nil && !fewBlocks(r) {
		text += fmt.Sprintf("The same variant under a second name came out at %s of itself.",
			figure.Times(r.Ratio, r.Low, r.High))
	} else {
		text += "No variant ran beside its own twin in enough blocks to tell a bias."
	}
	return text + e.disturbers()
}

// notTested says what bounds the sentence: other hosts and networks, other rates, faults,
// and the claims that nothing here can test.
func (e *experiment) notTested(a lab.Analysis) string {
	parts := []string{"another host than this one"}
	if e.study.Load != nil {
		var rates []float64
		for _, p := range e.study.Points {
			if rate, open := offeredRate(p, nil); open {
				rates = append(rates, rate)
			}
		}
		if len(rates) > 0 {
			parts = append(parts, fmt.Sprintf("rates above %s/s", lab.Plain(slices.Max(rates))))
		}
		if _, searched := lab.FindMetric(e.study.AllMetrics(), lab.Capacity, 0, ""); !searched {
			parts = append(parts, "the highest rate of each")
		}
		longest := e.study.Load.Duration
		for _, seconds := range e.loadSeconds() {
			longest = max(longest, seconds)
		}
		if longest > 0 { // else it lasted until its work was done
			parts = append(parts, fmt.Sprintf("loads of more than %s s", lab.Plain(longest)))
		}
	}
	if len(e.study.Faults) == 0 {
		parts = append(parts, "what happens when a part fails")
	}
	if slices.ContainsFunc(e.study.Variants, func(v lab.Variant) bool { return v.External.RunsAlready() }) {
		parts = append(parts, "CPU and memory of the systems that run already, which nobody meters")
	}
	untestable, unasked := 0, 0
	for _, c := range a.Claims {
		switch {
		case c.Unasked:
			unasked++
		case c.Verdict == lab.ClaimUntestable:
			untestable++
		}
	}
	if unasked > 0 {
		parts = append(parts, count(unasked, "claim")+" that this run was not asked for")
	}
	if untestable > 0 {
		parts = append(parts, count(untestable, "claim")+
			" that cannot be tested here (the reasons stand with them)")
	}
	return capital(strings.Join(parts, ", ")) + "."
}

// and joins clauses: "a, b and c".
func and(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// article is "a" or "an".
func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}

// spaced shows a name in words.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }
