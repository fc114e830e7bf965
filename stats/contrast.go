package stats

import (
	"math"
	"slices"
)

// Contrast returns exp(sum of weights x log values), one weight per column, as a ratio with an interval: an
// effect of a factorial design (Box, Hunter and Hunter 2005, chapter 5). The weights must add up to 0, so
// that the level of a block cancels. Blocks without a value in a weighted column are left out.
//
// The interval takes its width from the residual of the whole table, as Table.Ratio does, unless the contrast
// clearly scatters more or less than the rest: then from its own values, one per block. It needs two blocks.
func (t Table) Contrast(weights []float64, confidence float64) (Ratio, error) {
	var values []float64
	for _, row := range t {
		value := 0.0
		for j, weight := range weights {
			if weight != 0 {
				value += weight * row[j]
			}
		}
		if !math.IsNaN(value) {
			values = append(values, value)
		}
	}
	if len(values) < 2 {
		return Ratio{}, &TooFewError{"contrast by block", len(values), 2}
	}
	squared := 0.0 // the variance of a value, as a multiple of the variance of one trial
	for _, weight := range weights {
		squared += weight * weight
	}
	n := float64(len(values))
	own := noise{squaredDistances(values) / squared, n - 1}
	all := t.fit().residual
	rest := noise{max(0, all.squares-own.squares), all.degrees - own.degrees}
	from, width := OfPair, own
	if rest.degrees >= 1 {
		if more, less := own.compare(rest); more >= scattersMore && less >= scattersLess {
			from, width = OfTable, all
		}
	}
	se := math.Sqrt(squared * width.variance() / n)
	return newRatio(Mean(values), se, width.degrees, len(values), confidence, from), nil
}

// Complete returns the rows that have a value in each of the given columns.
func (t Table) Complete(columns []int) Table {
	return slices.DeleteFunc(slices.Clone(t), func(row []float64) bool {
		return slices.ContainsFunc(columns, func(j int) bool { return math.IsNaN(row[j]) })
	})
}
