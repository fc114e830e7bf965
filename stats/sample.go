package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is an estimated number with its interval. The function that returns it documents quantity and
// method.
type Estimate struct {
	Value float64
	Low   float64
	High  float64
	N     int // values, pairs or blocks behind it
}

// Contains reports whether the interval holds the value.
func (e Estimate) Contains(value float64) bool { return e.Low <= value && value <= e.High }

// Mean returns the arithmetic mean, 0 without values.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Variance returns the sample variance (divisor n-1), 0 for fewer than two values.
func Variance(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return squaredDistances(values) / float64(len(values)-1)
}

// squaredDistances returns the sum of the squared distances from the mean.
func squaredDistances(values []float64) (sum float64) {
	mean := Mean(values)
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// Median returns the middle value, or the mean of the two in the middle, 0 without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// MeanInterval returns the mean with its Student t interval. It assumes
// independent values that are about normal, and needs two of them.
func MeanInterval(values []float64, confidence float64) (Estimate, error) {
	if err := checkFinite("mean interval", values); err != nil {
		return Estimate{}, err
	}
	if len(values) < 2 {
		return Estimate{}, &TooFewError{"mean interval", len(values), 2}
	}
	mean := Mean(values)
	degrees := float64(len(values) - 1)
	half := tQuantile(confidence, degrees) * standardError(values)
	return Estimate{mean, mean - half, mean + half, len(values)}, nil
}

// Difference returns mean(a) - mean(b) of two independent samples with Welch's t interval (Welch 1947). Each
// needs two values. N is the size of the smaller sample.
func Difference(a, b []float64, confidence float64) (Estimate, error) {
	const name = "difference of means"
	n := min(len(a), len(b))
	if n < 2 {
		return Estimate{}, &TooFewError{name, n, 2}
	}
	if err := errors.Join(checkFinite(name, a), checkFinite(name, b)); err != nil {
		return Estimate{}, err
	}
	difference := Mean(a) - Mean(b)
	se := math.Hypot(standardError(a), standardError(b))
	half := tQuantile(confidence, welchDegrees(a, b)) * se
	return Estimate{difference, difference - half, difference + half, n}, nil
}

// Product returns the product of two independent, positive estimates. On the log scale, the distance from its
// value to an end of its interval is the root of the sum of squares of these distances of the two (MOVER; Zou
// and Donner 2008). Its N is the smaller one of the two.
func Product(a, b Estimate) (Estimate, error) {
	all, err := logs("product", []float64{a.Value, a.Low, a.High, b.Value, b.Low, b.High})
	if err != nil {
		return Estimate{}, err
	}
	valueA := all[0]
	lowA := all[1]
	highA := all[2]
	valueB := all[3]
	lowB := all[4]
	highB := all[5]
	value := valueA + valueB
	down := math.Hypot(valueA-lowA, valueB-lowB)
	up := math.Hypot(highA-valueA, highB-valueB)
	low := math.Exp(value - down)
	high := math.Exp(value + up)
	return Estimate{math.Exp(value), low, high, min(a.N, b.N)}, nil
}

// standardError returns the standard error of the mean.
func standardError(values []float64) float64 {
	return math.Sqrt(Variance(values) / float64(len(values)))
}

// tQuantile returns the two-sided quantile q of Student's t: a share of confidence of its mass lies between
// -q and q.
func tQuantile(confidence, degrees float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.Quantile((1 + confidence) / 2)
}

// tTest returns the two-sided p-value of an estimate against zero.
func tTest(estimate, standardError, degrees float64) float64 {
	if standardError == 0 {
		if estimate == 0 {
			return 1
		}
		return 0
	}
	return min(1, 2*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.CDF(-math.Abs(estimate/standardError)))
}

// checkFinite refuses values that are infinite or no numbers.
func checkFinite(statistic string, values []float64) error {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return valueError(statistic, i, v, "finite")
		}
	}
	return nil
}

// logs returns the logarithms of the values. It refuses values that have none: a missing or failed trial is
// for the caller to count, and is never imputed.
func logs(statistic string, values []float64) ([]float64, error) {
	out := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, valueError(statistic, i, v, "positive and finite")
		}
		out[i] = math.Log(v)
	}
	return out, nil
}
