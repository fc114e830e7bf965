package stats

import (
	"math"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestTheIntervalOfAProductJoinsBoth: on the log scale, the distances to its ends are the hypotenuses of
// those of the factors, in either order.
func TestTheIntervalOfAProductJoinsBoth(t *testing.T) {
	a := Estimate{2, 2 / math.Exp(0.3), 2 * math.Exp(0.05), 8}
	b := Estimate{5, 5 / math.Exp(0.4), 5 * math.Exp(0.12), 3}
	for _, pair := range [][2]Estimate{{a, b}, {b, a}} {
		p, err := Product(pair[0], pair[1])
		testset.Must(t, err)
		near(t, "value", p.Value, 10)
		near(t, "low", p.Low, 10/math.Exp(0.5))
		near(t, "high", p.High, 10*math.Exp(0.13))
		if p.N != 3 {
			t.Errorf("N is %d, want 3", p.N)
		}
	}
	if _, err := Product(a, Estimate{5, 0, 6, 3}); err == nil {
		t.Error("a product has an interval although a factor may be 0")
	}
}
