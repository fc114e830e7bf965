package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// plainFindings returns the decided ratios of a variant as text: "with sync an order takes 2.28 times as long
// and costs 2.5 times the CPU". Undecided ratios are left out; "" if all are.
func (e *experiment) plainFindings(variant string, all []judged) string {
	var each, whole []string // findings about an operation, and about the system
	for _, j := range all {
		if j.verdict == lab.Undecided {
			continue
		}
		m, same := j.metric, j.verdict == lab.Equivalent
		factor := figure.Factor(j.ratio.Estimate()) + " times "
		if same {
			factor = ""
		}
		switch {
		case m.Quantity == lab.Capacity && same:
			whole = append(whole, "the highest rate is the same")
		case m.Quantity == lab.Capacity:
			whole = append(whole, "the highest rate is "+factor+"as high")
		case m.Kind == lab.KindRate && same:
			whole = append(whole, fmt.Sprintf("as many %ss get done", e.operation()))
		case m.Kind == lab.KindRate:
			whole = append(whole, fmt.Sprintf("%sas many %ss get done", factor, e.operation()))
		case traitsOf(m).duration:
			each = append(each, "takes "+factor+"as long"+tailText(m))
		case m.Kind == lab.KindCost:
			often := factor + "the "
			if same {
				often = "as much "
			}
			each = append(each, "costs "+often+cmp.Or(m.Phrase, "processor time"))
		case same:
			whole = append(whole, fmt.Sprintf("%s is the same", m.Title))
		default:
			whole = append(whole, fmt.Sprintf("%s is %sas much", m.Title, factor))
		}
	}
	if len(each) > 0 {
		ofEach := figure.Article(e.operation()) + " " + figure.And(each)
		whole = slices.Insert(whole, 0, ofEach)
	}
	if len(whole) == 0 {
		return ""
	}
	return fmt.Sprintf("with %s %s", variant, strings.Join(whole, ", and "))
}

// tailText describes the operations of a tail: " (of the slowest 1 %)".
func tailText(m lab.Metric) string {
	if m.Quantile <= 0.5 {
		return ""
	}
	percent := 100 * (1 - m.Quantile)
	return fmt.Sprintf(" (of the slowest %s %%)", strconv.FormatFloat(percent, 'g', 3, 64))
}

// plainMissed names the variants that missed the rate of the comparison, with the number of trials:
// response times at such a rate depend on the length of the load.
func plainMissed(a lab.Analysis, point string) string {
	var parts []string
	for _, r := range a.Held {
		if r.Point == point && r.Held < r.Trials {
			parts = append(parts, fmt.Sprintf("by %s in %d of %s", r.Variant, r.Trials-r.Held,
				lab.Count(r.Trials, "trial")))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" That rate was missed %s.", figure.And(parts))
}

// plainPlace returns the point of a comparison as text: "at 80 orders/s", "with 4 users".
func (e *experiment) plainPlace(point string) string {
	if at, known := e.study.Point(point); known {
		if _, open := offeredRate(at, e.counted(e.study.Baseline, point)); open {
			return "at " + e.rateText(point)
		}
		if users, closed := at.Level(lab.FactorUsers); closed {
			return "with " + lab.Count(int(users), "user")
		}
	}
	return "at " + point
}

// rateText returns the offered rate of a point as text: "20 orders/s", or "20 flows/s" if flows have several
// operations.
func (e *experiment) rateText(point string) string {
	at, _ := e.study.Point(point)
	trials := e.counted(e.study.Baseline, point)
	rate, _ := offeredRate(at, trials)
	unit := e.operation()
	if slices.ContainsFunc(e.study.Variants, func(v lab.Variant) bool {
		return len(figuresOf(e.counted(v.Name, point), lab.FigureFlow)) > 0
	}) {
		unit = "flow"
	}
	return fmt.Sprintf("%s %ss/s", lab.Plain(rate), unit)
}

// operation returns the system's word for an operation: "order".
func (e *experiment) operation() string { return cmp.Or(e.in.System.Operation, "operation") }

// times formats a ratio with its interval.
func times(r lab.Ratio) string { return figure.Times(r.Estimate()) }

// some lists the first of several things and how many more there are.
func some(things []string) string {
	if more := len(things) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(things[:mostNamed], ", "), more)
	}
	return strings.Join(things, ", ")
}
