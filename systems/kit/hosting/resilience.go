package hosting

import (
	"time"

	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit"
)

const (
	// attemptTimeout is many times what a call takes, and less than clients wait for an answer.
	attemptTimeout = time.Second
	// mostRetries is the number of attempts after the first one, and retryBudget the number of retries that
	// each call pays for.
	mostRetries = 3
	retryBudget = 0.2
	// mostAtOnce is how many calls a bulkhead lets through to one unit.
	mostAtOnce = 32
)

// Guards returns the guards of a unit's calls for a value of kit.KnobResilience. They count calls for any
// value. Repeatable reports whether a method may be carried out twice; nil: all may.
func Guards(value string, faults rpc.Faults, repeatable func(method string) bool) *resilient.Guards {
	settings := guarding(value)
	settings.Repeatable = repeatable
	return resilient.New(settings, faults)
}

// guarding returns the settings of a value of kit.KnobResilience.
func guarding(value string) resilient.Settings {
	if value == kit.Unguarded {
		return resilient.Settings{}
	}
	s := resilient.Settings{Timeout: attemptTimeout}
	if value == kit.Retries || value == kit.Budgeted || value == kit.Guarded {
		s.Retries = mostRetries
	}
	if value == kit.Budgeted || value == kit.Guarded {
		s.Budget = retryBudget
	}
	s.Breaker = value == kit.Breaker || value == kit.Guarded
	if value == kit.Bulkhead || value == kit.Guarded {
		s.Bulkhead = mostAtOnce
	}
	return s
}
