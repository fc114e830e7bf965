package stats

import (
	"errors"
	"fmt"
	"math"
)

// KaliberaJones returns the ratio of two arithmetic means with the interval of
// Kalibera and Jones, "Quantifying performance changes with effect size
// confidence intervals" (arXiv 2007.10899, section 6; after Fieller 1954). It
// answers questions about totals. Both samples must have the same size. An error
// is returned if the mean of the denominator cannot be told from zero. The
// coverage is the confidence or more (97.9 % for 95 % at n = 5).
func KaliberaJones(numerator, denominator []float64, confidence float64) (Estimate, error) {
	const name = "Kalibera-Jones interval"
	if err := errors.Join(checkFinite(name+", numerator", numerator),
		checkFinite(name+", denominator", denominator)); err != nil {
		return Estimate{}, err
	}
	n := len(numerator)
	if least := min(n, len(denominator)); least < 2 {
		return Estimate{}, &TooFewError{name, least, 2}
	}
	if n != len(denominator) {
		return Estimate{}, lengthError(name, n, len(denominator))
	}
	up := Mean(numerator)
	down := Mean(denominator)
	t := tQuantile(confidence, float64(n-1))
	upRest := up*up - t*t*Variance(numerator)/float64(n)
	downRest := down*down - t*t*Variance(denominator)/float64(n)
	if downRest <= 0 {
		return Estimate{}, fmt.Errorf("%s: the denominator %g (n %d) cannot be told from zero, so the interval is "+
			"unbounded: add blocks", name, down, n)
	}
	root := math.Sqrt(max(0, up*down*up*down-downRest*upRest))
	return Estimate{up / down, (up*down - root) / downRest, (up*down + root) / downRest, n}, nil
}
