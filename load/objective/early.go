package objective

import (
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/cleave-lab/cleave/load/record"
)

// Lost returns the conditions that can no longer be met: more operations than a percentile may leave
// above it are above the limit, or more have failed than a share of all operations permits.
//
//	r        all results so far
//	planned  highest number of operations until the end; zero: unknown, as in a
//	         closed loop, where only counts and maxima can be lost
func (o Objective) Lost(r *record.Results, planned int64) (reasons []string) {
	for _, t := range o.Terms {
		if !t.isUpper() {
			continue // a value that is too low can still rise
		}
		if reason := t.lost(r, planned); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// lost is Lost for one condition. It returns the reason, or "" if the condition can still be met.
func (t Term) lost(r *record.Results, planned int64) string {
	var n int64 // operations that miss the condition
	share := t.Limit
	switch t.Metric {
	case "errors":
		n = r.Errors()
	case "late", "unsent":
		n = r.Counts(record.All).Late
		if t.Metric == "unsent" {
			n = r.Counts(record.All).Unsent
		}
		if !t.Share {
			if t.holds(float64(n)) {
				return ""
			}
			return fmt.Sprintf("%d are %s, objective %s", n, t.Metric, t)
		}
	default:
		rank, kind, ok := t.rank()
		if !ok {
			return ""
		}
		n = above(r.Times(kind, record.All), t.Limit)
		share = 1 - rank
	}
	if planned == 0 && share > 0 {
		return ""
	}
	if permitted := share*float64(planned) + 1; float64(n) <= permitted { // + 1, because ranks are rounded
		return ""
	}
	if share == 0 {
		return fmt.Sprintf("%d operations miss %s", n, t)
	}
	return fmt.Sprintf("%d operations miss %s, of at most %d", n, t, planned)
}

// rank returns the percentile of a condition, as a share, and the kind of its times; ok is false for a
// condition that is not about a percentile.
func (t Term) rank() (rank float64, kind record.Kind, ok bool) {
	name, service := strings.CutPrefix(t.Metric, "service.")
	if service {
		kind = record.Service
	}
	for _, p := range percentiles() {
		if p.name == name {
			return p.rank, kind, p.rank > 0
		}
	}
	return 0, 0, false
}

// above returns the number of values above a limit in seconds, with the three digits of the histogram.
func above(h *hdrhistogram.Histogram, limit float64) (n int64) {
	for _, bar := range h.Distribution() {
		if float64(bar.From) > limit*1e9 {
			n += bar.Count
		}
	}
	return n
}

// Breached returns the conditions on times, errors and late sends that a part of a load, such as a
// second, misses. It ignores conditions that are known only at the end, and metrics that the part is too
// short for.
func (o Objective) Breached(s *record.Summary) (reasons []string) {
	for _, t := range o.Terms {
		switch t.Metric {
		case "achieved", "unsent", "rate":
			continue
		}
		if m, known := find(t.Metric); !known || m.of(s) == nil {
			continue
		}
		if reason := t.missed(s); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}
