package hosting

import (
	"time"

	"github.com/cleave-lab/cleave/binding/resilient"
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

// Resilience returns the settings of a value of kit.KnobResilience.
func Resilience(value string) resilient.Settings {
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
