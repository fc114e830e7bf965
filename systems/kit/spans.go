package kit

import (
	"fmt"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
)

// KnobSpans is the knob for the share of requests that are traced.
const KnobSpans = "spans"

// The named values of KnobSpans. Other values are shares of requests.
const (
	SpansOff = "off"
	SpansOn  = "on"
	SpansAll = "all"
)

// tracedShare is the share of requests that SpansOn traces. In the shop that is enough to see the critical
// path of a median and of a slow order in each trial, and costs well under 3 % of the CPU time (measured in
// docs/tracing.md).
const tracedShare = 1.0 / 32

// Spans returns the knob of a system with a default value, which comes first. requests is the system's word
// for its requests, in the plural.
func Spans(byDefault, requests string) lab.Knob {
	values := []string{byDefault}
	for _, value := range []string{SpansOff, SpansOn, SpansAll} {
		if value != byDefault {
			values = append(values, value)
		}
	}
	return lab.Knob{Name: KnobSpans, Free: true, Values: values,
		Summary: fmt.Sprintf("%s that are traced through all units: none, one in %.0f, all, or a share such as 0.5",
			requests, 1/tracedShare),
		Means: map[string]string{SpansOff: "no traces", SpansOn: fmt.Sprintf("one trace in %.0f", 1/tracedShare),
			SpansAll: "every trace"}}
}

// TracedShare returns the share of requests that KnobSpans selects, 0 to 1.
func TracedShare(settings map[string]string) (float64, error) {
	switch text := settings[KnobSpans]; text {
	case SpansOff:
		return 0, nil
	case SpansOn:
		return tracedShare, nil
	case SpansAll:
		return 1, nil
	default:
		value, err := strconv.ParseFloat(text, 64)
		isShare := err == nil && value >= 0 && value <= 1
		if !isShare { // such as NaN
			return 0, fmt.Errorf("%s is %q: use %s, %s, %s, or a share from 0 to 1", KnobSpans, text, SpansOff,
				SpansOn, SpansAll)
		}
		return value, nil
	}
}
