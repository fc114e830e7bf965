package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Averages are the four ways in which studies average ratios over conditions.
// Only the geometric mean does not depend on which side is the base (Fleming
// and Wallace 1986); the ratio of sums weighs by size; the harmonic mean is
// the inverse of the mean of the inverse ratios.
type Averages struct {
	Arithmetic float64
	Geometric  float64
	Harmonic   float64
	OfSums     float64
}

// AverageRatios returns the averages of numerator/denominator, one pair per condition.
func AverageRatios(numerator, denominator []float64) (Averages, error) {
	d, err := LogRatios(numerator, denominator)
	if err != nil {
		return Averages{}, err
	}
	if len(d) == 0 {
		return Averages{}, &TooFewError{"average of ratios", 0, 1}
	}
	n := float64(len(d))
	var ratios, inverses float64
	for _, v := range d {
		ratios += math.Exp(v)
		inverses += math.Exp(-v)
	}
	ofSums := Mean(numerator) / Mean(denominator)
	return Averages{ratios / n, math.Exp(Mean(d)), n / inverses, ofSums}, nil
}

// Effect is one condition's ratio on the log scale.
type Effect struct {
	Log      float64 // ln of the ratio
	Variance float64 // of Log, the square of its standard error
}

// Combined says whether one ratio may stand for several conditions.
type Combined struct {
	Q    float64 // Cochran 1954: weighted squared distances from the common ratio
	P    float64 // of Q when all conditions share one ratio
	I2   float64 // share of the variation not explained by chance (Higgins and Thompson 2002)
	Tau2 float64 // variance between conditions, on the log scale
	Mean Estimate
	// Prediction is where the ratio of a new condition is expected. It needs
	// three conditions; nil below.
	Prediction *Estimate
}

// Combine pools log ratios by the random-effects model of DerSimonian and Laird
// (1986): interval of the mean by the normal distribution, as they do. The
// prediction interval uses t with k-2 degrees of freedom (Higgins, Thompson and
// Spiegelhalter 2009). With a handful of conditions the interval of the mean
// is somewhat short; the prediction interval is the one to quote.
//
// varianceDegrees are the degrees of freedom behind one common Variance (see
// PooledEffects): Q/(k-1) is then compared with F. 0 takes the variances as
// known and compares Q with chi squared, as meta-analyses do.
func Combine(effects []Effect, varianceDegrees, confidence float64) (Combined, error) {
	if len(effects) < 2 {
		return Combined{}, &TooFewError{"combined ratio", len(effects), 2}
	}
	for i, e := range effects {
		if !(e.Variance > 0) || math.IsInf(e.Variance, 0) {
			return Combined{}, valueError("combined ratio, variance", i, e.Variance, "positive and finite")
		}
	}
	mean, weights, squares := weighted(effects, 0)
	var c Combined
	for _, e := range effects {
		c.Q += (e.Log - mean) * (e.Log - mean) / e.Variance
	}
	degrees := float64(len(effects) - 1)
	c.P = heterogeneityP(c.Q, degrees, varianceDegrees)
	if c.Q > degrees {
		c.I2 = 1 - degrees/c.Q
		c.Tau2 = (c.Q - degrees) / (weights - squares/weights)
	}
	c.Mean, c.Prediction = randomEffects(effects, c.Tau2, confidence)
	return c, nil
}

// randomEffects returns the mean ratio and the prediction interval.
func randomEffects(effects []Effect, tau2, confidence float64) (Estimate, *Estimate) {
	mean, weights, _ := weighted(effects, tau2)
	z := distuv.UnitNormal.Quantile((1 + confidence) / 2)
	value := aroundLog(mean, z/math.Sqrt(weights), len(effects))
	if len(effects) < 3 {
		return value, nil
	}
	t := tQuantile(confidence, float64(len(effects)-2))
	prediction := aroundLog(mean, t*math.Sqrt(tau2+1/weights), len(effects))
	return value, &prediction
}

// aroundLog returns the estimate exp(mean) from exp(mean - half) to exp(mean + half).
func aroundLog(mean, half float64, n int) Estimate {
	return Estimate{math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half), n}
}

// weighted returns the mean by inverse variance, tau2 added to each, the sum of the weights and the sum of
// their squares.
func weighted(effects []Effect, tau2 float64) (mean, weights, squares float64) {
	for _, e := range effects {
		w := 1 / (e.Variance + tau2)
		mean += w * e.Log
		weights += w
		squares += w * w
	}
	return mean / weights, weights, squares
}

// heterogeneityP returns the chance of a Q at least as large under one common ratio.
func heterogeneityP(q, degrees, varianceDegrees float64) float64 {
	if varianceDegrees > 0 {
		// The upper tail of F through the beta distribution: exact far out, where
		// one minus the lower tail would be 0.
		tail := distuv.Beta{Alpha: varianceDegrees / 2, Beta: degrees / 2}
		return tail.CDF(varianceDegrees / (varianceDegrees + q))
	}
	return distuv.ChiSquared{K: degrees}.Survival(q)
}

// PooledEffects turns the log ratios of each condition, one per block, into
// effects that share one variance within conditions, and returns its degrees of
// freedom. Few blocks make single variances so uncertain that Cochran's Q finds
// heterogeneity where there is none (with 5 blocks it doubles); the pooled one
// makes Q/(k-1) the F of a one-way analysis of variance.
func PooledEffects(logRatios [][]float64) (effects []Effect, degrees float64, err error) {
	squares := 0.0
	for _, condition := range logRatios {
		if len(condition) == 0 {
			return nil, 0, &TooFewError{"pooled effect", 0, 1}
		}
		squares += squaredDistances(condition)
		degrees += float64(len(condition) - 1)
	}
	if degrees == 0 {
		return nil, 0, &TooFewError{"pooled variance", len(logRatios), len(logRatios) + 1}
	}
	for _, condition := range logRatios {
		n := float64(len(condition))
		effects = append(effects, Effect{Mean(condition), squares / degrees / n})
	}
	return effects, degrees, nil
}
