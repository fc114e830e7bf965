package stats

// ZerosByChance returns the p-value of a sample of zeros beside one of n values, of which some are above 0:
// the probability that chance puts all values above 0 into the second sample. It is Fisher's exact test, one
// side (Fisher, Statistical Methods for Research Workers, section 21.02). Multiplied by any factor, zeros
// stay zeros: a small p-value rules out every finite ratio of the two samples. It assumes independent values,
// and is 1 if none is above 0.
func ZerosByChance(zeros, above, n int) float64 {
	p := 1.0
	for i := range above {
		p *= float64(n-i) / float64(zeros+n-i)
	}
	return p
}
