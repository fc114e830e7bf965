package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// scaled simulates the throughput of a law at levels, by level and block. The standard deviations of blocks
// (drift) and of trials (noise) are shares.
func scaled(
	law func(n float64) float64, levels []float64, blocks int, drift, noise float64, seed uint64,
) [][]float64 {
	random := rand.New(rand.NewPCG(seed, 48))
	values := make([][]float64, len(levels))
	for range blocks {
		block := drift * random.NormFloat64()
		for i, n := range levels {
			values[i] = append(values[i], law(n)*math.Exp(block+noise*random.NormFloat64()))
		}
	}
	return values
}

func upTo32() []float64 { return []float64{1, 2, 4, 8, 16, 32} }

// TestScalabilityOfThePackageUSL recovers what the test of the R package usl (Möding, tests/coef.R) recovers.
func TestScalabilityOfThePackageUSL(t *testing.T) {
	values := make([][]float64, 6)
	for i, v := range []float64{1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557} {
		values[i] = []float64{v, v, v, v, v}
	}
	s, err := FitScalability([]float64{1, 2, 4, 6, 8, 10}, values, 0.05, 0.95)
	testset.Must(t, err)
	within(t, "contention", s.Sigma.Value, 0.02, 1e-4)
	within(t, "coherency", s.Kappa.Value, 0.02, 1e-5)
	within(t, "throughput of one", s.Lambda.Value, 1, 1e-4)
	if s.Peak == nil {
		t.Fatal("there is no peak")
	}
	within(t, "peak", s.Peak.Value, 7, 0.01)
}

func TestKnownScalabilityIsRecovered(t *testing.T) {
	for _, known := range []law{{100, 0.03, 0.0005}, {3, 0.2, 0}, {1e4, 0, 0}, {50, 0, 0.002},
		{0.01, 0.9, 0.01}} {
		s, err := FitScalability(upTo32(), scaled(known.at, upTo32(), 5, 0, 0, 1), 0.05, 0.95)
		testset.Must(t, err)
		within(t, "throughput of one", s.Lambda.Value, known.lambda, 1e-6*known.lambda)
		within(t, "contention", s.Sigma.Value, known.sigma, 1e-6)
		within(t, "coherency", s.Kappa.Value, known.kappa, 1e-6)
		if peak := known.peak(); (s.Peak != nil) != (peak <= 64) {
			t.Errorf("of %+v with its peak at %g there is %+v", known, peak, s.Peak)
		}
		beyond, err := s.At(64)
		testset.Must(t, err)
		within(t, "throughput beyond", beyond.Value, known.at(64), 1e-4*known.at(64))
		for _, n := range []float64{0.5, 65, math.NaN()} {
			if e, err := s.At(n); err == nil {
				t.Errorf("at %g there is %+v, want none beyond twice the largest level", n, e)
			}
		}
	}
}

// TestScalabilityIntervalsHoldTheTruth: at least 85 % of 60 experiments of five blocks do; 95 % is nominal.
func TestScalabilityIntervalsHoldTheTruth(t *testing.T) {
	known := law{100, 0.05, 0.002}
	held := map[string]int{}
	experiments := 60
	for i := range experiments {
		s, err := FitScalability(upTo32(), scaled(known.at, upTo32(), 5, 0.05, 0.03, uint64(i)), 0.05, 0.95)
		testset.Must(t, err)
		beyond, err := s.At(48)
		testset.Must(t, err)
		for name, holds := range map[string]bool{"contention": s.Sigma.Contains(known.sigma),
			"coherency": s.Kappa.Contains(known.kappa), "throughput of one": s.Lambda.Contains(known.lambda),
			"peak": s.Peak != nil && s.Peak.Contains(known.peak()), "beyond": beyond.Contains(known.at(48))} {
			if holds {
				held[name]++
			}
		}
		if width := s.Sigma.High - s.Sigma.Low; width > 0.1 {
			t.Errorf("experiment %d: the interval of 0.05 is %g wide", i, width)
		}
	}
	for _, name := range []string{"contention", "coherency", "throughput of one", "peak", "beyond"} {
		if held[name] < experiments*85/100 {
			t.Errorf("%s: %d of %d intervals hold the truth", name, held[name], experiments)
		}
	}
}

func TestWhatIsNotScalableByTheLawIsRefused(t *testing.T) {
	whole := scaled(law{100, 0.05, 0.002}.at, upTo32(), 5, 0.02, 0.01, 1)
	for name, test := range map[string]struct {
		levels []float64
		values [][]float64
		why    string
	}{
		"too few levels": {upTo32()[:5], whole[:5], "5 levels, and the law needs 6"},
		"one level":      {upTo32()[:1], whole[:1], "1 level, and the law needs 6"},
		"a level twice":  {append(upTo32(), 2), append(whole[:6:6], whole[1]), "twice"},
		"too few blocks": {upTo32(), scaled(law{100, 0.05, 0.002}.at, upTo32(), 4, 0, 0.01, 1), "4 blocks"},
		"more than linear": {upTo32(), scaled(func(n float64) float64 { return 10 * math.Pow(n, 1.3) }, upTo32(),
			6, 0.02, 0.01, 1), "the more there are, the more each does"},
		"less and less slowed": {upTo32(), scaled(func(n float64) float64 { return 10 * math.Sqrt(n) }, upTo32(),
			6, 0.02, 0.01, 1), "beyond chance: each further one slows the others less than the one before"},
		"level, then steep": {upTo32(), scaled(func(n float64) float64 {
			return 10 * n / (1 + math.Pow(n/20, 4))
		}, upTo32(), 6, 0.02, 0.01, 1), "beyond chance: what each does falls later, and then faster, than the " +
			"law allows"},
		"up and down": {upTo32(), scaled(func(n float64) float64 {
			return law{100, 0.05, 0.002}.at(n) * (1 + 0.15*math.Cos(math.Pi*math.Log2(n)))
		}, upTo32(), 6, 0.02, 0.01, 1), "off the law"},
		"a knee without noise": {upTo32(), scaled(func(n float64) float64 { return 10 * min(n, 6) }, upTo32(), 5,
			0, 0, 1), "off the law"},
	} {
		_, err := FitScalability(test.levels, test.values, 0.05, 0.95)
		if err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %v, want %q", name, err, test.why)
		}
	}
	_, err := FitScalability([]float64{1, 2, 4, 0.5, 16, 32}, whole, 0.05, 0.95)
	if err == nil || !strings.Contains(err.Error(), "value 3 is 0.5, it must be 1 or more") {
		t.Errorf("a level below 1: %v", err)
	}
	whole[2][3] = 0
	if _, err := FitScalability(upTo32(), whole, 0.05, 0.95); err == nil ||
		err.Error() != "the throughput at 4 is 0 in some block" {
		t.Errorf("a throughput of 0: %v", err)
	}
	whole[2] = whole[2][:3]
	if _, err := FitScalability(upTo32(), whole, 0.05, 0.95); err == nil {
		t.Error("a level with fewer blocks was taken")
	}
	if _, err := FitScalability(upTo32(), whole[:5], 0.05, 0.95); err == nil {
		t.Error("a level without values was taken")
	}
}

// TestALinearSystemIsSeldomRefused: coefficients that are 0 are seldom called negative beyond chance: 1 % for
// each of the two, plus two standard errors of 150 experiments.
func TestALinearSystemIsSeldomRefused(t *testing.T) {
	const experiments = 150
	refused := 0
	for seed := range uint64(experiments) {
		_, err := FitScalability(upTo32(), scaled(law{100, 0, 0}.at, upTo32(), 5, 0.02, 0.03, seed), 0.05, 0.95)
		if err != nil && strings.Contains(err.Error(), "negative") {
			refused++
		}
	}
	t.Logf("%d refused", refused)
	if most := 7; refused > most {
		t.Errorf("%d of %d linear systems have a coefficient below zero beyond chance, want at most %d", refused,
			experiments, most)
	}
}

// TestScalabilityIsTheSameTwice: the same values give the same intervals.
func TestScalabilityIsTheSameTwice(t *testing.T) {
	values := scaled(law{100, 0.05, 0.002}.at, upTo32(), 6, 0.02, 0.03, 5)
	first, err := FitScalability(upTo32(), values, 0.05, 0.95)
	testset.Must(t, err)
	second, err := FitScalability(upTo32(), values, 0.05, 0.95)
	testset.Must(t, err)
	if first.Sigma != second.Sigma || first.Kappa != second.Kappa || *first.Peak != *second.Peak {
		t.Errorf("first %+v, then %+v", first.Sigma, second.Sigma)
	}
}
