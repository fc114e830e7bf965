package stats

import (
	"errors"
	"math"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

func TestFitLine(t *testing.T) {
	// Anscombe's first set (1973): 3.0001 + 0.50009 x, R2 0.6665, standard
	// errors 1.1247 and 0.11791.
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	first := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	second := []float64{9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74}
	line, err := FitLine(x, first)
	testset.Must(t, err)
	within(t, "slope", line.Slope, 0.50009, 5e-6)
	within(t, "slope SE", line.SlopeSE, 0.11791, 5e-6)
	within(t, "intercept", line.Intercept, 3.00009, 5e-6)
	within(t, "intercept SE", line.InterceptSE, 1.12475, 5e-6)
	within(t, "R2", line.R2, 0.66654, 5e-6)
	// The same line and R2 fit his second set, which is a parabola.
	bent, err := FitLine(x, second)
	testset.Must(t, err)
	within(t, "R2 of the parabola", bent.R2, 0.66624, 5e-6)
	q, p, err := Curvature(x, second)
	testset.Must(t, err)
	within(t, "quadratic term", q, -0.12671, 5e-5)
	if p > 1e-10 {
		t.Errorf("p of the parabola = %g, want almost 0", p)
	}
	if _, p, err := Curvature(x, first); err != nil || p < 0.1 {
		t.Errorf("p of the straight set = %g, %v, want no bend", p, err)
	}
}

// TestTwoLevelsHaveNoCurvature, although rounding leaves residuals of the line through 0.1 and 0.7.
func TestTwoLevelsHaveNoCurvature(t *testing.T) {
	q, p, err := Curvature([]float64{0.1, 0.1, 0.7, 0.7, 0.7}, []float64{1, 2, 3, 5, 4})
	if few := new(TooFewError); !errors.As(err, &few) || few.Have != 2 {
		t.Errorf("quadratic term %g, p %g, %v; want that two levels are too few", q, p, err)
	}
}

func TestFitPowerLaw(t *testing.T) {
	x := []float64{1, 2, 4, 8}
	y := make([]float64, 4)
	for i := range x {
		y[i] = 3 * math.Pow(x[i], 1.5)
	}
	law, err := FitPowerLaw(x, y)
	testset.Must(t, err)
	near(t, "exponent", law.Slope, 1.5)
	near(t, "constant", math.Exp(law.Intercept), 3)
}

func TestImpossibleFixedCost(t *testing.T) {
	tests := []struct {
		name             string
		y                []float64
		negative, beyond bool
	}{
		{"through the origin and above", []float64{2.1, 3, 4.1, 5}, false, false},
		{"below zero, within its error", []float64{0.8, 2.1, 2.9, 3.9}, true, false},
		{"far below zero", []float64{1.01, 11, 20.99, 31}, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			line, err := FitLine([]float64{1, 2, 3, 4}, test.y)
			testset.Must(t, err)
			negative, beyond := line.ImpossibleFixedCost(0.95)
			if negative != test.negative || beyond != test.beyond {
				t.Errorf("intercept %g +- %g: %t, %t; want %t, %t", line.Intercept, line.InterceptSE, negative, beyond,
					test.negative, test.beyond)
			}
		})
	}
}

func TestFlatLine(t *testing.T) {
	line, err := FitLine([]float64{1, 2, 3}, []float64{4, 4, 4})
	testset.Must(t, err)
	if line.Slope != 0 || line.R2 != 0 || line.Intercept != 4 {
		t.Errorf("flat line = %+v, want slope 0, R2 0, intercept 4", line)
	}
}

func TestAverageRatios(t *testing.T) {
	got, err := AverageRatios([]float64{2, 16}, []float64{1, 2})
	testset.Must(t, err)
	near(t, "arithmetic", got.Arithmetic, 5)
	near(t, "geometric", got.Geometric, 4)
	near(t, "harmonic", got.Harmonic, 3.2)
	near(t, "of sums", got.OfSums, 6)
	back, err := AverageRatios([]float64{1, 2}, []float64{2, 16})
	testset.Must(t, err)
	near(t, "geometric, other base", back.Geometric, 1/got.Geometric)
	if near := math.Abs(back.Arithmetic*got.Arithmetic - 1); near < 0.1 {
		t.Errorf("the arithmetic mean does not depend on the base: %g and %g", got.Arithmetic, back.Arithmetic)
	}
}

func TestCombineOfEqualConditions(t *testing.T) {
	got, err := Combine([]Effect{{0.5, 0.01}, {0.5, 0.01}, {0.5, 0.01}, {0.5, 0.01}}, 0, 0.95)
	testset.Must(t, err)
	if got.Q != 0 || got.I2 != 0 || got.Tau2 != 0 || got.P != 1 {
		t.Errorf("heterogeneity of equal conditions = %+v", got)
	}
	near(t, "mean", got.Mean.Value, math.Exp(0.5))
	near(t, "high", got.Mean.High, math.Exp(0.5+1.9599639845400545*0.05))
	two, err := Combine([]Effect{{0.5, 0.01}, {0.6, 0.01}}, 0, 0.95)
	testset.Must(t, err)
	if two.Prediction != nil {
		t.Errorf("prediction from two conditions = %+v, want none", *two.Prediction)
	}
}

func TestPooledEffectsAreAnAnalysisOfVariance(t *testing.T) {
	// Three groups of a one-way analysis of variance: between 6 on 2, within
	// 6 on 6 degrees of freedom: F = 3, p = 0.125.
	groups := [][]float64{{1, 2, 3}, {2, 3, 4}, {3, 4, 5}}
	effects, degrees, err := PooledEffects(groups)
	testset.Must(t, err)
	got, err := Combine(effects, degrees, 0.95)
	testset.Must(t, err)
	near(t, "degrees", degrees, 6)
	near(t, "Q/2", got.Q/2, 3)
	near(t, "p", got.P, 0.125)
	if _, _, err := PooledEffects([][]float64{{1}, {2}}); err == nil {
		t.Error("one value per condition: no error")
	}
}
