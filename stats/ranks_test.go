package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

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
