package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// quarter is the length of a slice in these tests, in seconds.
const quarter = 0.25

// closedLoop returns the slices of a load of sixteen users; lasts is its duration in seconds. level returns
// the service time at a moment, in seconds; deviation is the noise of a slice.
func closedLoop(random *rand.Rand, deviation, lasts float64, level func(at float64) float64) []lab.Slice {
	const users = 16
	var load []lab.Slice
	for at := 0.0; at < lasts; at += quarter {
		each := level(at) * math.Exp(deviation*random.NormFloat64())
		tail := 3 * each
		load = append(load, lab.Slice{End: at + quarter, OK: int64(math.Round(users * quarter / each)),
			Median: &each, P99: &tail})
	}
	return load
}

// warmUpUntilSteady judges a warm-up after every slice, as a generator does, and returns the first verdict
// that it is steady, or the one at the end of the load.
func warmUpUntilSteady(load []lab.Slice) lab.WarmUp {
	for n := range load {
		if w := WarmedUp(load[:n+1], false); w.Steady {
			return w
		}
	}
	return WarmedUp(load, true)
}

// ramp returns service times as of a just-in-time compiler: they start at a multiple of the final level and
// approach it exponentially; scale is the time constant in seconds.
func ramp(times, scale float64) func(float64) float64 {
	return func(at float64) float64 { return 0.005 * (1 + (times-1)*math.Exp(-at/scale)) }
}

func flat(float64) float64 { return 0.005 }

// swing returns service times that change to a multiple of the level and back; each is the time between two
// changes, in seconds.
func swing(times, each float64) func(float64) float64 {
	return func(at float64) float64 {
		if int(at/each)%2 == 0 {
			return 0.005
		}
		return 0.005 * times
	}
}

// TestAWarmUpEndsWhenTheLoadIsSteady plays each kind of system many times, with little and with much noise.
// It checks how often it is called steady, how soon, and that its level is then within 5 % of the final one.
func TestAWarmUpEndsWhenTheLoadIsSteady(t *testing.T) {
	later := func(at float64) float64 { return 0.005 * (1 + 0.5*math.Min(1, math.Floor(at/2.5))) }
	tests := []struct {
		name           string
		level          func(at float64) float64
		limit          float64
		least, most    float64 // bounds of the share of warm-ups that are called steady
		before, beyond float64 // bounds of the mean time until then, in seconds
		course         string  // of at least half of the warm-ups
	}{
		{"one level", flat, 20, 0.98, 1, 3, 4, string(Flat)},
		{"a compiler for half a second", ramp(3, 0.5), 20, 0.98, 1, 3, 6, string(WarmUp)},
		{"a compiler for seconds", ramp(10, 2), 40, 0.9, 1, 10, 25, string(WarmUp)},
		{"a compiler that is not done", ramp(10, 4), 8, 0, 0.02, 0, 0, string(Unsteady)},
		{"slower soon", later, 20, 0.95, 1, 3, 20, string(Slowdown)},
		{"a swing of seconds", swing(3, 2), 20, 0, 0.05, 0, 0, string(Swinging)},
	}
	const trials = 40
	for _, test := range tests {
		random := rand.New(rand.NewPCG(11, 12))
		steady := 0
		seconds := 0.0
		courses := map[string]int{}
		for trial := range trials {
			load := closedLoop(random, []float64{0.02, 0.05}[trial%2], test.limit, test.level)
			w := warmUpUntilSteady(load)
			courses[w.Course]++
			if !w.Steady {
				if w.Seconds != test.limit || w.Left <= 1 {
					t.Errorf("%s: not steady after %g s, still changing by %g; want %g s", test.name, w.Seconds, w.Left,
						test.limit)
				}
				continue
			}
			steady++
			seconds += w.Seconds
			if off := test.level(w.Seconds)/test.level(test.limit) - 1; math.Abs(off) > 0.05 {
				t.Errorf("%s: called steady after %g s, where it is %.0f %% off", test.name, w.Seconds, 100*off)
			}
		}
		share := float64(steady) / trials
		if share < test.least || share > test.most || 2*courses[test.course] < trials {
			t.Errorf("%s: %.0f %% are called steady, want %g to %g %%; courses %v, most %s", test.name, 100*share,
				100*test.least, 100*test.most, courses, test.course)
		}
		if mean := seconds / float64(max(steady, 1)); mean < test.before || mean > test.beyond {
			t.Errorf("%s: steady after %.1f s, want %g to %g", test.name, mean, test.before, test.beyond)
		}
	}
}

// TestAWarmUpOverlooksSingleSlowSlices: a single slow slice, as of a garbage collection, is no change; two in
// a row may be one.
func TestAWarmUpOverlooksSingleSlowSlices(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	times := noisy(random, 0.02, levels(24, 1)...)
	times[5] = 4
	times[8] = 4
	times[9] = 4
	clean := withoutOutliers(times)
	if clean[5] > 1.1 || clean[8] != 4 || clean[9] != 4 {
		t.Errorf("cleaned: %v", clean)
	}
	if few := withoutOutliers([]float64{1, 9, 1}); few[1] != 9 {
		t.Errorf("of three: %v", few)
	}
}

func TestAWarmUpOfTooFewSlicesIsNotSteady(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	load := closedLoop(random, 0.02, 2, flat)
	if w := WarmedUp(load, true); w.Steady || w.Course != TooShort || w.Seconds != 2 ||
		len(w.Slices) != len(load) {
		t.Errorf("two seconds: %+v", w)
	}
	if w := WarmedUp(nil, true); w.Steady || w.Course != TooShort {
		t.Errorf("nothing: %+v", w)
	}
	none := closedLoop(random, 0.02, 5, flat)
	for i := range none {
		none[i].OK = 0
		none[i].Median = nil
		none[i].P99 = nil
	}
	if w := WarmedUp(none, false); !w.Steady || w.Quantity != FollowRate {
		t.Errorf("a target that gives only wrong answers is not steady: %+v", w)
	}
}

// TestALongWarmUpIsJudgedInLongerSlices: merging slices bounds the cost and loses no answers.
func TestALongWarmUpIsJudgedInLongerSlices(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 18))
	load := closedLoop(random, 0.05, 300, ramp(10, 10))
	load[0].Median = nil
	judged := coarser(load)
	if len(judged) > mostSlices || 2*len(judged) < mostSlices || judged[len(judged)-1].End != 300 {
		t.Fatalf("%d slices became %d, to %g s", len(load), len(judged), judged[len(judged)-1].End)
	}
	var before, after int64
	for _, s := range load {
		before += s.OK
	}
	for _, s := range judged {
		after += s.OK
	}
	if before != after {
		t.Errorf("%d answers became %d", before, after)
	}
	if w := WarmedUp(load, false); !w.Steady || w.Course != string(WarmUp) || len(w.Slices) != len(load) ||
		w.Seconds != 300 {
		t.Errorf("after five minutes: steady %t, %s, %d slices, %g s", w.Steady, w.Course, len(w.Slices), w.Seconds)
	}
	if w := WarmedUp(load[:len(load)/10], true); w.Steady {
		t.Errorf("after half a minute: %s", w.Course)
	}
}

// TestMergedSlicesKeepTheOnlyMedian: of a slow system only every other slice has answers.
func TestMergedSlicesKeepTheOnlyMedian(t *testing.T) {
	each := 0.4
	var load []lab.Slice
	for len(load) <= mostSlices {
		end := float64(len(load)) * quarter
		load = append(load, lab.Slice{End: end + quarter, OK: 10, Median: &each, P99: &each},
			lab.Slice{End: end + 2*quarter})
	}
	if times, _ := series(coarser(load), FollowMedian); len(times) != len(load)/2 {
		t.Errorf("%d of %d merged slices have a median", len(times), len(load)/2)
	}
}

// TestMergedSlicesKeepTheDeviationOfBoth: the 99th percentile is four times the median in one slice, and
// equal to it in the next. On the log scale the mean of these factors, 4 and 1, is 2.
func TestMergedSlicesKeepTheDeviationOfBoth(t *testing.T) {
	each, tail := 0.01, 0.04
	var load []lab.Slice
	for len(load) <= mostSlices {
		end := float64(len(load)) * quarter
		load = append(load, lab.Slice{End: end + quarter, OK: 10, Median: &each, P99: &tail},
			lab.Slice{End: end + 2*quarter, OK: 10, Median: &each, P99: &each})
	}
	want := chanceOfMedian(lab.Slice{OK: 20, Median: &each, P99: new(2 * each)})
	if _, chance := series(coarser(load), FollowMedian); math.Abs(chance/want-1) > 1e-9 {
		t.Errorf("the standard error of a merged slice is %g, want %g", chance, want)
	}
}

// TestSeriesOfALoad: a slice that is shorter than the others is left out. The times of a rate are those per
// answer, with half an answer added to each slice.
func TestSeriesOfALoad(t *testing.T) {
	p50 := 0.01
	load := []lab.Slice{{End: 1, OK: 10, Median: &p50, P99: &p50}, {End: 2, OK: 20, Median: &p50, P99: &p50},
		{End: 2.3, OK: 1, Median: &p50}, {End: 3.3}, {End: 4.3, OK: 5}}
	if times, chance := series(load[:4], FollowRate); len(times) != 3 || math.Abs(times[1]-1/20.5) > 1e-12 ||
		math.Abs(times[2]-2) > 1e-9 || math.Abs(chance-1/math.Sqrt(10.5)) > 1e-12 {
		t.Errorf("rate: %v, %g", times, chance)
	}
	if times, _ := series(load, FollowMedian); len(times) != 2 {
		t.Errorf("medians: %v", times)
	}
}
