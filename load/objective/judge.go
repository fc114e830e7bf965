package objective

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// unit is the unit of a metric's limit.
type unit int

const (
	inSeconds unit = iota
	inShares
	inCounts
	inRates
)

// metric is a metric that an objective can limit.
type metric struct {
	name string
	unit unit
	// of returns the value in a summary, or nil if the summary lacks it.
	of func(*record.Summary) *float64
	// missing is the reason why it may be absent.
	missing string
}

// metrics lists all metrics.
func metrics() []metric {
	all := []metric{
		{"errors", inShares, errorShare, "nothing was sent"},
		{"achieved", inShares, achievedShare, "a closed loop offers no rate"},
		{"late", inCounts, func(s *record.Summary) *float64 { return new(float64(s.Late)) }, ""},
		{"unsent", inCounts, func(s *record.Summary) *float64 { return new(float64(s.Unsent)) }, ""},
		{"rate", inRates, func(s *record.Summary) *float64 { return &s.AchievedRate }, ""},
	}
	for _, p := range percentiles() {
		missing := "no operation was measured"
		if p.name == "p99.9" {
			missing = "it needs at least 3000 operations"
		}
		all = append(all,
			metric{p.name, inSeconds, func(s *record.Summary) *float64 { return p.of(s.ResponseTime) }, missing},
			metric{"service." + p.name, inSeconds, func(s *record.Summary) *float64 { return p.of(s.ServiceTime) },
				missing})
	}
	return all
}

// percentile is a percentile, or the mean, of a summary's times.
type percentile struct {
	name string
	rank float64 // as a share; zero: it is the mean
	of   func(record.Percentiles) *float64
}

// percentiles lists the percentiles of a summary.
func percentiles() []percentile {
	return []percentile{
		{"p50", 0.5, func(p record.Percentiles) *float64 { return p.P50 }},
		{"p90", 0.9, func(p record.Percentiles) *float64 { return p.P90 }},
		{"p95", 0.95, func(p record.Percentiles) *float64 { return p.P95 }},
		{"p99", 0.99, func(p record.Percentiles) *float64 { return p.P99 }},
		{"p99.9", 0.999, func(p record.Percentiles) *float64 { return p.P999 }},
		{"max", 1, func(p record.Percentiles) *float64 { return p.Max }},
		{"mean", 0, func(p record.Percentiles) *float64 { return p.Mean }},
	}
}

// find returns the metric of a name. p999 is another name of p99.9, as in documents.
func find(name string) (metric, bool) {
	if strings.HasSuffix(name, "p999") {
		name = strings.TrimSuffix(name, "p999") + "p99.9"
	}
	for _, m := range metrics() {
		if m.name == name {
			return m, true
		}
	}
	return metric{}, false
}

// metricNames lists the metrics for an error message.
func metricNames() []string {
	var all []string
	for _, m := range metrics() {
		if !strings.HasPrefix(m.name, "service.") {
			all = append(all, m.name)
		}
	}
	return append(all, "service.p99 ...")
}

// errorShare returns the share of sent operations that failed in any way.
func errorShare(s *record.Summary) *float64 {
	if s.Sent == 0 {
		return nil
	}
	var n int64
	for _, count := range s.Errors {
		n += count
	}
	return new(float64(n) / float64(s.Sent))
}

// achievedShare returns the achieved rate divided by the offered rate.
func achievedShare(s *record.Summary) *float64 {
	if s.OfferedRate == nil || *s.OfferedRate == 0 {
		return nil
	}
	return new(s.AchievedRate / *s.OfferedRate)
}

// WithDefaults adds errors<=0.1%, achieved>=99% and unsent<=0, each unless the objective has a condition
// on that metric. Without them, a rate at which operations fail quickly or are not sent could be a
// capacity.
func (o Objective) WithDefaults() Objective {
	full := Objective{slices.Clone(o.Terms)}
	for _, t := range MustParse("errors<=0.1%,achieved>=99%,unsent<=0").Terms {
		if !slices.ContainsFunc(o.Terms, func(own Term) bool { return own.Metric == t.Metric }) {
			full.Terms = append(full.Terms, t)
		}
	}
	return full
}

// Judge reports whether a summary meets all conditions. The reasons name the missed conditions with the
// measured values. A condition on a metric that the summary lacks is missed, because it cannot be
// checked.
func (o Objective) Judge(s *record.Summary) (pass bool, reasons []string) {
	for _, t := range o.Terms {
		if reason := t.missed(s); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return len(reasons) == 0, reasons
}

// upperTimes yields the metrics of times that the objective limits from above, with their limits in seconds.
func (o Objective) upperTimes(yield func(metric, float64) bool) {
	for _, t := range o.Terms {
		m, known := find(t.Metric)
		isTime := known && m.unit == inSeconds
		if isTime && t.isUpper() && !yield(m, t.Limit) {
			return
		}
	}
}

// LongestTime returns the highest upper limit that the objective has for a time, or fallback if there is
// none.
func (o Objective) LongestTime(fallback time.Duration) time.Duration {
	longest := 0.0
	for _, limit := range o.upperTimes {
		longest = max(longest, limit)
	}
	if longest == 0 {
		return fallback
	}
	return time.Duration(longest * float64(time.Second))
}

// TightestTime returns the lowest upper limit of the objective's times, or most if that is lower.
func (o Objective) TightestTime(most time.Duration) time.Duration {
	tightest := most
	for _, limit := range o.upperTimes {
		tightest = min(tightest, time.Duration(limit*float64(time.Second)))
	}
	return tightest
}

// SlowWithout reports whether the objective's limits of times would be missed even if every operation had
// ended earlier by delay, in seconds.
func (o Objective) SlowWithout(s *record.Summary, delay float64) bool {
	for m, limit := range o.upperTimes {
		if got := m.of(s); got != nil && *got-delay > limit {
			return true
		}
	}
	return false
}

// missed returns the reason why a summary misses the condition, or "".
func (t Term) missed(s *record.Summary) string {
	m, known := find(t.Metric)
	if !known {
		return fmt.Sprintf("%s is no metric", t.Metric)
	}
	got := m.of(s)
	if got == nil {
		return fmt.Sprintf("%s cannot be checked: %s", t, m.missing)
	}
	value := *got
	if t.Share && m.unit == inCounts {
		value /= max(1, float64(s.Sent+s.Unsent))
	}
	if t.holds(value) {
		return ""
	}
	return fmt.Sprintf("%s is %s, objective %s", t.Metric, m.show(value, t.Share), t)
}

// isUpper reports whether the limit is one from above.
func (t Term) isUpper() bool { return t.Op == "<" || t.Op == "<=" }

// holds compares a value with the limit of the condition.
func (t Term) holds(value float64) bool {
	switch t.Op {
	case "<":
		return value < t.Limit
	case "<=":
		return value <= t.Limit
	case ">":
		return value > t.Limit
	case ">=":
		return value >= t.Limit
	}
	return false
}

// show formats a value with its unit.
func (m metric) show(value float64, share bool) string {
	switch {
	case m.unit == inSeconds && value < 1:
		return fmt.Sprintf("%.4gms", 1e3*value)
	case m.unit == inSeconds:
		return fmt.Sprintf("%.4gs", value)
	case m.unit == inShares || share:
		return fmt.Sprintf("%.4g%%", 100*value)
	case m.unit == inRates:
		return fmt.Sprintf("%.6g/s", value)
	}
	return fmt.Sprintf("%.0f", value)
}
