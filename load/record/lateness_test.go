package record

import (
	"slices"
	"testing"
	"time"
)

// TestLatenessIsJudgedByWhatItMoves: the same late sends are harmless if response times are long or if
// they are few, and matter if response times are short.
func TestLatenessIsJudgedByWhatItMoves(t *testing.T) {
	us := time.Microsecond
	repeated := func(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }
	for _, c := range []struct {
		name    string
		n       int
		service time.Duration // of the fastest; they spread over a tenth of it
		late    []time.Duration
		matters bool
	}{
		{"none", 150, 6 * ms, nil, false},
		{"two of 150 by 1.0 and 2.4 ms", 150, 6 * ms, []time.Duration{1000 * us, 2400 * us}, false},
		{"as many that matter", 150, 6 * ms, []time.Duration{10 * ms, 24 * ms}, true},
		{"beside short times", 150, 600 * us, []time.Duration{1000 * us, 2400 * us}, true},
		{"one by far too much", 150, 6 * ms, []time.Duration{500 * ms}, true},
		{"a tenth of all", 150, 6 * ms, repeated(15, 2*ms), true},
		{"a tenth of all beside long times", 150, 100 * ms, repeated(15, 2*ms), false},
		{"all, a little", 150, 6 * ms, repeated(150, 100*us), false},
		{"all", 150, 6 * ms, repeated(150, 1000*us), true},
		{"one percent of many", 10_000, 6 * ms, repeated(150, 2400*us), true},
		{"few of many", 10_000, 6 * ms, repeated(15, 2400*us), false},
		{"half of all", 10_000, 6 * ms, repeated(5000, 1500*us), true},
	} {
		r := NewResults(twoOperations())
		for i := range c.n {
			due := time.Duration(i) * 20 * ms
			sent := due
			if i*len(c.late)/c.n != (i+1)*len(c.late)/c.n { // spread evenly
				sent += c.late[i*len(c.late)/c.n]
			}
			r.Add(&Sample{Intended: due, Sent: sent,
				Finished: sent + c.service + c.service/10*time.Duration(i*7%100)/100})
		}
		if got := r.MovedByLateness(); (got != nil) != c.matters {
			t.Errorf("%s: %v, want it to matter: %t", c.name, got, c.matters)
		}
	}
}

// TestEveryFigureIsJudgedByItself: two of 150 operations of 6 ms that are sent 10 and 24 ms late move the
// tail and leave the median alone.
func TestEveryFigureIsJudgedByItself(t *testing.T) {
	r := NewResults(twoOperations())
	for i := range 150 {
		due := time.Duration(i) * 20 * ms
		sent := due + map[int]time.Duration{40: 10 * ms, 110: 24 * ms}[i]
		r.Add(&Sample{Intended: due, Sent: sent, Finished: sent + 6*ms + time.Duration(i)*3*time.Microsecond})
	}
	var moved []float64
	for _, m := range r.MovedByLateness() {
		moved = append(moved, m.Quantile)
		if !(m.By > m.Limit && m.Limit > 0 && m.By < 0.025) {
			t.Errorf("%v: off by %g of %g s", m, m.By, m.Limit)
		}
	}
	if !slices.Equal(moved, []float64{0.99, 0.999, 1}) {
		t.Errorf("moved are %v, want the 99th percentile and above", moved)
	}
}
