package stats

import (
	"errors"
	"math"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestContrastOfTwoColumnsIsTheirRatio: with weights 1 and -1 it equals Table.Ratio.
func TestContrastOfTwoColumnsIsTheirRatio(t *testing.T) {
	table := Table{{0.51, 0.89, 2.2}, {0.59, 1.01, 2.3}, {0.3, 0.7, 2.0}}
	want, err := table.Ratio(2, 1, 0.95)
	testset.Must(t, err)
	got, err := table.Contrast([]float64{0, -1, 1}, 0.95)
	testset.Must(t, err)
	within(t, "log ratio", got.LogMean, want.LogMean, 1e-12)
	within(t, "standard error", got.LogSE, want.LogSE, 1e-12)
	near(t, "degrees of freedom", got.Degrees, want.Degrees)
	if got.Spread != OfTable || got.N != 3 {
		t.Errorf("spread %q of %d blocks, want that of the table, 3", got.Spread, got.N)
	}
}

// TestContrastThatScattersStandsAlone: all but a thousandth of the table's noise lies in this contrast, so it
// has the spread of its own values: {-1 0 1}.
func TestContrastThatScattersStandsAlone(t *testing.T) {
	table := Table{{0.5, 0.5, -0.5, -0.5}, {1, 1.001, 1, 1}, {1.5, 1.5, 2.501, 2.5}}
	r, err := table.Contrast([]float64{-0.5, -0.5, 0.5, 0.5}, 0.95)
	testset.Must(t, err)
	if r.Spread != OfPair || r.Degrees != 2 {
		t.Errorf("spread %q with %g degrees of freedom, want its own, 2", r.Spread, r.Degrees)
	}
	within(t, "standard error", r.LogSE, math.Sqrt(1.0/3), 1e-3)
}

// TestContrastNeedsTwoWholeBlocks: a block that lacks a weighted column does not count.
func TestContrastNeedsTwoWholeBlocks(t *testing.T) {
	table := Table{{0, 1, 5}, {0, gap, 5}, {0, 1.1, gap}}
	r, err := table.Contrast([]float64{-1, 1, 0}, 0.95)
	testset.Must(t, err)
	if r.N != 2 {
		t.Errorf("%d blocks, want 2", r.N)
	}
	_, err = table.Contrast([]float64{-1, 0.5, 0.5}, 0.95)
	var few *TooFewError
	if !errors.As(err, &few) {
		t.Errorf("of one block: %v", err)
	}
	if n := len(table.Complete([]int{0, 2})); n != 2 {
		t.Errorf("%d rows have the first and the last column, want 2", n)
	}
}
