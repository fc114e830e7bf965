package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

const secondsPerMinute = 60

// completes reports whether the system tells when an operation is really done:
// then its answer is about that, and not about when it was answered.
func (e *experiment) completes() bool {
	_, known := lab.FindMetric(e.study.Metrics, lab.CompletionTime, 0.5, "")
	return known && e.study.Load != nil
}

// loadAnswer are the sentences about a system under load: the time to complete at
// a rate that all hold, the capacities, what an operation costs, and what the
// answers hide.
func (e *experiment) loadAnswer(a lab.Analysis, add func(text, part string)) {
	point := e.commonPoint()
	add(e.saysCompletion(a, point), "ratios")
	add(e.saysAnswering(a, point), "ratios")
	add(e.saysCapacities(a), "curves")
	add(e.saysCost(point), "cost")
	add(e.saysUnsent(), "curves")
	add(e.saysUnfinished(), "curves")
}

// commonPoint is the highest rate that all variants with trials there held, of
// those at which most variants ran; where there is none, the lowest of these.
func (e *experiment) commonPoint() string {
	type candidate struct {
		name string
		n    int // variants that ran
		rate float64
		held bool // by all of them
	}
	var all []candidate
	for _, point := range e.study.Points {
		c := candidate{name: point.Name, held: true}
		for _, v := range e.variants() {
			trials := e.counted(v.Name, point.Name)
			if offered, open := offeredRate(point, trials); open && len(trials) > 0 {
				c.n, c.rate = c.n+1, offered
				c.held = c.held && e.mostHeld(trials)
			}
		}
		if c.n > 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MaxFunc(all, func(x, y candidate) int {
		better := cmp.Compare(x.rate, y.rate)
		if !x.held && !y.held {
			better = -better
		}
		return cmp.Or(cmp.Compare(x.n, y.n), compareBool(x.held, y.held), better)
	}).name
}

// compareBool puts true above false.
func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// mostBehind is how many seconds' worth of accepted operations may not be done
// when the load ends.
const mostBehind = 1.0

// behind is the share of accepted operations that were not done when the load
// ended, and whether those are more than the last second's.
func (e *experiment) behind(variant, point string) (share float64, late bool) {
	share, measured := e.mean(variant, point, e.named(lab.Unfinished, 0, ""))
	return share, measured && share*e.study.Load.Duration > mostBehind
}

// rateWords are a point's rate: "20 orders/s".
func (e *experiment) rateWords(point string) string {
	at, _ := e.study.Point(point)
	rate, _ := offeredRate(at, e.counted(e.study.Baseline, point))
	return fmt.Sprintf("%s %ss/s", lab.Plain(rate), e.operation())
}

// comparisonAt finds a variant's comparison with the baseline.
func (e *experiment) comparisonAt(a lab.Analysis, metric, point, variant string) (lab.Comparison, bool) {
	for _, c := range a.Comparisons {
		if c.Metric == metric && c.Point.Name == point && c.Variant == variant && c.Baseline == e.study.Baseline {
			return c, true
		}
	}
	return lab.Comparison{}, false
}

// saysCompletion compares the times until an operation is done.
func (e *experiment) saysCompletion(a lab.Analysis, point string) string {
	median, tail := e.named(lab.CompletionTime, 0.5, ""), e.named(lab.CompletionTime, 0.99, "")
	takes := func(variant string) string {
		words := e.middleWords(variant, point, median)
		if longest := e.middleWords(variant, point, tail); longest != "" {
			words += ", p99 " + longest
		}
		return words
	}
	var parts []string
	blocks := 0
	for _, v := range e.variants() {
		c, found := e.comparisonAt(a, median, point, v.Name)
		if !found {
			continue
		}
		blocks = max(blocks, c.N)
		parts = append(parts, fmt.Sprintf("%s takes %s as long as %s (median %s: %s)", v.Name,
			figure.Times(c.Ratio.Ratio, c.Low, c.High), c.Baseline, takes(v.Name), c.Words))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("To complete one %s at %s (%s), %s; %s itself takes %s (medians over trials; %s, %s "+
		"intervals).", e.operation(), e.rateWords(point), point,
		strings.Join(parts, "; "), e.study.Baseline, takes(e.study.Baseline), count(blocks, "block"),
		figure.Percent(a.Confidence))
}

// middleWords is the median of a metric over trials with its unit, or "" where it was not measured.
func (e *experiment) middleWords(variant, point, metric string) string {
	value, measured := e.middle(variant, point, metric)
	known, _ := e.metric(metric)
	if !measured {
		return ""
	}
	return figure.Quantity(value, nil, nil, known.Unit)
}

// saysAnswering tells what the answers alone would say of the variants that answer
// before the operation is done.
func (e *experiment) saysAnswering(a lab.Analysis, point string) string {
	completed, answered := e.named(lab.CompletionTime, 0.5, ""), e.named(lab.ResponseTime, 0.5, "")
	var parts []string
	for _, v := range e.variants() {
		early := e.contrastOf(completed, answered, point, pair{v.Name, v.Name})
		c, found := e.comparisonAt(a, answered, point, v.Name)
		if !found || !early.decided || early.ratio.Low <= 1+e.design.Margin {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s answers after %s, which is %s as long as %s, but the %s takes %s "+
			"as long as its answer", v.Name,
			e.middleWords(v.Name, point, answered), figure.Times(c.Ratio.Ratio, c.Low, c.High), c.Baseline,
			e.operation(), early.text()))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Accepting is not completing: %s.", strings.Join(parts, "; "))
}

// saysCapacities tells the capacity of every variant and its ratio to the baseline.
func (e *experiment) saysCapacities(a lab.Analysis) string {
	capacity := e.named(lab.Capacity, 0, "")
	for _, point := range e.study.Points {
		var parts []string
		for _, v := range e.variants() {
			s := e.cells[cell{v.Name, point.Name, capacity}]
			if len(s.values) == 0 {
				continue
			}
			mean, low, high := e.level(s.values, e.sure(e.design.Confidence, len(s.values)))
			text := fmt.Sprintf("%s %s/s (%s a minute)", v.Name, figure.Number(mean, low, high),
				figure.Number(secondsPerMinute*mean, nil, nil))
			if c, found := e.comparisonAt(a, capacity, point.Name, v.Name); found {
				text += fmt.Sprintf(", %s that of %s, %s", figure.Times(c.Ratio.Ratio, c.Low, c.High), c.Baseline,
					c.Words)
			}
			parts = append(parts, text)
		}
		if len(parts) > 0 {
			return fmt.Sprintf("Under %q the highest rate of completed %ss is: %s.", e.study.Load.Objective,
				e.operation(), strings.Join(parts, "; "))
		}
	}
	return ""
}

// saysCost tells what one operation costs in every variant.
func (e *experiment) saysCost(point string) string {
	var parts []string
	for _, v := range e.variants() {
		var words []string
		for _, m := range e.study.AllMetrics() {
			if text := e.middleWords(v.Name, point, m.Name); m.Phrase != "" && text != "" {
				words = append(words, text+" "+m.Phrase)
			}
		}
		if len(words) > 0 {
			parts = append(parts, fmt.Sprintf("%s with %s", strings.Join(words, ", "), v.Name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("At %s one %s costs %s.", e.rateWords(point), e.operation(), strings.Join(parts, "; "))
}

// saysUnsent tells, for every variant that did not take all that was offered, how
// much of it was begun at the rate where it was least: what was not sent is in no
// error rate.
func (e *experiment) saysUnsent() string {
	achieved := e.named(lab.Achieved, 0, "")
	var parts []string
	for _, v := range e.variants() {
		least, at := leastAchieved, ""
		for _, point := range e.study.Points {
			if share, measured := e.mean(v.Name, point.Name, achieved); measured && share < least {
				least, at = share, point.Name
			}
		}
		if at != "" {
			parts = append(parts, fmt.Sprintf("%s took %s of %s", v.Name, figure.Percent(least), e.rateWords(at)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Not all was begun in time: %s. What was never sent is in no error rate.",
		strings.Join(parts, "; "))
}

// saysUnfinished names, for every variant that left work behind, the rate at which
// it left the most.
func (e *experiment) saysUnfinished() string {
	var parts []string
	for _, v := range e.variants() {
		worst, at := 0.0, ""
		for _, point := range e.study.Points {
			if share, late := e.behind(v.Name, point.Name); late && share > worst {
				worst, at = share, point.Name
			}
		}
		if at != "" {
			parts = append(parts, fmt.Sprintf("%s left %s of them at %s", v.Name, figure.Percent(worst),
				e.rateWords(at)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Accepted, and not done when the load ended: %s. An error rate does not show that.",
		strings.Join(parts, "; "))
}
