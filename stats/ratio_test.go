package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// sample draws n log-normal values: mean and standard deviation are those of their logs.
func sample(r *rand.Rand, n int, mean, spread float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Exp(mean + spread*r.NormFloat64())
	}
	return out
}

func TestRatioDoesNotDependOnTheBase(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		a := sample(r, 7, 3, 0.2)
		b := sample(r, 7, 1, 0.4)
		for name, ratio := range map[string]func(a, b []float64, c float64) (Ratio, error){"paired": PairedRatio,
			"log-Welch": LogWelch} {
			there, err := ratio(a, b, 0.95)
			testset.Must(t, err)
			back, err := ratio(b, a, 0.95)
			testset.Must(t, err)
			near(t, name+" value", back.Value, 1/there.Value)
			near(t, name+" low", back.Low, 1/there.High)
			near(t, name+" high", back.High, 1/there.Low)
			near(t, name+" p", back.P, there.P)
		}
	}
}

func TestIntervalsHoldTheirEstimate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		a := sample(r, 5, 1, 0.3)
		b := sample(r, 5, 1, 0.3)
		paired, err := PairedRatio(a, b, 0.9)
		testset.Must(t, err)
		kj, err := KaliberaJones(a, b, 0.9)
		testset.Must(t, err)
		mean, err := MeanInterval(a, 0.9)
		testset.Must(t, err)
		for _, e := range []Estimate{paired.Estimate, kj, mean} {
			if !e.Contains(e.Value) {
				t.Errorf("interval [%g, %g] without its estimate %g", e.Low, e.High, e.Value)
			}
		}
		if wide := paired.At(0.99); wide.Low >= paired.Low || wide.High <= paired.High {
			t.Errorf("the 99 %% interval [%g, %g] is not wider than [%g, %g]", wide.Low, wide.High, paired.Low,
				paired.High)
		}
		if excludes := !paired.Contains(1); excludes != (paired.P < 0.1) {
			t.Errorf("p = %g, but the 90 %% interval is [%g, %g]", paired.P, paired.Low, paired.High)
		}
	}
}

// TestCoverage simulates trials under a drift of the host: the interval by block must hold the true ratio
// about as often as it says. KaliberaJones, which is not by block, is tested without the drift.
func TestCoverage(t *testing.T) {
	const repeats, blocks, truth = 2000, 5, 1.3
	r := rand.New(rand.NewPCG(5, 6))
	paired, kj := 0, 0
	for range repeats {
		a := sample(r, blocks, math.Log(truth), 0.03)
		b := sample(r, blocks, 0, 0.03)
		steady, err := KaliberaJones(a, b, 0.95)
		testset.Must(t, err)
		if steady.Contains(truth) {
			kj++
		}
		for i := range a {
			drift := 1 + 0.1*float64(i)
			a[i] *= drift
			b[i] *= drift
		}
		drifting, err := PairedRatio(a, b, 0.95)
		testset.Must(t, err)
		if drifting.Contains(truth) {
			paired++
		}
	}
	// Four standard errors of a share of 0.95 in 2000 are 0.0195.
	if share := float64(paired) / repeats; math.Abs(share-0.95) > 0.02 {
		t.Errorf("the interval by block holds the ratio in %.3f of cases, want about 0.95", share)
	}
	// The comment of KaliberaJones has this coverage at n = 5.
	if share := float64(kj) / repeats; math.Abs(share-0.979) > 0.015 {
		t.Errorf("Kalibera-Jones holds the ratio in %.3f of cases, want about 0.979", share)
	}
}

// TestRefusals gives each function data that it cannot use. Long because it is a table.
func TestRefusals(t *testing.T) {
	const few, bad, unbounded = "are needed", "it must be", "unbounded"
	two := []float64{1, 2}
	aroundZero := []float64{-5, 6, 0.1}
	tests := []struct {
		name string
		run  func() error
		want string
	}{
		{"mean of one", func() error { _, err := MeanInterval([]float64{1}, 0.95); return err }, few},
		{"mean of NaN", func() error { _, err := MeanInterval([]float64{1, math.NaN()}, 0.95); return err },
			bad},
		{"ratio of one block", func() error { _, err := PairedRatio([]float64{1}, []float64{2}, 0.95); return err },
			few},
		{"ratio of unequal blocks", func() error { _, err := PairedRatio(two, []float64{1}, 0.95); return err },
			"want as many of each"},
		{"ratio with a zero", func() error { _, err := PairedRatio(two, []float64{1, 0}, 0.95); return err },
			bad},
		{"ratio with an infinity", func() error {
			_, err := LogWelch([]float64{1, math.Inf(1)}, two, 0.95)
			return err
		}, bad},
		{"ratio by a mean near zero", func() error {
			_, err := KaliberaJones([]float64{1, 2, 3}, aroundZero, 0.95)
			return err
		}, unbounded},
		{"ratio by zero", func() error { _, err := KaliberaJones(two, []float64{-1, 1}, 0.95); return err },
			unbounded},
		{"line through one x", func() error {
			_, err := FitLine([]float64{1, 1, 1}, []float64{1, 2, 3})
			return err
		}, few},
		{"power law of a zero", func() error {
			_, err := FitPowerLaw([]float64{0, 1, 2}, []float64{1, 2, 3})
			return err
		}, bad},
		{"one condition", func() error { _, err := Combine([]Effect{{1, 1}}, 0, 0.95); return err },
			few},
		{"condition without variance", func() error {
			_, err := Combine([]Effect{{1, 1}, {1, 0}}, 0, 0.95)
			return err
		}, bad},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.run()
			var tooFew *TooFewError
			isFew := errors.As(err, &tooFew) && tooFew.Need > tooFew.Have
			if err == nil || !strings.Contains(err.Error(), test.want) || isFew != (test.want == few) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestEqualPairsHaveNoSpread(t *testing.T) {
	same, err := PairedRatio([]float64{2, 3, 4}, []float64{2, 3, 4}, 0.95)
	testset.Must(t, err)
	if same.Value != 1 || same.Low != 1 || same.High != 1 || same.P != 1 {
		t.Errorf("a sample over itself = %+v, want 1 [1, 1], p 1", same)
	}
	twice, err := PairedRatio([]float64{4, 8}, []float64{2, 4}, 0.95)
	testset.Must(t, err)
	near(t, "low", twice.Low, 2)
	near(t, "high", twice.High, 2)
	if twice.P > 1e-12 {
		t.Errorf("p of twice without spread = %g, want about 0", twice.P)
	}
}
