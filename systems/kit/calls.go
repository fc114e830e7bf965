package kit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// CallKnobs returns the knobs that change calls between units, as every system with such calls has them. The
// first value of each changes nothing, and none has an effect where all components are in one unit.
func CallKnobs() []lab.Knob {
	return []lab.Knob{Encoding(), Security(), Resilience(), Balancing(), Sidecar()}
}

// Settings are the values of CallKnobs, KnobLogging and KnobSpans.
type Settings struct {
	Encoding, Security, Resilience, Sidecar, Balancing, Logging string

	Spans float64 // the share of requests that are traced
}

// ReadSettings reads them from the values of all knobs.
func ReadSettings(values map[string]string) (Settings, error) {
	spans, err := TracedShare(values)
	return Settings{Encoding: values[KnobEncoding], Security: values[KnobSecurity],
		Resilience: values[KnobResilience], Sidecar: values[KnobSidecar], Balancing: values[KnobBalancing],
		Logging: values[KnobLogging], Spans: spans}, err
}

// IsOfCalls reports whether a knob is one of CallKnobs.
func IsOfCalls(knob string) bool {
	return slices.ContainsFunc(CallKnobs(), func(k lab.Knob) bool { return k.Name == knob })
}

// AddsToCalls reports whether a value of one of CallKnobs adds something to calls.
func AddsToCalls(knob, value string) bool {
	return slices.ContainsFunc(CallKnobs(), func(k lab.Knob) bool {
		return k.Name == knob && k.Values[0] != value
	})
}

// CheckCalls refuses settings of CallKnobs that add nothing, since a system has one unit.
func CheckCalls(settings map[string]string, units int) error {
	var mistakes []error
	for _, k := range CallKnobs() {
		if value, set := settings[k.Name]; set && units == 1 && AddsToCalls(k.Name, value) {
			mistakes = append(mistakes, fmt.Errorf("%s %s has no effect: all components are in one unit, which "+
				"calls no other", k.Name, value))
		}
	}
	return errors.Join(mistakes...)
}
