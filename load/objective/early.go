package objective

import (
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/cleave-lab/cleave/load/record"
)

// Lost says which conditions cannot be met any more, whatever is still to come:
// more operations than a percentile may leave above it are above the limit, or
// more have failed than a share of all operations permits.
//
//	r        all that was measured so far
//	planned  operations that will have been sent in the end, at most; zero when
//	         that is not known, as in a closed loop: then only counts and maxima
//	         can be lost
func (o Objective) Lost(r *record.Results, planned int64) (reasons []string) {
	for _, t := range o.Terms {
		if t.Op != "<" && t.Op != "<=" {
			continue // what is too low can still rise
		}
		if reason := t.lost(r, planned); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// lost is Lost for one condition.
func (t Term) lost(r *record.Results, planned int64) string {
	var n int64 // operations that speak against it
	share := t.Limit
	switch t.Metric {
	case "errors":
		n = r.Errors(record.All)
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
		rank, kind, is := t.rank()
		if !is {
			return ""
		}
		n, share = above(r.Times(kind, record.All), t.Limit), 1-rank
	}
	// One more than the share: ranks are rounded.
	if planned == 0 && share > 0 || float64(n) <= share*float64(planned)+1 {
		return ""
	}
	if share == 0 {
		return fmt.Sprintf("%d operations speak against %s", n, t)
	}
	return fmt.Sprintf("%d operations speak against %s, of at most %d", n, t, planned)
}

// rank returns the percentile that a condition is on, as a share, with its kind of
// times.
func (t Term) rank() (rank float64, kind record.Kind, is bool) {
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

// above counts the values above a limit in seconds, as far as the histogram's
// three digits tell them apart.
func above(h *hdrhistogram.Histogram, limit float64) (n int64) {
	for _, bar := range h.Distribution() {
		if float64(bar.From) > limit*1e9 {
			n += bar.Count
		}
	}
	return n
}

// Breached says which conditions a part of a load misses, a second for example:
// those on times, errors and late sends. What is only known in the end does not
// count, nor does what a part is too short for.
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
