package kit

import "github.com/cleave-lab/cleave/lab"

// KnobResilience is the knob for timeouts, retries and other guards of calls between units.
const KnobResilience = "resilience"

// The values of KnobResilience. All but Unguarded have timeouts; Guarded combines Budgeted, Breaker and
// Bulkhead.
const (
	Unguarded = "unguarded"
	Timeouts  = "timeouts"
	Retries   = "retries"
	Budgeted  = "budgeted-retries"
	Breaker   = "breaker"
	Bulkhead  = "bulkhead"
	Guarded   = "guarded"
)

// Resilience returns the knob.
func Resilience() lab.Knob {
	return lab.Knob{Name: KnobResilience,
		Values: []string{Unguarded, Timeouts, Retries, Budgeted, Breaker, Bulkhead, Guarded},
		Summary: "guard of calls between units: none; timeouts; and with them retries at once, retries with " +
			"pauses and a budget, a circuit breaker, a bulkhead, or the last three",
		Means: map[string]string{Unguarded: "unguarded calls", Timeouts: "timeouts",
			Retries: "retries without a budget", Budgeted: "retries with a budget", Breaker: "a circuit breaker",
			Bulkhead: "a bulkhead", Guarded: "guarded calls"}}
}

// QuantityAmplification is the name of the metric Amplification and of its quantity.
const QuantityAmplification = "amplification"

// Amplification returns the metric for attempts per call between units: 1 without retries.
func Amplification() lab.Metric {
	return lab.Metric{Name: QuantityAmplification, Unit: "1", Better: lab.LowerIsBetter, Kind: lab.KindCount,
		Title:    "attempts sent for each call between units that was asked for",
		Quantity: QuantityAmplification, Source: lab.FromSystem}
}
