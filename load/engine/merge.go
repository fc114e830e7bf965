package engine

import (
	"cmp"
	"maps"
	"strings"
)

// Merge adds the report of another loop or agent that played a part of the same load.
func (r *Report) Merge(other *Report) {
	if other.Start.Before(r.Start) {
		r.Start = other.Start
	}
	r.Window = max(r.Window, other.Window)
	r.Elapsed = max(r.Elapsed, other.Elapsed)
	r.ThreadCPU += other.ThreadCPU
	r.Unsent += other.Unsent
	r.UnsentBecause = both(r.UnsentBecause, other.UnsentBecause)
	r.Stopped = both(r.Stopped, other.Stopped)
	r.HeldBack += other.HeldBack
	r.Cut += other.Cut
	r.Skipped = sums(r.Skipped, other.Skipped)
	r.Statuses = maps.Clone(r.Statuses) // another report may share it
	if r.Statuses == nil {
		r.Statuses = make(map[int]int64, len(other.Statuses))
	}
	for status, n := range other.Statuses {
		r.Statuses[status] += n
	}
	r.ErrorSamples.Merge(other.ErrorSamples)
	r.Connects += other.Connects
	r.Received += other.Received
	r.Unsolicited += other.Unsolicited
	r.BusyTime += other.BusyTime
	r.PauseTime += other.PauseTime
	r.UserTime += other.UserTime
	// Values at times that only one of the two has reached cannot be added.
	n := min(len(r.Ended), len(other.Ended))
	r.Ended = sums(r.Ended[:n], other.Ended[:n])
	r.Example = cmp.Or(r.Example, other.Example)
}

// both joins two texts, each of which may be empty. It leaves out the second if the first contains it.
func both(a, b string) string {
	if a == "" || strings.Contains(a, b) {
		return cmp.Or(a, b)
	}
	return a + "; " + b
}

// sums adds element by element; missing elements are zero.
func sums(a, b []int64) []int64 {
	all := make([]int64, max(len(a), len(b)))
	copy(all, a)
	for i, n := range b {
		all[i] += n
	}
	return all
}
