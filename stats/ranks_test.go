package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMannWhitneyWithTies(t *testing.T) {
	// Pooled 1 2 2 3 has ranks 1, 2.5, 2.5, 4; of the six pairs 1,2 1,2 1,3 2,2
	// 2,3 2,3 the sums 3.5 and 6.5 lie as far from 5 as the observed 3.5.
	p, err := MannWhitney([]float64{1, 2}, []float64{2, 3})
	must(t, err)
	near(t, "p", p, 4.0/6)
	all, err := MannWhitney([]float64{1, 1, 1}, []float64{1, 1})
	must(t, err)
	near(t, "p of equal values", all, 1)
}

func TestSignedRank(t *testing.T) {
	tests := []struct {
		name        string
		differences []float64
		want        float64
	}{
		{"all of five positive", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"all of six negative", []float64{-1, -2, -3, -4, -5, -6}, 2.0 / 64},
		{"smallest against", []float64{-1, 2, 3, 4, 5}, 4.0 / 32},
		{"zeros left out", []float64{0, 1, 2, 3, 4, 5}, 2.0 / 32},
		{"nothing but zeros", []float64{0, 0}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := SignedRank(test.differences)
			must(t, err)
			near(t, "p", got, test.want)
		})
	}
	if _, err := SignedRank(nil); err == nil {
		t.Error("no differences: no error")
	}
}

func TestPairedHodgesLehmann(t *testing.T) {
	// Log ratios 0, ln 2 and ln 8: Walsh averages 0, .5, 1, 1.5, 2, 3 times
	// ln 2, whose median is 1.25 ln 2.
	got, err := PairedHodgesLehmann([]float64{5, 2, 8}, []float64{5, 1, 1})
	must(t, err)
	near(t, "ratio", got, 2.378414230005442)
}

func TestQuantileInterval(t *testing.T) {
	ten := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	// Ranks 2 and 9 of 10 cover the median with 97.9 %, 3 and 8 with 89.1 %;
	// 2 and 8 with 94.5 % (tables of the sign test).
	got, err := QuantileInterval(ten, 0.5, 0.95)
	must(t, err)
	if got.Value != 5.5 || got.Low != 2 || got.High != 9 {
		t.Errorf("median = %+v, want 5.5 [2, 9]", got)
	}
	var few *TooFewError
	if _, err := QuantileInterval(ten, 0.9, 0.95); !errors.As(err, &few) || few.Need != 29 {
		t.Errorf("p90 of ten: error %v, want that 29 are needed", err)
	}
}

func TestQuantileIntervalCovers(t *testing.T) {
	const repeats = 2000
	r := rand.New(rand.NewPCG(7, 8))
	for _, q := range []float64{0.5, 0.9} {
		covered := 0
		for range repeats {
			values := make([]float64, 40)
			for i := range values {
				values[i] = r.Float64() // its quantile q is q
			}
			e, err := QuantileInterval(values, q, 0.95)
			must(t, err)
			if e.Contains(q) {
				covered++
			}
		}
		if share := float64(covered) / repeats; share < 0.935 {
			t.Errorf("the interval of quantile %g holds it in %.3f of cases, want 0.95 or more", q, share)
		}
	}
}

func TestHolm(t *testing.T) {
	p := []float64{0.01, 0.04, 0.03, 0.005}
	want := []float64{0.03, 0.06, 0.06, 0.02}
	for i, got := range Holm(p) {
		near(t, "adjusted p", got, want[i])
	}
	levels := HolmLevels(p, 0.95)
	for i, want := range []float64{1 - 0.05/3, 1 - 0.05/2, 1 - 0.05/2, 1 - 0.05/4} {
		near(t, "level", levels[i], want)
	}
	if got := Holm([]float64{0.6, 0.9}); !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("Holm of large values = %v, want 1 and 1", got)
	}
}

func TestHolmIntervalsAgreeWithHolm(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	found := 0
	for range 200 {
		var family []Ratio
		var p []float64
		for range 6 {
			ratio, err := PairedRatio(sample(r, 6, 0.06, 0.05), sample(r, 6, 0, 0.05), 0.95)
			must(t, err)
			family, p = append(family, ratio), append(p, ratio.P)
		}
		adjusted, levels := Holm(p), HolmLevels(p, 0.95)
		for i, ratio := range family {
			significant := adjusted[i] <= 0.05
			if excludes := !ratio.At(levels[i]).Contains(1); excludes != significant {
				t.Fatalf("p %v: interval %d excludes 1: %t, adjusted p %g", p, i, excludes, adjusted[i])
			}
			if significant {
				found++
			}
		}
	}
	if found == 0 || found == 1200 {
		t.Errorf("%d of 1200 significant: the test tells nothing apart", found)
	}
}

// TestQuantileIntervalIsTheClosestPair compares with a search over all pairs.
func TestQuantileIntervalIsTheClosestPair(t *testing.T) {
	for _, n := range []int{29, 35, 40, 61} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i + 1) // the value of a rank is the rank
		}
		e, err := QuantileInterval(values, 0.9, 0.95)
		must(t, err)
		bestWidth, bestCover := n, 0.0
		for low := 1; low < n; low++ {
			cover := 0.0
			for high := low + 1; high <= n; high++ {
				cover += binomial(n, high-1, 0.9)
				if width := high - low; cover >= 0.95 && (width < bestWidth ||
					(width == bestWidth && cover > bestCover)) {
					bestWidth, bestCover = width, cover
				}
			}
		}
		got := 0.0
		for k := int(e.Low); k < int(e.High); k++ {
			got += binomial(n, k, 0.9)
		}
		if int(e.High-e.Low) != bestWidth {
			t.Errorf("n %d: ranks %g to %g, want %d apart", n, e.Low, e.High, bestWidth)
		}
		within(t, "coverage", got, bestCover, 1e-9)
	}
}

// binomial is the chance of k in n, by multiplication.
func binomial(n, k int, q float64) float64 {
	p := math.Pow(q, float64(k)) * math.Pow(1-q, float64(n-k))
	for i := range k {
		p *= float64(n-i) / float64(i+1)
	}
	return p
}
