package kit

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestBalancingNeedsReplicasThatAreCalled: replicas of a unit that no other calls, and backing servers, do
// not count.
func TestBalancingNeedsReplicasThatAreCalled(t *testing.T) {
	front := lab.UnitSpec{Name: "front", Role: "front"}
	front.Uses = []lab.Use{{To: "oven-1"}, {To: "database"}}
	oven := lab.UnitSpec{Name: "oven-1", Role: "oven"}
	second := lab.UnitSpec{Name: "oven-2", Role: "oven"}
	one := []lab.UnitSpec{front, oven}
	two := []lab.UnitSpec{front, oven, second}
	for name, c := range map[string]struct {
		value   string
		variant lab.Variant
		units   []lab.UnitSpec
		refused bool
	}{
		"round robin needs none":     {RoundRobin, lab.Variant{}, one, false},
		"no replicas":                {TwoChoices, lab.Variant{}, one, true},
		"one of each":                {TwoChoices, lab.Variant{Replicas: map[string]int{"oven-1": 1}}, one, true},
		"replicas that nobody calls": {LeastRequests, lab.Variant{Replicas: map[string]int{"front": 2}}, one, true},
		"replicas of the variant": {LeastRequests, lab.Variant{Replicas: map[string]int{"oven-1": 2}}, one,
			false},
		"autoscaled replicas": {TwoChoices,
			lab.Variant{Autoscale: map[string]lab.Autoscale{"oven-1": {Max: 3}}}, one, false},
		"units of one role": {TwoChoices, lab.Variant{}, two, false},
		"nobody calls":      {TwoChoices, lab.Variant{}, []lab.UnitSpec{oven, second}, true},
	} {
		err := CheckBalancing(c.value, c.variant, c.units)
		if (err != nil) != c.refused || err != nil && !strings.HasPrefix(err.Error(), "balancing "+c.value+
			" has no effect: no unit ") {
			t.Errorf("%s: %v, want refused: %t", name, err, c.refused)
		}
	}
}
