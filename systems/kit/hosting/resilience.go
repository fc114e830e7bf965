package hosting

import (
	"time"

	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/systems/kit"
)

const (
	// attemptTimeout limits an attempt: many times the usual duration of a call, but less than clients wait.
	attemptTimeout = time.Second
	// maxRetries is the most retries of one call, and retryBudget the retries that each call adds to the budget
	// of all.
	maxRetries  = 3
	retryBudget = 0.2
	// bulkheadSize is the most concurrent calls to one unit that a bulkhead admits.
	bulkheadSize = 32
)

// guardSettings returns the settings of a unit's guards for a value of kit.KnobResilience. Guards with any
// settings count calls.
func guardSettings(value string) resilient.Settings {
	if value == kit.Unguarded {
		return resilient.Settings{}
	}
	s := resilient.Settings{Timeout: attemptTimeout}
	if value == kit.Retries || value == kit.Budgeted || value == kit.Guarded {
		s.Retries = maxRetries
	}
	if value == kit.Budgeted || value == kit.Guarded {
		s.Budget = retryBudget
	}
	s.Breaker = value == kit.Breaker || value == kit.Guarded
	if value == kit.Bulkhead || value == kit.Guarded {
		s.Bulkhead = bulkheadSize
	}
	return s
}
