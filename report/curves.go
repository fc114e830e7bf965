package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// curvesSection shows times, throughput and shares over the offered rate.
func (v view) curvesSection() section {
	s := section{ID: "curves", Title: "Load and latency", Wide: true,
		Caption: fmt.Sprintf("Times and completed %ss over the offered rate; times on log "+
			"axes. Small marks: trials; lines: medians over trials (n=%s). "+
			"Hollow: a rate that was not held, or an objective that was missed.%s", v.Operation,
			v.counting, v.capacityCaption()),
		HowTo: "Follow a line to the right until it bends upwards: there the variant begins to queue. A median " +
			"that stays level says little while the 99th percentile climbs. " +
			"At hollow marks whose rate was not begun in time work piled up, so that the time depends on how long " +
			"the load lasted. In the plots of throughput, a variant that leaves the dotted diagonal answers less " +
			"than it is asked."}
	finish, _ := v.finishTime()
	s.Shown = []table{v.heldTable(), v.capacityTable(), v.curveTable(finish)}
	s.Folded = []table{v.searchesTable()}
	for _, kind := range []string{"curve", "throughput", "share"} {
		for _, m := range v.drawnCurves(kind) {
			s.Plots = append(s.Plots, plot{ID: "plot-" + kind + "-" + slug(m.Name), Kind: kind, Metric: m.Name,
				Limit: v.limit(m), Capacities: m.Name == finish.Name,
				Title: shortTitle(m), Label: sentenceCase(m.Title) + " over the offered rate"})
		}
	}
	for _, m := range v.Metrics {
		if v.hasCurve(m.Name) && m.Name != finish.Name {
			s.Folded = append(s.Folded, v.curveTable(m))
		}
	}
	return s
}

// capacityCaption explains the brackets and the line of the objective, if the plots have them.
func (v view) capacityCaption() string {
	caption := ""
	if len(v.capacities()) > 0 {
		caption = fmt.Sprintf(" Brackets below the curves: capacity with its %s interval.",
			figure.Setting(v.Confidence))
	}
	if slices.ContainsFunc(v.drawnCurves("curve"), func(m lab.Metric) bool { return v.limit(m) > 0 }) {
		caption += fmt.Sprintf(" Dashed line: the limit of the objective (%s), which is about response times.",
			v.Objective)
	}
	return caption
}

// heldTable shows the offered rates that each variant held or missed, with the shares of operations that were
// sent in time and answered wrongly.
func (v view) heldTable() table {
	t := table{ID: "held", Title: "Rates held", Keys: 2,
		Note:    "begun in time and answered rightly, in every trial",
		Columns: columns{}.text("variant").number("offered").text("held").number("begun", "not right")}
	if v.Objective != "" {
		t.Note = "begun in time, and " + v.Objective + ", in every trial"
	}
	for _, r := range v.Held {
		held := toned("not known", toneMuted)
		begun := none()
		wrong := none()
		if r.Trials > 0 {
			held = toned(fmt.Sprintf("in all %d trials", r.Trials), toneGood)
			begun = text(figure.Percent(r.Begun))
			wrong = text(figure.Percent(r.Wrong))
		}
		if r.Held < r.Trials {
			held = toned(fmt.Sprintf("missed in %d of %d trials", r.Trials-r.Held, r.Trials), toneWarn)
		}
		t.add(r.Variant, ratePerSecond(r.Rate), held, begun, wrong)
	}
	return t
}

// capacityTable shows the highest rates that met the objective.
func (v view) capacityTable() table {
	t := table{ID: "capacity", Title: "Capacity", Keys: 1,
		Note:    "highest rate that meets " + cmp.Or(v.Objective, "the objective") + "; " + v.sample(),
		Columns: columns{}.text("variant", "point").number("capacity", "to "+v.Baseline, "trials")}
	for _, r := range v.capacities() {
		base := toned("base", toneMuted)
		if r.Variant != v.Baseline {
			base = ratioCell(v.ratio(r.Metric, r.Variant, r.Point.Name))
		}
		t.add(r.Variant, r.Point.Name, figure.Quantity(r.Estimate(), r.Unit), base, r.N)
	}
	return t
}

// capacities returns the results of searches, the highest capacity first.
func (v view) capacities() []lab.Result {
	capacity, searched := lab.FindMetric(v.Metrics, lab.Capacity, 0, "")
	if !searched {
		return nil
	}
	found := filter(v.Results, func(r lab.Result) bool {
		return r.Metric == capacity.Name && !v.StruckOut(r.Variant)
	})
	slices.SortStableFunc(found, func(a, b lab.Result) int { return cmp.Compare(b.Mean, a.Mean) })
	return found
}

// searchesTable shows the two loads between which each search found the capacity.
func (v view) searchesTable() table {
	t := table{ID: "searches", Title: "Searches for the capacity", Keys: 2,
		Note: "one search per row; times are response times of the load at the highest rate that held; the " +
			"last two columns are the lowest rate above it that failed and why, with what the search left open",
		Columns: columns{}.text("variant").number("block", "loads", "holds", "median", "p99", "longest",
			"fails at").prose("why")}
	for _, s := range v.Searches {
		passed := []cell{toned("none", toneWarn), none(), none(), none()}
		if p := s.Passed; p != nil {
			passed = []cell{text(ratePerSecond(p.Rate)), unlessNil(p.Median, seconds), unlessNil(p.P99, seconds),
				unlessNil(p.Longest, seconds)}
		}
		failsAt := none()
		why := s.Reason
		if s.Failed != nil {
			failsAt = text(ratePerSecond(s.Failed.Rate))
			why = strings.TrimSuffix(s.Failed.Why+"; "+s.Reason, "; ")
		}
		t.add(s.Variant, s.Block, s.Loads, passed, failsAt, why)
	}
	return t
}

// ratePerSecond formats an offered rate with four digits: "80/s", "41.67/s".
func ratePerSecond(rate float64) string { return lab.Plain(rate) + "/s" }

// curveTable shows a metric over the offered rate.
func (v view) curveTable(m lab.Metric) table {
	t := table{ID: "curve-" + m.Name, Title: "Over the offered rate: " + m.Title, Keys: 2,
		Note: fmt.Sprintf("medians over trials; *: the rate was not held, or the objective missed; n=%s",
			v.counting),
		Columns: columns{}.text("point").number("offered")}
	shown := filter(v.variants(), func(x lab.Variant) bool {
		_, ok := v.curve(m.Name, x.Name)
		return ok
	})
	t.addVariants(shown)
	for _, l := range v.loads() {
		t.add(l.point, ratePerSecond(l.rate),
			cells(shown, func(x lab.Variant) cell { return v.curveCell(m, x.Name, l.point) }))
	}
	return t
}

// curveCell shows the value of a variant's curve at a point.
func (v view) curveCell(m lab.Metric, variant, point string) cell {
	c, _ := v.curve(m.Name, variant)
	p, known := find(c.Points, func(p lab.CurvePoint) bool { return p.Point == point })
	if !known {
		return none()
	}
	shown := figure.Amount(p.Median, m.Unit)
	if m.Kind == lab.KindShare {
		shown = figure.Percent(p.Median)
	}
	if !p.Held || p.Missed {
		return toned("* "+shown, toneWarn)
	}
	return text(shown)
}

// curve returns a metric of a variant over the offered rate.
func (v view) curve(metric, variant string) (lab.Curve, bool) {
	return find(v.Curves, func(c lab.Curve) bool { return c.Metric == metric && c.Variant == variant })
}

// drawnCurves returns the metrics that plots of a kind draw over the offered rate. With a single rate there
// are none, since a table shows that better.
func (v view) drawnCurves(kind string) []lab.Metric {
	if len(v.loads()) < 2 {
		return nil
	}
	return filter(v.Metrics, func(m lab.Metric) bool { return v.hasCurve(m.Name) && v.curveKind(m) == kind })
}

// curveKind returns the kind of plot that shows a metric over the offered rate, "" for none. Of times the
// median and the 99th percentile are drawn, every rate, and shares that are not all zero.
func (v view) curveKind(m lab.Metric) string {
	isDrawn := slices.Contains([]float64{0.5, 0.99}, m.Quantile)
	isAge := m.Quantity == lab.Staleness || m.Quantity == lab.ReferenceStaleness
	switch {
	case m.Kind == lab.KindTime && isDrawn && !isAge:
		return "curve"
	case m.Kind == lab.KindRate:
		return "throughput"
	case m.Kind == lab.KindShare && v.anyAboveZero(m.Name):
		return "share"
	default:
		return ""
	}
}

// anyAboveZero reports whether some curve of a metric has a value above zero.
func (v view) anyAboveZero(metric string) bool {
	return slices.ContainsFunc(v.Curves, func(c lab.Curve) bool {
		return c.Metric == metric && slices.ContainsFunc(c.Points,
			func(p lab.CurvePoint) bool { return p.Median > 0 })
	})
}

// shortTitle returns the title of a metric's plot: "Completion time, 99th percentile".
func shortTitle(m lab.Metric) string {
	switch m.Quantile {
	case 0.5:
		return sentenceCase(m.Quantity + ", median")
	case 0.99:
		return sentenceCase(m.Quantity + ", 99th percentile")
	}
	return sentenceCase(m.Name)
}

// hasCurve reports whether a metric has a curve of any variant.
func (v view) hasCurve(metric string) bool {
	return slices.ContainsFunc(v.Curves, func(c lab.Curve) bool { return c.Metric == metric })
}

// limits returns the limits that an objective such as "p99<100ms,errors<0.1%" sets to
// percentiles, in seconds by name: {"p99": 0.1}. The names have no dots: 99.9 is "p999".
func limits(objective string) map[string]float64 {
	found := map[string]float64{}
	for term := range strings.SplitSeq(objective, ",") {
		m := limitTerm.FindStringSubmatch(term)
		if m == nil {
			continue
		}
		if limit, err := time.ParseDuration(m[2]); err == nil && limit > 0 {
			found[strings.ReplaceAll(m[1], ".", "")] = limit.Seconds()
		}
	}
	return found
}

// limitTerm matches a condition on a percentile of the response time.
var limitTerm = regexp.MustCompile(`^\s*(p[0-9.]+)\s*<=?\s*(\S+)\s*$`)

// limit returns the limit that the objective sets to a metric, 0 for none. Its percentiles are of response
// times.
func (v view) limit(m lab.Metric) float64 {
	if m.Quantity != lab.ResponseTime {
		return 0
	}
	return limits(v.Objective)[figure.Percentile(m.Quantile)]
}
