package report

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestBlocksThatCount: tables show the number of blocks that count, not the number that was planned.
func TestBlocksThatCount(t *testing.T) {
	result := func(variant, point string, n int) lab.Result {
		return lab.Result{Variant: variant, Point: lab.Point{Name: point}, N: n}
	}
	for want, results := range map[string][]lab.Result{
		"0 blocks":      nil,
		"1 block":       {result("a", "p", 1)},
		"4 blocks":      {result("a", "p", 4), result("a", "p", 2), result("b", "p", 4)},
		"2 to 4 blocks": {result("a", "p", 4), result("a", "q", 2), result("b", "p", 3)},
	} {
		if got := newView(lab.Analysis{Blocks: 8, Results: results}).counting; got != want {
			t.Errorf("%v: %q, want %q", results, got, want)
		}
	}
}
