package search

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
)

// upTo passes at rates up to a limit.
func upTo(limit float64) Prober {
	return func(_ context.Context, rate float64) (record.Probe, error) {
		return record.Probe{Achieved: rate, Pass: rate <= limit}, nil
	}
}

// except changes the outcome of the numbered probes, from 1.
func except(probe Prober, numbers ...int) Prober {
	n := 0
	return func(ctx context.Context, rate float64) (record.Probe, error) {
		p, err := probe(ctx, rate)
		n++
		if slices.Contains(numbers, n) {
			p.Pass = !p.Pass
		}
		return p, err
	}
}

// none means no rate.
const none = 0

// within passes at rates that are in one of the spans. A span excludes its lower end and includes its
// upper one.
func within(spans ...[2]float64) Prober {
	return func(_ context.Context, rate float64) (record.Probe, error) {
		for _, s := range spans {
			if rate > s[0] && rate <= s[1] {
				return record.Probe{Pass: true}, nil
			}
		}
		return record.Probe{}, nil
	}
}

// thirdFails passes up to 1000/s, but not for the third time at 0.95 of that.
func thirdFails() Prober {
	n := 0
	return func(_ context.Context, rate float64) (record.Probe, error) {
		if rate > 940 && rate < 955 {
			n++
		}
		return record.Probe{Pass: rate <= 1000 && n != 3}, nil
	}
}

// tossed passes every other time, whatever the rate.
func tossed() Prober {
	n := 0
	return func(context.Context, float64) (record.Probe, error) {
		n++
		return record.Probe{Pass: n%2 == 0}, nil
	}
}

func TestRun(t *testing.T) {
	cases := []struct {
		name     string
		o        Options
		probe    Prober
		from, to float64 // the capacity is in [from, to]
		monotone bool
		reason   string
	}{
		{"from below", Options{Start: 10}, upTo(777), 740, 777, true, ""},
		{"from above", Options{Start: 50_000}, upTo(777), 740, 777, true, ""},
		{"start is it", Options{Start: 100}, upTo(100), 100, 100, true, ""},
		{"small rates", Options{Start: 0.001, Resolution: 1.01}, upTo(0.0321), 0.0317, 0.0321, true, ""},
		{"fine", Options{Start: 100, Resolution: 1.002}, upTo(123_456), 123_200, 123_456, true, ""},
		{"the limit holds", Options{Start: 100, Max: 1000}, upTo(5000), 1000, 1000, true, "at least that"},
		{"capacity just below the limit", Options{Start: 100, Max: 1000}, upTo(990), 940, 990, true, ""},
		{"nothing passes", Options{Start: 100}, within(), none, none, true, "no rate down to 0.1/s"},
		// The 5th probe, at 160/s, fails by accident: found out when it is to become an end.
		{"unlucky while doubling", Options{Start: 10}, except(upTo(777), 5), 740, 777, true, ""},
		// The 8th, at 1280/s, passes by accident.
		{"lucky while doubling", Options{Start: 10}, except(upTo(777), 8), 740, 777, true, ""},
		// The 1st fails by accident and the 2nd, at half, passes.
		{"unlucky at the start", Options{Start: 10}, except(upTo(777), 1), 740, 777, true, ""},
		{"passes again above", Options{Start: 900, Resolution: 1.01},
			within([2]float64{0, 1000}, [2]float64{1085, 1150}), 990, 1000, false, "not monotone"},
		{"fails again below", Options{Start: 990, Resolution: 1.002},
			within([2]float64{0, 900}, [2]float64{980, 1000}), 980, 1000, false,
			"not monotone: 949.6/s passed 0 of 1 times"},
		{"two of three below", Options{Start: 1000}, thirdFails(), 1000, 1000, false,
			"not monotone: 950/s passed 2 of 3 times"},
		{"by chance", Options{Start: 100}, tossed(), none, math.Inf(1), false, ""},
		{"too many probes", Options{Start: 10, Votes: 301}, upTo(777), 640, 777, false,
			"gave up after 100 probes: 10/s 1 of 1, 20/s 1 of 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Run(t.Context(), c.o, c.probe)
			testset.Must(t, err)
			rate := 0.0
			if got.Rate != nil {
				rate = *got.Rate
			}
			if rate < c.from || rate > c.to || got.Monotone != c.monotone || !strings.Contains(got.Reason, c.reason) ||
				c.reason == "" && c.monotone && got.Reason != "" {
				t.Errorf("capacity %g/s, monotone %v, reason %q; want %g..%g, %v, %q; probes %+v", rate, got.Monotone,
					got.Reason, c.from, c.to, c.monotone, c.reason, got.Probes)
			}
			checkBracket(t, c.o, got)
		})
	}
}

// checkBracket compares a capacity with its own probes.
func checkBracket(t *testing.T, o Options, c record.Capacity) {
	t.Helper()
	passed := make(map[float64]int)
	for _, p := range c.Probes {
		if p.Rate < o.Start/1000 || o.Max > 0 && p.Rate > o.Max {
			t.Errorf("a probe at %g/s, outside %g..%g/s", p.Rate, o.Start/1000, o.Max)
		}
		if p.Pass {
			passed[p.Rate]++
		}
	}
	if c.Low != nil && passed[*c.Low] == 0 {
		t.Errorf("%g/s is the capacity and never passed", *c.Low)
	}
	if c.Low != nil && c.High != nil && *c.Low >= *c.High {
		t.Errorf("bracket %g..%g/s", *c.Low, *c.High)
	}
}

// TestNeighbourhoodIsProbedEnough counts the trials that the procedure asks for.
func TestNeighbourhoodIsProbedEnough(t *testing.T) {
	got, err := Run(t.Context(), Options{Start: 100}, upTo(777))
	testset.Must(t, err)
	count := func(from, to float64, pass bool) (n int) {
		for _, p := range got.Probes {
			if p.Rate >= from && p.Rate <= to && p.Pass == pass {
				n++
			}
		}
		return n
	}
	if n := count(0.949**got.Low, 0.951**got.Low, true); n != 3 {
		t.Errorf("%d trials passed at 0.95 of the capacity, want 3", n)
	}
	if n := count(1.099**got.Low, 1.101**got.Low, false); n != 2 {
		t.Errorf("%d trials failed at 1.10 of the capacity, want 2 of 3", n)
	}
	if n := count(*got.Low, *got.Low, true); n < 2 {
		t.Errorf("%d trials decide the capacity, want the median of 3", n)
	}
	if *got.High > 1.05**got.Low {
		t.Errorf("bracket %g..%g/s is wider than 1.05", *got.Low, *got.High)
	}
	if len(got.Probes) > 25 {
		t.Errorf("%d probes", len(got.Probes))
	}
}

func TestErrorsKeepTheProbes(t *testing.T) {
	broken := errors.New("target died")
	n := 0
	got, err := Run(t.Context(), Options{Start: 10},
		func(_ context.Context, rate float64) (record.Probe, error) {
			if n++; n == 4 {
				return record.Probe{}, broken
			}
			return record.Probe{Pass: true}, nil
		})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "probe 4 of the search, at 80 operations") ||
		len(got.Probes) != 3 || *got.Rate != 40 || got.Monotone {
		t.Errorf("error %v, capacity %+v", err, got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	got, err = Run(ctx, Options{Start: 10}, func(_ context.Context, rate float64) (record.Probe, error) {
		cancel()
		return record.Probe{Pass: true}, nil
	})
	if !errors.Is(err, context.Canceled) || len(got.Probes) != 1 {
		t.Errorf("error %v after %d probes", err, len(got.Probes))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{}, {Start: -1}, {Start: math.NaN()}, {Start: 10, Max: 5},
		{Start: 10, Max: math.Inf(1)},
		{Start: 10, Resolution: 1}, {Start: 10, Resolution: 3}, {Start: 10, Resolution: math.NaN()},
		{Start: 10, Votes: -1}, {Start: 10, Votes: 2},
	} {
		if _, err := Run(t.Context(), o, upTo(1)); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestBacklogGrows(t *testing.T) {
	line := func(slope, noise float64) []float64 {
		all := make([]float64, 30)
		for i := range all {
			all[i] = 5 + slope*float64(i) + noise*float64(i*7919%11-5)
		}
		return all
	}
	cases := []struct {
		name    string
		backlog []float64
		every   time.Duration
		slope   float64
		grows   bool
	}{
		{"flat", line(0, 0), time.Second, 0, false},
		{"noise", line(0, 10), time.Second, math.NaN(), false},
		{"one percent", line(10, 0), time.Second, 10, false},
		{"two percent", line(20, 1), time.Second, math.NaN(), true},
		{"two percent, every 100 ms", line(2, 0), 100 * time.Millisecond, 20, true},
		{"more than one percent, but not surely", line(12, 40), time.Second, math.NaN(), false},
		{"shrinks", line(-20, 0), time.Second, -20, false},
		{"two values", []float64{0, 1e6}, time.Second, 0, false},
		{"none", nil, time.Second, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := BacklogGrows(c.backlog, c.every, 1000)
			if got.Grows != c.grows || !math.IsNaN(c.slope) && math.Abs(got.Slope-c.slope) > 1e-9 {
				t.Errorf("%+v, want slope %g, grows %v", got, c.slope, c.grows)
			}
			if !(got.Low <= got.Slope && got.Slope <= got.High) {
				t.Errorf("slope %g outside its interval %g..%g", got.Slope, got.Low, got.High)
			}
		})
	}
}

// TestSlopeInterval repeats a textbook example: the weights in pounds of fifteen women by their heights
// from 58 to 72 inches (McNeil 1977; R's data set "women"). R 4 gives slope 3.45 and the 95 % interval
// 3.253112 to 3.646888, because it assumes independent residuals. They are not independent, so our
// interval is wider.
func TestSlopeInterval(t *testing.T) {
	weights := []float64{115, 117, 120, 123, 126, 129, 132, 135, 139, 142, 146, 150, 154, 159, 164}
	got := BacklogGrows(weights, time.Second, 1)
	if math.Abs(got.Slope-3.45) > 1e-5 || !(got.Low < 3.253112 && got.High > 3.646888) {
		t.Errorf("%+v, want the slope 3.45 and an interval that holds R's", got)
	}
}

// TestSlopeIntervalHoldsTheTruth: of backlogs whose values depend on each other, as in queues and up to
// random walks, at least nine of ten intervals contain the true slope.
func TestSlopeIntervalHoldsTheTruth(t *testing.T) {
	const draws = 2000
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ memory, least float64 }{
		{0, 0.94}, {0.5, 0.92}, {0.9, 0.90}, {0.97, 0.90}, {1, 0.90},
	} {
		held := 0
		for range draws {
			backlog := make([]float64, 100)
			x := 0.0
			for i := range 200 {
				x = c.memory*x + random.NormFloat64()
				if i >= 100 {
					backlog[i-100] = x
				}
			}
			if g := BacklogGrows(backlog, time.Second, 1); g.Low <= 0 && 0 <= g.High {
				held++
			}
		}
		if share := float64(held) / draws; share < c.least || c.memory == 0 && share > 0.97 {
			t.Errorf("memory %g: %.3f of the intervals hold the slope 0, want at least %g", c.memory, share, c.least)
		}
	}
}

// TestOneVoteEndsSoon: with one vote each rate is tried once, and the capacity is the last rate that
// passed.
func TestOneVoteEndsSoon(t *testing.T) {
	o := Options{Start: 100, Resolution: 1.25, Votes: 1}
	c, err := Run(t.Context(), o, upTo(330))
	testset.Must(t, err)
	var rates []float64
	for _, p := range c.Probes {
		rates = append(rates, p.Rate)
	}
	if want := []float64{100, 200, 400, 282.8, 336.3}; !slices.Equal(rates, want) || *c.Rate != 282.8 ||
		c.Monotone {
		t.Errorf("probed %v, capacity %g, monotone %t; want %v and its last that passed", rates, *c.Rate,
			c.Monotone, want)
	}
	for _, votes := range []int{-1, 2} {
		if _, err := Run(t.Context(), Options{Start: 100, Votes: votes}, upTo(330)); err == nil ||
			!strings.Contains(err.Error(), "votes") {
			t.Errorf("%d votes: %v, want them refused", votes, err)
		}
	}
}

// TestAShortTrialIsConfirmed steps down from a rate that does not hold for long.
func TestAShortTrialIsConfirmed(t *testing.T) {
	cases := map[string]struct {
		holds    float64 // the highest rate that a longer trial holds
		from, to float64
		longer   int
		reason   string
	}{
		"holds":           {777, 740, 777, 1, ""},
		"one step down":   {735, 720, 735, 5, "passed, but did not hold in a longer load; 7"},
		"some steps":      {500, 490, 500, 11, "did not hold in a longer load; 4"},
		"nothing is left": {5, none, none, 8, "no longer load held"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Run(t.Context(), Options{Start: 10,
				Confirm: func(_ context.Context, rate float64) (record.Probe, error) {
					return record.Probe{Pass: rate <= c.holds, Confirms: true}, nil
				}}, upTo(777))
			testset.Must(t, err)
			rate, longer := 0.0, 0
			if got.Rate != nil {
				rate = *got.Rate
			}
			for _, p := range got.Probes {
				if p.Confirms {
					longer++
				}
			}
			if rate < c.from || rate > c.to || longer != c.longer || !strings.Contains(got.Reason, c.reason) ||
				got.Monotone != (c.reason == "") {
				t.Errorf("%g/s after %d longer trials, monotone %v, reason %q; want %g..%g after %d, %q",
					rate, longer, got.Monotone, got.Reason, c.from, c.to, c.longer, c.reason)
			}
			if got.Low != nil && got.High != nil && *got.Low >= *got.High {
				t.Errorf("bracket %g..%g/s", *got.Low, *got.High)
			}
		})
	}
}

// TestLoadsIsWhatSearchesPlay: Loads is the average of searches whose capacity lies between half of their
// first rate and twice that rate.
func TestLoadsIsWhatSearchesPlay(t *testing.T) {
	for _, o := range []Options{{}, {Resolution: 1.01}, {Resolution: 1.1, Votes: 1}, {Resolution: 1.3, Votes: 1},
		{Votes: 5}} {
		o.Start = 1000
		const searches = 40
		var played float64
		for i := range searches {
			limit := 500 * math.Pow(4, (float64(i)+0.5)/searches)
			confirmed := o
			playing := func(loads float64) Prober {
				return func(ctx context.Context, rate float64) (record.Probe, error) {
					played += loads
					return upTo(limit)(ctx, rate)
				}
			}
			if o.Votes != 1 {
				confirmed.Short = playing(ShortShare)
				confirmed.Confirm = playing(3)
			}
			_, err := Run(t.Context(), confirmed, playing(1))
			testset.Must(t, err)
		}
		if mean, expected := played/searches, o.Loads(); expected < 0.8*mean || expected > 1.25*mean {
			t.Errorf("%+v: %.1f loads are expected, %.1f were played on the average", o, expected, mean)
		}
	}
}
