package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// noisy returns times around the levels, one per slice, with log-normal noise.
func noisy(random *rand.Rand, deviation float64, levels ...float64) []float64 {
	times := make([]float64, len(levels))
	for i, level := range levels {
		times[i] = level * math.Exp(deviation*random.NormFloat64())
	}
	return times
}

// levels returns a series of levels, each repeated for a number of slices.
func levels(slicesEach int, values ...float64) []float64 {
	var all []float64
	for _, level := range values {
		all = append(all, slices.Repeat([]float64{level}, slicesEach)...)
	}
	return all
}

func TestSteadinessNamesTheCourseOfATrial(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tests := []struct {
		name   string
		levels []float64
		want   SteadyKind
		factor float64
	}{
		{"one level", levels(10, 1), Flat, 1},
		{"a change within the margin", levels(10, 1, 1.03), Flat, 1},
		{"slow at first", append(levels(4, 3), levels(12, 1)...), WarmUp, 3},
		{"slow later", append(levels(5, 1), levels(12, 2)...), Slowdown, 2},
		{"swings", levels(3, 1, 20, 1, 20, 1), Unsteady, 20},
		{"swings in four slices", levels(2, 1, 20), Slowdown, 20}, // of which only one change is seen
		{"slow at the end", append(levels(12, 1), levels(4, 4)...), Unsteady, 4},
	}
	for _, test := range tests {
		course, err := Steadiness(noisy(random, 0.02, test.levels...), 0.05)
		if err != nil || course.Kind != test.want || math.Abs(course.Factor/test.factor-1) > 0.05 {
			t.Errorf("%s: %+v, %v; want %s by %g", test.name, course, err, test.want, test.factor)
		}
	}
	var few *TooFewError
	if _, err := Steadiness([]float64{1, 2, 1}, 0.05); !errors.As(err, &few) {
		t.Errorf("three slices: %v", err)
	}
}

func TestSwingsAreFoundWhereATrialHoldsFew(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	fewSwings := []float64{1, 20, 20, 1, 1, 20} // as seen of a server that sleeps every other two seconds
	tests := []struct {
		name      string
		deviation float64
		chance    float64 // the standard error of a slice that swings is told; 0: no noise is expected
		levels    []float64
		want      float64
	}{
		{"few", 0.02, 0.01, fewSwings, 20},
		{"noise", 1, 1, levels(10, 1), 1},
		{"noise that is taken for certain", 1, 0, levels(10, 1), 1},
		{"many", 0.02, 0.01, slices.Repeat([]float64{1, 20}, 12), 1},
		{"small", 0.02, 0.01, slices.Repeat([]float64{1, 1.5}, 4), 1},
		{"one slow slice", 0.02, 0.01, append(levels(9, 1), 20), 1},
	}
	for _, test := range tests {
		values, err := logs("course", noisy(random, test.deviation, test.levels...))
		testset.Must(t, err)
		if factor := swings(values, test.chance); math.Abs(factor/test.want-1) > 0.1 {
			t.Errorf("%s: a factor of %g, want %g", test.name, factor, test.want)
		}
	}
}

// TestSteadinessFindsNothingInNoise: at most 5 % of flat courses are called otherwise, however much noise
// they have and however few slices.
func TestSteadinessFindsNothingInNoise(t *testing.T) {
	const trials, most = 2000, 0.05
	random := rand.New(rand.NewPCG(3, 4))
	for _, slices := range []int{4, 6, 10, 30} {
		for _, deviation := range []float64{0.03, 0.1, 0.5} {
			wrong := 0
			for range trials {
				if course, err := Steadiness(noisy(random, deviation, levels(slices, 1)...), 0.05); err != nil ||
					course.Kind != Flat {
					wrong++
				}
			}
			if share := float64(wrong) / trials; share > most {
				t.Errorf("%d slices, deviation %g: %.1f %% of flat courses are called otherwise, at most %g %% may",
					slices, deviation, 100*share, 100*most)
			}
		}
	}
}

func TestMannKendallCountsOrders(t *testing.T) {
	tests := []struct {
		values []float64
		want   float64
	}{
		{[]float64{1, 2, 3, 4, 5, 6}, 2.0 / 720}, // the two monotone orders of 6! = 720
		{[]float64{6, 5, 4, 3, 2, 1}, 2.0 / 720},
		{[]float64{1, 2, 3, 5, 4}, 10.0 / 120}, // Kendall 1975, table 1: P(S >= 8) = .042 at n = 5
		{[]float64{1, 3, 2}, 1},
		{[]float64{7, 7, 7, 7}, 1},
	}
	for _, test := range tests {
		if p, err := MannKendall(test.values); err != nil || math.Abs(p-test.want) > 1e-12 {
			t.Errorf("%v: p %g, %v; want %g", test.values, p, err, test.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{20, 300} { // S is about normal; Kendall 1975, chapter 4
		values := make([]float64, n)
		s := 0.0
		for i := range values {
			values[i] = random.Float64() + 2*float64(i)/float64(n)/math.Sqrt(float64(n))
			for _, earlier := range values[:i] {
				s += math.Copysign(1, values[i]-earlier)
			}
		}
		z := (math.Abs(s) - 1) / math.Sqrt(float64(n*(n-1)*(2*n+5))/18)
		if p, err := MannKendall(values); err != nil || math.Abs(p-math.Erfc(z/math.Sqrt2)) > 0.01 {
			t.Errorf("%d values: p %g, %v; want about %g", n, p, err, math.Erfc(z/math.Sqrt2))
		}
	}
	if _, err := MannKendall([]float64{1, 2}); err == nil {
		t.Error("two values have a trend")
	}
	if slope := TheilSen([]float64{1, 2, 30, 4, 5}); slope != 1 {
		t.Errorf("the slope of a line with an outlier is %g", slope)
	}
}
