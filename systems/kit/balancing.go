package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// KnobBalancing is the knob that selects how a unit chooses among the replicas of another.
const KnobBalancing = "balancing"

// The values of KnobBalancing.
const (
	RoundRobin    = "round-robin"
	LeastRequests = "least-requests"
	TwoChoices    = "two-choices"
)

// Balancing returns the knob.
func Balancing() lab.Knob {
	return lab.Knob{Name: KnobBalancing, Values: []string{RoundRobin, LeastRequests, TwoChoices},
		Summary: "which replica of a unit a caller calls: one after the other, the one with the fewest of its " +
			"open calls, or the better of two that it draws",
		Means: map[string]string{RoundRobin: "round robin over replicas",
			LeastRequests: "calls to the replica with the fewest open calls",
			TwoChoices:    "calls to the better of two replicas"}}
}

// CheckBalancing returns an error for a value of KnobBalancing that has no effect, because no unit that
// others call has replicas. A unit has replicas if the variant adds or autoscales them, or if another unit
// has the same role. units must not include proxies and the generator: they ignore the knob.
func CheckBalancing(balancing string, v lab.Variant, units []lab.UnitSpec) error {
	if balancing == RoundRobin {
		return nil
	}
	roles := map[string]string{}
	instances := map[string]int{}
	for _, u := range units {
		roles[u.Name] = u.Role
		instances[u.Role]++
	}
	var called []string
	for _, u := range units {
		for _, use := range u.Uses {
			role, isUnit := roles[use.To]
			_, isScaled := v.Autoscale[use.To]
			if isScaled || v.Replicas[use.To] > 1 || instances[role] > 1 {
				return nil
			}
			if isUnit && !slices.Contains(called, role) {
				called = append(called, role)
			}
		}
	}
	if len(called) == 0 {
		return fmt.Errorf("%s %s has no effect: no unit calls another", KnobBalancing, balancing)
	}
	slices.Sort(called)
	return fmt.Errorf("%s %s has no effect: no unit that others call has replicas; others call %s",
		KnobBalancing, balancing, strings.Join(called, ", "))
}
