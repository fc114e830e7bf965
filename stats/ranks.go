package stats

import (
	"math"
	"slices"
)

// SignedRank returns the exact two-sided p-value of Wilcoxon's signed-rank test
// (1945) of differences against zero. Zeros are left out, ties share ranks.
func SignedRank(differences []float64) (float64, error) {
	const name = "signed-rank test"
	if err := checkFinite(name, differences); err != nil {
		return 0, err
	}
	sizes := make([]float64, 0, len(differences))
	positive := make([]bool, 0, len(differences))
	for _, d := range differences {
		if d != 0 {
			sizes = append(sizes, math.Abs(d))
			positive = append(positive, d > 0)
		}
	}
	if len(differences) == 0 {
		return 0, &TooFewError{name, 0, 1}
	}
	ranks, observed := doubledRanks(sizes), 0
	for i, rank := range ranks {
		if positive[i] {
			observed += rank
		}
	}
	n := len(ranks)
	return tails(signSums(ranks), observed, float64(n*(n+1))/2), nil
}

// PairedHodgesLehmann returns the robust ratio of values paired by block: exp
// of the median of the Walsh averages of the log ratios. SignedRank on
// LogRatios is its test.
func PairedHodgesLehmann(numerator, denominator []float64) (float64, error) {
	d, err := LogRatios(numerator, denominator)
	if err != nil {
		return 0, err
	}
	if len(d) < 1 {
		return 0, &TooFewError{"Hodges-Lehmann ratio by block", 0, 1}
	}
	walsh := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for j := i; j < len(d); j++ {
			walsh = append(walsh, (d[i]+d[j])/2)
		}
	}
	return math.Exp(Median(walsh)), nil
}

// doubledRanks returns twice the rank of each value; ties share their mean
// rank, which is whole when doubled.
func doubledRanks(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if values[i] < values[j] {
			return -1
		}
		if values[i] > values[j] {
			return 1
		}
		return 0
	})
	ranks := make([]int, len(values))
	for first := 0; first < len(order); {
		last := first
		for last+1 < len(order) && values[order[last+1]] == values[order[first]] {
			last++
		}
		for _, i := range order[first : last+1] {
			ranks[i] = first + last + 2
		}
		first = last + 1
	}
	return ranks
}

// signSums counts, for each sum, the subsets of any size with that sum.
func signSums(ranks []int) []float64 {
	total := 0
	for _, rank := range ranks {
		total += rank
	}
	counts := make([]float64, total+1)
	counts[0] = 1
	for _, rank := range ranks {
		for sum := total; sum >= rank; sum-- {
			counts[sum] += counts[sum-rank]
		}
	}
	return counts
}

// tails returns the share of the counts at least as far from the mean as observed.
func tails(counts []float64, observed int, mean float64) float64 {
	distance := math.Abs(float64(observed) - mean)
	extreme, all := 0.0, 0.0
	for sum, count := range counts {
		all += count
		if math.Abs(float64(sum)-mean) >= distance {
			extreme += count
		}
	}
	return extreme / all
}
