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

// Guards returns the guards of a unit's calls for a value of kit.KnobResilience. With any value they count
// calls. repeatable reports whether a failed call of a method may be retried; nil: all may.
func Guards(value string, repeatable func(method string) bool) *resilient.Guards {
	settings := guardSettings(value)
	settings.Repeatable = repeatable
	return resilient.New(settings)
}

// guardSettings returns the settings for a value of kit.KnobResilience.
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
