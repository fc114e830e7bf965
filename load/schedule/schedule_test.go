package schedule

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// must returns a function that takes a schedule with its error, which must be nil.
func must(t testing.TB) func(s Schedule, err error) Schedule {
	return func(s Schedule, err error) Schedule {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// all returns the remaining due times.
func all(a Arrivals) []time.Duration {
	var times []time.Duration
	for {
		due, ok := a.Next()
		if !ok {
			return times
		}
		times = append(times, due)
	}
}

// count returns the number of arrivals in [from, to).
func count(s Schedule, from, to time.Duration) (n int64) {
	for _, due := range all(s.Arrivals()) {
		if due >= from && due < to {
			n++
		}
	}
	return n
}

func TestDueTimes(t *testing.T) {
	must := must(t)
	cases := []struct {
		name string
		s    Schedule
		want []time.Duration
	}{
		{"constant", must(Constant(4, time.Second)), []time.Duration{0, 250 * ms, 500 * ms, 750 * ms}},
		{"constant, end between two", must(Constant(4, 600*ms)), []time.Duration{0, 250 * ms, 500 * ms}},
		{"constant, fewer than one a second", must(Constant(0.5, 5*time.Second)),
			[]time.Duration{0, 2000 * ms, 4000 * ms}},
		// n = t^2/2 operations by t when the rate climbs 0..2 per second in 2 s
		{"ramp from zero", must(Ramp(0, 2, 2*time.Second)), []time.Duration{0, 1414213562}},
		// n = 2t - t^2/2
		{"ramp to zero", must(Ramp(2, 0, 2*time.Second)), []time.Duration{0, 585786438}},
		{"steps run on", must(Steps([]Step{{1, 1500 * ms}, {10, 300 * ms}})),
			// half an operation is left at the change: the next is due half of 100 ms later
			[]time.Duration{0, 1000 * ms, 1550 * ms, 1650 * ms, 1750 * ms}},
		{"steps with a pause", must(Steps([]Step{{2, time.Second}, {0, time.Second}, {2, time.Second}})),
			[]time.Duration{0, 500 * ms, 2000 * ms, 2500 * ms}},
		{"replay", must(Replay([]time.Duration{3 * ms, 3 * ms, 8 * ms})), []time.Duration{3 * ms, 3 * ms, 8 * ms}},
		{"nothing", Schedule{}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := all(c.s.Arrivals())
			if !slices.Equal(got, c.want) {
				t.Errorf("due at %v, want %v", got, c.want)
			}
			if again := all(c.s.Arrivals()); !slices.Equal(again, got) {
				t.Errorf("a second walk is due at %v, the first at %v", again, got)
			}
			if n := count(c.s, 0, c.s.duration); n != int64(len(c.want)) {
				t.Errorf("%d arrivals in the whole schedule, want %d", n, len(c.want))
			}
			if n := c.s.before(c.s.duration); math.Abs(n-float64(len(got))) > 1 {
				t.Errorf("%g are expected for %d arrivals", n, len(got))
			}
		})
	}
}

// TestNoDrift looks at 10^8 arrivals at a rate whose interval is no whole number
// of nanoseconds and that no float holds exactly: at each of the first and the
// last thousand, and at every thousandth between them.
func TestNoDrift(t *testing.T) {
	const n = 100_000_000
	s := must(t)(Constant(70_000.0/3, 2*time.Hour))
	w := s.Arrivals().(*walk)
	for i := int64(0); i < n; i++ {
		due, ok := w.Next()
		// Arrival i is due at i*3/70000 s = i*300000/7 ns, rounded.
		if want := time.Duration((i*300_000*2 + 7) / 14); !ok || due != want {
			t.Fatalf("arrival %d is due at %d ns, %v, want %d", i, due, ok, want)
		}
		if i >= 1000 && i < n-1000 {
			i += 999
			w.i = i + 1 // as if those between had been taken
		}
	}
}

// TestAPauseBeginsAtOnce: rounding may look for an arrival in a pause.
func TestAPauseBeginsAtOnce(t *testing.T) {
	if at := (phase{duration: time.Second}).at(0); at != 0 {
		t.Errorf("at %g s, want 0", at)
	}
}

// TestTheEndIsExclusive has a product that floats make a little more than 55.
func TestTheEndIsExclusive(t *testing.T) {
	s := must(t)(Constant(1.1, 50*time.Second))
	if got := count(s, 0, time.Hour); got != 55 {
		t.Errorf("%d arrivals in 50 s at 1.1/s, want 55", got)
	}
}

func TestSumIsCompensated(t *testing.T) {
	var s sum
	for range 1_000_000 {
		s.add(0.1)
	}
	if got := s.value(); math.Abs(got-100_000) > 1e-10 {
		t.Errorf("a million tenths are %.12f", got)
	}
	var large sum
	for _, x := range []float64{1, 1e100, 1, -1e100} {
		large.add(x)
	}
	if large.value() != 2 {
		t.Errorf("1 + 1e100 + 1 - 1e100 = %g, want 2", large.value())
	}
}

// TestNoDriftAcrossPhases changes the rate ten thousand times.
func TestNoDriftAcrossPhases(t *testing.T) {
	steps := make([]Step, 10_000)
	for i := range steps {
		steps[i] = Step{Rate: 100.0/3 + float64(i%2)*200/3, Duration: 300 * ms}
	}
	s := must(t)(Steps(steps))
	const want = 10_000 / 2 * (10 + 30) // operations: 10 and 30 in turns
	if got := count(s, 0, s.duration); got != want {
		t.Errorf("%d arrivals, want %d", got, want)
	}
	if got := s.before(s.duration); math.Abs(got-want) > 1e-6 {
		t.Errorf("offered %v, want %v", got, want)
	}
}

func TestPoissonIsPoisson(t *testing.T) {
	const rate, n = 1000.0, 200_000
	s := must(t)(Constant(rate, n*time.Second/1000)).Random(1)
	times := all(s.Arrivals())
	if !slices.IsSorted(times) {
		t.Fatal("due times decrease")
	}
	// Mean and variance of the number are n: six deviations either way.
	if d := float64(len(times)-n) / math.Sqrt(n); math.Abs(d) > 6 {
		t.Errorf("%d arrivals, want about %d", len(times), n)
	}
	var gaps []float64
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, (times[i]-times[i-1]).Seconds()*rate)
	}
	slices.Sort(gaps)
	// Kolmogorov's distance to the exponential distribution: 2.0/sqrt(n) has
	// p < 0.001 (the seed is fixed, so the outcome is).
	var distance float64
	for i, g := range gaps {
		distance = max(distance, math.Abs(-math.Expm1(-g)-float64(i)/float64(len(gaps))))
	}
	if limit := 2 / math.Sqrt(float64(len(gaps))); distance > limit {
		t.Errorf("distance from exponential gaps = %.5f, want at most %.5f", distance, limit)
	}
}

func TestRandomKeepsTheRates(t *testing.T) {
	s := must(t)(Ramp(0, 2000, 100*time.Second)).Random(7)
	if again := s.Random(7); !slices.Equal(all(again.Arrivals()), all(s.Arrivals())) {
		t.Error("equal seeds give different arrivals")
	}
	if other := s.Random(8); slices.Equal(all(other.Arrivals()), all(s.Arrivals())) {
		t.Error("different seeds give equal arrivals")
	}
	for from := time.Duration(0); from < 100*time.Second; from += 25 * time.Second {
		to := from + 25*time.Second
		got := float64(count(s, from, to))
		want := s.before(to) - s.before(from)
		if math.Abs(got-want) > 6*math.Sqrt(want) {
			t.Errorf("%v..%v: %g arrivals, want about %g", from, to, got, want)
		}
	}
}

func TestExpectedArrivals(t *testing.T) {
	must := must(t)
	ramp := must(Ramp(100, 300, 10*time.Second))
	recorded := must(Replay([]time.Duration{0, time.Second, time.Second, 2 * time.Second}))
	cases := []struct {
		name     string
		s        Schedule
		from, to time.Duration
		want     float64
	}{
		{"all", ramp, 0, 10 * time.Second, 2000},
		{"first half", ramp, 0, 5 * time.Second, 750},
		{"second half", ramp, 5 * time.Second, 10 * time.Second, 1250},
		{"outside", ramp, -time.Second, time.Hour, 2000},
		{"after", ramp, 11 * time.Second, time.Hour, 0},
		{"recorded", recorded, time.Second, 2 * time.Second, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.s.before(c.to) - c.s.before(c.from); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("offered %v, want %v", got, c.want)
			}
		})
	}
	if got := ramp.OfferedRate(5 * time.Second); math.Abs(got-150) > 1e-9 {
		t.Errorf("rate of the first half = %v per second, want 150", got)
	}
}

func TestSharesAreTheWhole(t *testing.T) {
	s := must(t)(Constant(1000, time.Second)).Random(3)
	var together []time.Duration
	for i := range 3 {
		together = append(together, all(Share(s.Arrivals(), i, 3))...)
	}
	slices.Sort(together)
	if want := all(s.Arrivals()); !slices.Equal(together, want) {
		t.Errorf("%d arrivals in shares, want the %d of the whole", len(together), len(want))
	}
	if got := all(Share(must(t)(Constant(4, time.Second)).Arrivals(), 1, 2)); !slices.Equal(got,
		[]time.Duration{250 * ms, 750 * ms}) {
		t.Errorf("the second of two shares is due at %v, want every second arrival", got)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	cases := []struct {
		name string
		make func() (Schedule, error)
		want []string
	}{
		{"no rate", func() (Schedule, error) { return Constant(0, time.Second) },
			[]string{"no operation is ever due"}},
		{"negative rate", func() (Schedule, error) { return Constant(-1, time.Second) },
			[]string{"-1 operations per second"}},
		{"not a number", func() (Schedule, error) { return Constant(math.NaN(), time.Second) }, []string{"NaN"}},
		{"infinite", func() (Schedule, error) { return Ramp(1, math.Inf(1), time.Second) }, []string{"+Inf"}},
		{"too fast", func() (Schedule, error) { return Constant(2e9, time.Second) }, []string{"at most 1e+09"}},
		{"no time", func() (Schedule, error) { return Constant(1, 0) }, []string{"duration 0s"}},
		{"all mistakes", func() (Schedule, error) { return Steps([]Step{{-1, 0}, {1, 1}, {1, -1}}) },
			[]string{"part 1 of 3", "-1 operations", "duration 0s", "part 3 of 3", "duration -1ns"}},
		{"no steps", func() (Schedule, error) { return Steps(nil) }, []string{"no operation is ever due"}},
		{"too long", func() (Schedule, error) { return Steps([]Step{{1, math.MaxInt64}, {1, 1}}) },
			[]string{"longer than"}},
		{"nothing to replay", func() (Schedule, error) { return Replay(nil) }, []string{"no recorded arrivals"}},
		{"replay backwards", func() (Schedule, error) { return Replay([]time.Duration{2, 1}) },
			[]string{"arrival 2 is due at 1ns, before 2ns"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.make()
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestParseRate(t *testing.T) {
	cases := []struct {
		text string
		want float64
		err  string
	}{
		{"5000", 5000, ""}, {"5000/s", 5000, ""}, {"300/m", 5, ""}, {"300/min", 5, ""}, {"1800/h", 0.5, ""},
		{" 0.5 / s ", 0.5, ""}, {"1e4", 1e4, ""},
		{"", 0, "is not a number"}, {"fast", 0, "is not a number"}, {"5000/d", 0, `unknown unit "d"`},
		{"5/", 0, "unknown unit"},
		{"0", 0, "out of range"}, {"-1/m", 0, "out of range"}, {"NaN", 0, "out of range"},
		{"inf", 0, "out of range"}, {"1e10/s", 0, "at most"},
	}
	for _, c := range cases {
		got, err := ParseRate(c.text)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("ParseRate(%q) = %v, %v, want %v", c.text, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("ParseRate(%q): error %v, want one that says %q", c.text, err, c.err)
		}
	}
}

func FuzzSteps(f *testing.F) {
	f.Add(1.0, 2.0, int64(time.Second), int64(time.Second))
	f.Add(0.0, 1e-300, int64(1), int64(math.MaxInt64-1))
	f.Add(333.3, 0.1, int64(1e9+1), int64(3e9))
	f.Fuzz(func(t *testing.T, a, b float64, da, db int64) {
		s, err := Steps([]Step{{a, time.Duration(da)}, {b, time.Duration(db)}})
		if err != nil {
			return
		}
		last := time.Duration(0)
		walk := s.Arrivals()
		for range 10_000 {
			due, ok := walk.Next()
			if !ok {
				return
			}
			if due < last || due >= s.duration {
				t.Fatalf("due at %v after %v, of %v", due, last, s.duration)
			}
			last = due
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, random := range []bool{false, true} {
		s := must(b)(Constant(1e6, 10*time.Hour))
		name := "constant"
		if random {
			s = s.Random(1)
			name = "poisson"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			walk := s.Arrivals()
			for b.Loop() {
				walk.Next()
			}
		})
	}
}

// TestJitteredArrivalsKeepTheirIntervals: as many as evenly spaced ones, one in each
// interval, anywhere in it, the same for the same seed.
func TestJitteredArrivalsKeepTheirIntervals(t *testing.T) {
	const n, rate = 10_000, 100.0
	even := must(t)(Constant(rate, n/rate*time.Second))
	walk := even.Jittered(1).Arrivals()
	again := even.Jittered(1).Arrivals()
	other := even.Jittered(2).Arrivals()
	var sum, squares, same float64
	for i := range n {
		due, ok := walk.Next()
		twin, _ := again.Next()
		stranger, _ := other.Next()
		phase := due.Seconds()*rate - float64(i)
		if !ok || phase < -1e-6 || phase > 1 || due != twin {
			t.Fatalf("arrival %d is due at %v, and again at %v: ok %v", i, due, twin, ok)
		}
		if due == stranger {
			same++
		}
		sum, squares = sum+phase, squares+phase*phase
	}
	if due, more := walk.Next(); more {
		t.Errorf("one more is due at %v", due)
	}
	// Uniform: mean 1/2, variance 1/12.
	if mean, variance := sum/n, squares/n-sum*sum/n/n; math.Abs(mean-0.5) > 0.01 ||
		math.Abs(variance-1./12) > 0.003 || same > 10 {
		t.Errorf("phases have the mean %.3f and the variance %.4f; %g are those of another seed", mean, variance,
			same)
	}
}
