package stats

import "math"

// KaliberaJones returns the ratio of two arithmetic means with the interval of
// Kalibera and Jones, "Quantifying performance changes with effect size
// confidence intervals" (arXiv 2007.10899, section 6; after Fieller 1954). It
// answers questions about totals. Both samples need as many values; it keeps
// its level or exceeds it (97.9 % at n = 5).
func KaliberaJones(numerator, denominator []float64, confidence float64) (Estimate, error) {
	if err := checkMeans("Kalibera-Jones interval", numerator, denominator); err != nil {
		return Estimate{}, err
	}
	n := len(numerator)
	if n != len(denominator) {
		return Estimate{}, &LengthError{"Kalibera-Jones interval", n, len(denominator)}
	}
	up, down := Mean(numerator), Mean(denominator)
	t := tQuantile(confidence, float64(n-1))
	upRest := up*up - t*t*Variance(numerator)/float64(n)
	downRest := down*down - t*t*Variance(denominator)/float64(n)
	if downRest <= 0 {
		return Estimate{}, &UnboundedError{down, n}
	}
	root := math.Sqrt(max(0, up*down*up*down-downRest*upRest))
	return Estimate{up / down, (up*down - root) / downRest, (up*down + root) / downRest, n, confidence}, nil
}

// checkMeans refuses samples that have no variance or are not numbers.
func checkMeans(name string, numerator, denominator []float64) error {
	if err := checkFinite(name+", numerator", numerator); err != nil {
		return err
	}
	if err := checkFinite(name+", denominator", denominator); err != nil {
		return err
	}
	if n := min(len(numerator), len(denominator)); n < 2 {
		return &TooFewError{name, n, 2}
	}
	return nil
}
