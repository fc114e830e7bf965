package record

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

const ms = time.Millisecond

// twoOperations returns a scenario of two operations.
func twoOperations() Options {
	return Options{Operations: []string{"GET /a b,c", "post"}, Window: 10 * time.Second,
		Timeout: 2 * time.Second}
}

// gather records samples with one recorder and returns the total and the
// intervals, as from..to:sent.
func gather(t *testing.T, o Options, end time.Duration, samples ...Sample) (*Results, []string) {
	t.Helper()
	r := NewRecorder(o)
	for _, s := range samples {
		r.Record(s)
	}
	r.Close(end)
	var intervals []string
	total, err := Collect(func(r *Results) error {
		intervals = append(intervals, r.From.String()+".."+r.To.String()+":"+strings.Repeat("x", int(r.Sent(All))))
		return nil
	}, r)
	testset.Must(t, err)
	return total, intervals
}

// near reports whether two values of a histogram agree to three digits.
func near(got, want time.Duration) bool {
	return (got - want).Abs() <= max(want/1000, 128)
}

func TestTimesOfASample(t *testing.T) {
	cases := []struct {
		name                        string
		s                           Sample
		response, service, lateness time.Duration
		late                        int64
	}{
		{"on time", Sample{Intended: 5 * ms, Sent: 5 * ms, Finished: 8 * ms}, 3 * ms, 3 * ms, 0, 0},
		{"slow generator", Sample{Intended: 5 * ms, Sent: 7 * ms, Finished: 8 * ms}, 3 * ms, 1 * ms, 2 * ms, 1},
		{"no connection free", Sample{Intended: 5 * ms, Free: 905 * ms, Sent: 905 * ms, Finished: 908 * ms},
			903 * ms, 3 * ms, 0, 1},
		{"both", Sample{Intended: 5 * ms, Free: 15 * ms, Sent: 19 * ms, Finished: 20 * ms}, 15 * ms, 1 * ms, 4 * ms,
			1},
		{"a little late", Sample{Intended: 5 * ms, Sent: 6 * ms, Finished: 7 * ms}, 2 * ms, 1 * ms, 1 * ms, 0},
		{"timeout counts with its limit", Sample{Outcome: Timeout, Intended: 0, Sent: 1 * ms, Finished: 900 * ms},
			2000 * ms, 2000 * ms, 1 * ms, 0},
		{"timeout after a wait", Sample{Outcome: Timeout, Intended: 0, Free: 500 * ms, Sent: 500 * ms,
			Finished: 2500 * ms}, 2500 * ms, 2000 * ms, 0, 1},
		{"refused is quick", Sample{Outcome: Refused, Intended: 1 * ms, Sent: 1 * ms,
			Finished: 1*ms + 30*time.Microsecond}, 30 * time.Microsecond, 30 * time.Microsecond, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := NewResults(twoOperations())
			r.Add(&c.s)
			for kind, want := range []time.Duration{c.response, c.service, c.lateness} {
				if got := time.Duration(r.Times(Kind(kind), All).Max()); !near(got, want) {
					t.Errorf("kind %d = %v, want %v", kind, got, want)
				}
			}
			if counts := r.Counts(0); counts.Late != c.late || counts.Clamped != 0 {
				t.Errorf("counts = %+v, want %d late", counts, c.late)
			}
			if r.Count(0, c.s.Outcome) != 1 || r.Sent(0) != 1 || r.Sent(1) != 0 || r.Sent(All) != 1 {
				t.Errorf("sent %d and %d", r.Sent(0), r.Sent(1))
			}
		})
	}
}

func TestTimesOutsideAreCounted(t *testing.T) {
	r := NewResults(twoOperations())
	r.Add(&Sample{Intended: 10, Sent: 10, Finished: 5})                   // time went backwards, twice
	r.Add(&Sample{Intended: 0, Sent: time.Hour, Finished: 2 * time.Hour}) // all three too long
	if got := r.Counts(All).Clamped; got != 5 {
		t.Errorf("%d times clamped, want 5", got)
	}
	if h := r.Times(Response, All); h.Min() != 0 || !near(time.Duration(h.Max()), highest) {
		t.Errorf("response from %v to %v", h.Min(), h.Max())
	}
}

func TestAchieved(t *testing.T) {
	r := NewResults(twoOperations())
	r.Add(&Sample{Intended: 9 * time.Second, Sent: 9 * time.Second, Finished: 11 * time.Second})
	r.Add(&Sample{Intended: 9 * time.Second, Sent: 10 * time.Second, Finished: 11 * time.Second})
	r.Add(&Sample{Intended: 9 * time.Second, Sent: 9 * time.Second, Finished: 11 * time.Second, Follows: true})
	if got := r.Counts(0).Achieved; got != 1 || r.Sent(All) != 3 {
		t.Errorf("%d achieved of %d, want the first step sent within 10 s", got, r.Sent(All))
	}
}

func TestIntervals(t *testing.T) {
	at := func(d time.Duration) Sample { return Sample{Intended: d, Sent: d, Finished: d} }
	cases := []struct {
		name    string
		samples []Sample
		end     time.Duration
		want    []string
	}{
		{"nothing", nil, 2 * time.Second, []string{"0s..2s:"}},
		{"one second", []Sample{at(1), at(999 * ms)}, time.Second, []string{"0s..1s:xx"}},
		{"a pause leaves no interval", []Sample{at(1), at(5200 * ms), at(5300 * ms), at(6 * time.Second)},
			6500 * ms,
			[]string{"0s..1s:x", "5s..6s:xx", "6s..6.5s:x"}},
		// Nobody collects: the fourth interval takes all that follows.
		{"behind", []Sample{at(0), at(time.Second), at(2 * time.Second), at(3 * time.Second), at(4 * time.Second),
			at(9 * time.Second)}, 10 * time.Second,
			[]string{"0s..1s:x", "1s..2s:x", "2s..3s:x", "3s..10s:xxx"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			total, got := gather(t, twoOperations(), c.end, c.samples...)
			if !slices.Equal(got, c.want) {
				t.Errorf("intervals %q, want %q", got, c.want)
			}
			if total.Sent(All) != int64(len(c.samples)) || total.From != 0 || total.To != c.end {
				t.Errorf("%d samples in %v..%v, want %d up to %v", total.Sent(All), total.From, total.To, len(c.samples),
					c.end)
			}
		})
	}
}

// TestCollectLosesNothing of a loop that records at the same time.
func TestCollectLosesNothing(t *testing.T) {
	const n = 4_000
	r := NewRecorder(twoOperations())
	go func() {
		for i := range n {
			at := time.Duration(i) * ms
			r.Tick(at)
			r.Record(Sample{Operation: i % 2, Outcome: Outcome(i % 3), Intended: at, Sent: at, Finished: at + ms})
		}
		r.Unsent(1, 7)
		r.Close(n * ms)
	}()
	var seen int64
	total, err := Collect(func(r *Results) error { seen += r.Sent(All); return nil }, r)
	testset.Must(t, err)
	if total.Sent(All) != n || seen != n || total.Counts(1).Unsent != 7 ||
		total.Times(Response, All).TotalCount() != n {
		t.Errorf("total %d, intervals %d, unsent %d; want %d, %d, 7", total.Sent(All), seen,
			total.Counts(1).Unsent, n, n)
	}
}

// TestTickPassesOn: it ends a second whose last operation ended long before.
func TestTickPassesOn(t *testing.T) {
	r := NewRecorder(twoOperations())
	r.Record(Sample{Finished: 500 * ms})
	r.Tick(999 * ms)
	if len(r.full) != 0 {
		t.Error("a second was passed on before its end")
	}
	r.Tick(time.Second)
	if len(r.full) != 1 {
		t.Fatalf("%d seconds passed on, want 1", len(r.full))
	}
	if first := <-r.full; first.Sent(All) != 1 || first.From != 0 || first.To != time.Second {
		t.Errorf("%d samples in %v..%v", first.Sent(All), first.From, first.To)
	}
}

func TestResetLeavesNothing(t *testing.T) {
	r := NewResults(twoOperations())
	r.From = time.Second
	r.To = 2 * time.Second
	r.Add(&Sample{Operation: 1, Outcome: Reset, Sent: time.Second, Finished: time.Hour})
	r.Unsent(0, 1)
	r.reset()
	if r.From != 0 || r.To != 0 || r.Sent(All) != 0 || r.Counts(All) != (Counts{}) {
		t.Errorf("after reset %v..%v, %d sent, %+v", r.From, r.To, r.Sent(All), r.Counts(All))
	}
	for _, kind := range []Kind{Response, Service, Lateness} {
		if n := r.Times(kind, All).TotalCount(); n != 0 {
			t.Errorf("kind %d has %d times", kind, n)
		}
	}
}

func TestMergeWidensTheInterval(t *testing.T) {
	total := NewResults(twoOperations())
	for _, second := range []time.Duration{6, 4, 9} {
		r := NewResults(twoOperations())
		r.From = second * time.Second
		r.To = (second + 1) * time.Second
		testset.Must(t, total.Merge(r))
	}
	if total.From != 4*time.Second || total.To != 10*time.Second {
		t.Errorf("%v..%v, want 4s..10s", total.From, total.To)
	}
}

func TestCollectGoesOnAfterAnError(t *testing.T) {
	full := errors.New("disk full")
	r := NewRecorder(twoOperations())
	r.Record(Sample{Finished: 1})
	r.Record(Sample{Finished: time.Second})
	r.Close(2 * time.Second)
	total, err := Collect(func(*Results) error { return full }, r)
	if !errors.Is(err, full) || total.Sent(All) != 2 {
		t.Errorf("total of %d, error %v; want 2 and %v", total.Sent(All), err, full)
	}
}

func TestMergeIsAdding(t *testing.T) {
	a := NewResults(twoOperations())
	b := NewResults(twoOperations())
	both := NewResults(twoOperations())
	for i := range 5000 {
		s := Sample{Operation: i % 2, Outcome: Outcome(i % 3), Intended: time.Duration(i) * ms,
			Sent: time.Duration(i+i%4) * ms, Finished: time.Duration(2*i+5) * ms}
		[]*Results{a, b}[i/3%2].Add(&s)
		both.Add(&s)
	}
	sum := NewResults(twoOperations())
	for _, r := range []*Results{a, b} {
		testset.Must(t, sum.Merge(r))
	}
	for _, kind := range []Kind{Response, Service, Lateness} {
		for operation := All; operation < 2; operation++ {
			if got, want := sum.Times(kind, operation), both.Times(kind, operation); !got.Equals(want) {
				t.Errorf("kind %d of operation %d: %d times of p50 %d, want %d of %d", kind, operation,
					got.TotalCount(), got.ValueAtPercentile(50), want.TotalCount(), want.ValueAtPercentile(50))
			}
		}
	}
	if sum.Counts(All) != both.Counts(All) {
		t.Errorf("counts %+v, want %+v", sum.Counts(All), both.Counts(All))
	}
	other := NewResults(Options{Operations: []string{"other"}})
	if err := sum.Merge(other); err == nil || !strings.Contains(err.Error(), "one scenario") {
		t.Errorf("merging another scenario: %v", err)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	r := NewResults(twoOperations())
	s := Sample{Finished: ms}
	r.Add(&s)
	if n := testing.AllocsPerRun(100, func() { r.Add(&s) }); n != 0 {
		t.Errorf("%g allocations for one sample", n)
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, o := range Outcomes() {
		back, err := parseOutcome(o.String())
		if err != nil || back != o || seen[o.String()] {
			t.Errorf("outcome %d is called %q, which is %v, %v", o, o, back, err)
		}
		seen[o.String()] = true
	}
	if _, err := parseOutcome("fine"); err == nil {
		t.Error("an unknown name is an outcome")
	}
	if OK.IsError() || Unfinished.IsError() || !Failed.IsError() {
		t.Error("only failures are errors")
	}
}

func BenchmarkRecord(b *testing.B) {
	r := NewRecorder(Options{Operations: []string{"get"}})
	done := make(chan error)
	go func() { _, err := Collect(nil, r); done <- err }()
	b.ReportAllocs()
	at := time.Duration(0)
	for b.Loop() {
		at += 100 * time.Microsecond // 10,000 per second: a turn every 10,000 samples
		r.Record(Sample{Intended: at, Sent: at + 2000, Finished: at + 90_000 + at%65_536})
	}
	r.Close(at)
	testset.Must(b, <-done)
}
