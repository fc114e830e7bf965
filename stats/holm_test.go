package stats

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

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
			testset.Must(t, err)
			family = append(family, ratio)
			p = append(p, ratio.P)
		}
		adjusted := Holm(p)
		levels := HolmLevels(p, 0.95)
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
		t.Errorf("%d of 1200 are significant: the test needs both kinds", found)
	}
}
