//go:build linux

package target

import (
	"math"
	"testing"
	"time"
)

// TestAnswersWaitForThoseBefore: an answer is due one service time after its request came, or after the
// answer before it was due.
func TestAnswersWaitForThoseBefore(t *testing.T) {
	q := newQueue(Service{Mean: 10})
	q.add(3, 1000)
	q.add(1, 995) // read later, came earlier
	q.admit()
	q.add(2, 1100)
	q.admit()
	// Connection, arrival, and when the answer is due.
	want := []waiting{{1, 995, 1005}, {3, 1000, 1015}, {2, 1100, 1110}}
	for i, w := range want {
		if q.line[i] != w {
			t.Errorf("place %d is %+v, want %+v", i, q.line[i], w)
		}
	}
	q.forget(3)
	if len(q.line) != 2 || q.line[1].fd != 2 {
		t.Errorf("line is %+v without connection 3", q.line)
	}
	if due := q.due(); len(due) != 2 || len(q.line) != 0 { // all were due in 1970
		t.Errorf("%d are due and %d wait, want 2 and none", len(due), len(q.line))
	}
}

func TestRandomTimesHaveTheirMean(t *testing.T) {
	const n = 100_000
	q := newQueue(Service{Mean: time.Millisecond, Exponential: true, Seed: 1})
	for range n {
		q.add(1, 0)
	}
	q.admit()
	if mean := float64(q.free) / n / 1e6; math.Abs(mean-1) > 0.02 {
		t.Errorf("%d services take %g ms each, want 1", n, mean)
	}
	other := newQueue(Service{Mean: time.Millisecond, Exponential: true, Seed: 2})
	other.add(1, 0)
	other.admit()
	if other.free == q.line[0].ready {
		t.Error("another seed gives the same times")
	}
}
