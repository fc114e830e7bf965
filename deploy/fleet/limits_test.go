package fleet

import (
	"math"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestLimitsThatNoHostCanEnforce: a share of the processors that is no number is refused like one that is too
// small or too large.
func TestLimitsThatNoHostCanEnforce(t *testing.T) {
	for _, cpu := range []float64{-1, 0.001, 1e6, math.Inf(1), math.NaN()} {
		units := []lab.UnitSpec{{Name: "a", Limits: lab.Limits{CPU: cpu}}}
		if err := CheckLimits(units); err == nil || !strings.Contains(err.Error(), "unit a cannot be limited to") {
			t.Errorf("%g processors: %v, want a refusal", cpu, err)
		}
	}
	if err := CheckLimits([]lab.UnitSpec{{Name: "a"}, {Name: "b", Limits: lab.Limits{CPU: 0.5}}}); err != nil {
		t.Errorf("no limit, and half a processor: %v", err)
	}
}
