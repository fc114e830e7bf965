package stats

import "testing"

// TestZerosByChance counts the ways to choose which of the zeros + n values are above 0: want is the share of
// them in which none is in the first sample, which has the zeros.
func TestZerosByChance(t *testing.T) {
	for _, c := range []struct {
		zeros, above, n int
		want            float64
	}{
		{4, 4, 4, 1.0 / 70}, {3, 3, 3, 1.0 / 20}, {5, 4, 5, 5.0 / 210}, {2, 1, 2, 2.0 / 4}, {6, 0, 6, 1},
		{0, 3, 3, 1},
	} {
		near(t, "p", ZerosByChance(c.zeros, c.above, c.n), c.want)
	}
}
