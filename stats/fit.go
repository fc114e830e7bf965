package stats

import (
	"errors"
	"math"
	"slices"
)

// Line is a straight line fitted by least squares, with standard errors.
type Line struct {
	Slope       float64
	SlopeSE     float64
	Intercept   float64
	InterceptSE float64
	// R2 is the share of the variation explained; 0 where there is none to
	// explain. It is no proof of the model: see Curvature and ImpossibleFixedCost.
	R2 float64
	N  int
}

// FitLine fits y = intercept + slope x. It assumes equal, independent errors
// and needs three points, two of them at different x.
func FitLine(x, y []float64) (Line, error) {
	if err := checkPoints("straight line", x, y, 3); err != nil {
		return Line{}, err
	}
	mx := Mean(x)
	my := Mean(y)
	var sxx, sxy, syy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
		syy += (y[i] - my) * (y[i] - my)
	}
	n := float64(len(x))
	slope := sxy / sxx
	intercept := my - slope*mx
	rest := squaredResiduals(x, y, intercept, slope)
	variance := rest / (n - 2)
	line := Line{Slope: slope, Intercept: intercept, N: len(x)}
	line.SlopeSE = math.Sqrt(variance / sxx)
	line.InterceptSE = math.Sqrt(variance * (1/n + mx*mx/sxx))
	if syy > 0 {
		line.R2 = max(0, 1-rest/syy)
	}
	return line, nil
}

// ImpossibleFixedCost reports whether the intercept of a line of costs is
// negative, and whether its whole interval at the confidence is. A cost
// at zero work cannot be negative: the straight line is then the wrong model,
// whatever R2 says.
func (l Line) ImpossibleFixedCost(confidence float64) (negative, beyondError bool) {
	return l.Intercept < 0, l.InterceptInterval(confidence).High < 0
}

// SlopeInterval returns the slope with its Student t interval.
func (l Line) SlopeInterval(confidence float64) Estimate {
	return l.around(l.Slope, l.SlopeSE, confidence)
}

// InterceptInterval returns the intercept with its Student t interval.
func (l Line) InterceptInterval(confidence float64) Estimate {
	return l.around(l.Intercept, l.InterceptSE, confidence)
}

// around returns the Student t interval of a parameter of the line.
func (l Line) around(value, se, confidence float64) Estimate {
	half := tQuantile(confidence, float64(l.N-2)) * se
	return Estimate{value, value - half, value + half, l.N}
}

// FitPowerLaw fits y = c x^e as a straight line through the logs. Its slope is
// the exponent e: with 1, y is proportional to x; above 1 it grows faster.
func FitPowerLaw(x, y []float64) (Line, error) {
	lx, xErr := logs("power law, x", x)
	ly, yErr := logs("power law, y", y)
	if err := errors.Join(xErr, yErr); err != nil {
		return Line{}, err
	}
	return FitLine(lx, ly)
}

// distinct returns the different values, in ascending order.
func distinct(values []float64) []float64 {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// Curvature tests whether a straight line leaves a bend in its residuals: the
// quadratic term q of y = a + b x + q x^2 with its two-sided p-value (t with
// n-3 degrees of freedom). It needs four points, at three different x.
func Curvature(x, y []float64) (quadratic, p float64, err error) {
	if err := checkPoints("curvature", x, y, 4); err != nil {
		return 0, 0, err
	}
	if different := len(distinct(x)); different < 3 {
		return 0, 0, &TooFewError{"curvature over different x", different, 3}
	}
	mx := Mean(x)
	squares := make([]float64, len(x))
	for i := range x {
		squares[i] = (x[i] - mx) * (x[i] - mx)
	}
	// Regress y on the part of x^2 that no straight line explains.
	bend, err := FitLine(x, squares)
	if err != nil {
		return 0, 0, err
	}
	var qq, qy float64
	for i := range x {
		q := squares[i] - bend.Intercept - bend.Slope*x[i]
		qq += q * q
		qy += q * y[i]
	}
	line, err := FitLine(x, y)
	if err != nil {
		return 0, 0, err
	}
	quadratic = qy / qq
	degrees := float64(len(x) - 3)
	rest := max(0, squaredResiduals(x, y, line.Intercept, line.Slope)-qy*qy/qq)
	return quadratic, tTest(quadratic, math.Sqrt(rest/degrees/qq), degrees), nil
}

// squaredResiduals returns the sum of the squared distances from the line.
func squaredResiduals(x, y []float64, intercept, slope float64) float64 {
	sum := 0.0
	for i := range x {
		d := y[i] - intercept - slope*x[i]
		sum += d * d
	}
	return sum
}

// checkPoints refuses points through which no line can be fitted: fewer than need, all at one x, or not
// finite.
func checkPoints(name string, x, y []float64, need int) error {
	if len(x) != len(y) {
		return lengthError(name, len(x), len(y))
	}
	if len(x) < need {
		return &TooFewError{name, len(x), need}
	}
	if err := errors.Join(checkFinite(name+", x", x), checkFinite(name+", y", y)); err != nil {
		return err
	}
	for _, v := range x {
		if v != x[0] {
			return nil
		}
	}
	return &TooFewError{name + " over different x", 1, 2}
}
