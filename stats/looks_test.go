package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestLooksAsPublished compares five equal looks at 5 % with the bounds that the program of Lan and DeMets
// prints.
func TestLooksAsPublished(t *testing.T) {
	levels := Looks(1, 5, 0.05)
	for i, want := range []float64{2.4380, 2.4268, 2.4101, 2.3966, 2.3859} {
		within(t, "Pocock", distuv.UnitNormal.Quantile(1-levels[i]/2), want, 2e-4)
	}
	if levels := Looks(7, 7, 0.05); len(levels) != 1 || math.Abs(levels[0]-0.05) > 1e-9 {
		t.Errorf("a single look: %v, want 0.05", levels)
	}
}

// TestSequence: between the chances that it has computed it is right to 2 %, and P is the inverse of Level.
func TestSequence(t *testing.T) {
	s := NewSequence(3, 12)
	for _, chance := range []float64{0.3, 0.05, 0.05 / 3, 0.05 / 27, 0.05 / 400, 3e-7} {
		own := Looks(3, 12, chance)
		for _, n := range []int{3, 4, 7, 12} {
			level := s.Level(chance, n)
			within(t, "level", level, own[n-3], 0.02*own[n-3])
			within(t, "chance of the level", s.P(level, n), chance, 1e-9)
		}
	}
	near(t, "before the first look", s.Level(0.05, 1), s.Level(0.05, 3))
	near(t, "after the last look", s.Level(0.05, 40), s.Level(0.05, 12))
	for p, want := range map[float64]float64{1: 1, 0: 0, s.Level(1e-9, 5) / 1000: 1e-12} {
		within(t, "p", s.P(p, 5), want, 1e-9*want)
	}
}

// TestLooksKeepTheirLevel simulates means of normal blocks around 0: one run in twenty must cross a bound.
func TestLooksKeepTheirLevel(t *testing.T) {
	const runs = 20000
	r := rand.New(rand.NewPCG(11, 12))
	levels := Looks(3, 12, 0.05)
	crossed := 0
	for range runs {
		sum := 0.0
		for n := 1; n <= 12; n++ {
			sum += r.NormFloat64()
			if n >= 3 && math.Abs(sum)/math.Sqrt(float64(n)) > distuv.UnitNormal.Quantile(1-levels[n-3]/2) {
				crossed++
				break
			}
		}
	}
	within(t, "share of runs beyond a bound", float64(crossed)/runs, 0.05, 0.005)
}
