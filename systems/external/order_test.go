package external

import (
	"fmt"
	"slices"
	"testing"
)

// TestAnOrderIsFoundAlongEachUnitOnce: many units that each depend on all units before them take little time.
func TestAnOrderIsFoundAlongEachUnitOnce(t *testing.T) {
	after := map[string][]string{}
	var all []string
	for i := range 60 {
		name := fmt.Sprintf("unit-%d", i)
		after[name] = slices.Clone(all)
		all = append(all, name)
	}
	if waits(after, "unit-59", "none") || !waits(after, "unit-59", "unit-0") ||
		waits(after, "unit-0", "unit-59") {
		t.Error("who waits for whom is wrong")
	}
}
