package stats

import (
	"errors"
	"math"
)

// Ratio is an estimated ratio on the log scale. Its interval is symmetric
// there, so that B/A is exactly the inverse of A/B.
type Ratio struct {
	Estimate
	LogMean float64 // ln of the ratio
	LogSE   float64 // standard error of LogMean
	Degrees float64 // degrees of freedom of the t distribution behind the interval
	P       float64 // two-sided p-value, against a ratio of 1
	// Spread names the noise behind LogSE (see Table.Ratio). It is empty for unblocked data.
	Spread Spread
}

// At returns the interval of the same ratio at another confidence level.
func (r Ratio) At(confidence float64) Estimate {
	half := 0.0
	if r.LogSE > 0 {
		half = tQuantile(confidence, r.Degrees) * r.LogSE
	}
	return Estimate{r.Value, math.Exp(r.LogMean - half), math.Exp(r.LogMean + half), r.N}
}

// PairedRatio returns numerator over denominator for values paired by block:
// exp(mean d +- t s_d/sqrt(n)) with d = ln(numerator) - ln(denominator). It assumes
// that the log ratios of the blocks are independent and about normal, and needs two
// blocks. In randomised complete blocks, its interval keeps its confidence level under
// drift, steps and random walks of the host. With more than two variants, Table.Ratio
// has a narrower one.
func PairedRatio(numerator, denominator []float64, confidence float64) (Ratio, error) {
	differences, err := LogRatios(numerator, denominator)
	if err != nil {
		return Ratio{}, err
	}
	n := len(differences)
	if n < 2 {
		return Ratio{}, &TooFewError{"ratio by block", n, 2}
	}
	se := standardError(differences)
	return newRatio(Mean(differences), se, float64(n-1), n, confidence, OfPair), nil
}

// LogRatios returns ln(numerator/denominator) of each pair.
func LogRatios(numerator, denominator []float64) ([]float64, error) {
	const name = "ratio by block"
	if len(numerator) != len(denominator) {
		return nil, lengthError(name, len(numerator), len(denominator))
	}
	up, upErr := logs(name+", numerator", numerator)
	down, downErr := logs(name+", denominator", denominator)
	if err := errors.Join(upErr, downErr); err != nil {
		return nil, err
	}
	for i := range up {
		up[i] -= down[i]
	}
	return up, nil
}

// LogWelch returns the ratio of geometric means of two independent samples:
// Welch's t interval (Welch 1947) on the logs. N is the size of the smaller sample.
func LogWelch(numerator, denominator []float64, confidence float64) (Ratio, error) {
	const name = "log-Welch ratio"
	up, upErr := logs(name+", numerator", numerator)
	down, downErr := logs(name+", denominator", denominator)
	if err := errors.Join(upErr, downErr); err != nil {
		return Ratio{}, err
	}
	n := min(len(up), len(down))
	if n < 2 {
		return Ratio{}, &TooFewError{name, n, 2}
	}
	difference := Mean(up) - Mean(down)
	se := math.Hypot(standardError(up), standardError(down))
	return newRatio(difference, se, welchDegrees(up, down), n, confidence, ""), nil
}

// newRatio builds a ratio from its mean and standard error on the log scale.
func newRatio(mean, se, degrees float64, n int, confidence float64, spread Spread) Ratio {
	r := Ratio{LogMean: mean, LogSE: se, Degrees: degrees, P: tTest(mean, se, degrees), Spread: spread}
	r.Estimate = Estimate{Value: math.Exp(mean), N: n}
	r.Estimate = r.At(confidence)
	return r
}

// welchDegrees returns the Welch-Satterthwaite degrees of freedom.
func welchDegrees(a, b []float64) float64 {
	va := Variance(a) / float64(len(a))
	vb := Variance(b) / float64(len(b))
	if va+vb == 0 {
		return float64(len(a) + len(b) - 2)
	}
	ofA := va * va / float64(len(a)-1)
	ofB := vb * vb / float64(len(b)-1)
	return (va + vb) * (va + vb) / (ofA + ofB)
}
