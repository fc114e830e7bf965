package architecture

import (
	"fmt"
	"strconv"
)

// The named values of KnobSpans.
const (
	spansOn  = "on"
	SpansOff = "off" // no order is followed
)

// tracedShare is how many orders are traced where nobody says: enough for a path of a
// median and of a slow order per trial, for well under 3 % of the CPU
// (docs/tracing.md has the measurements).
const tracedShare = 1.0 / 32

// share reads which share of the orders is traced.
func share(text string) (float64, error) {
	switch text {
	case spansOn:
		return tracedShare, nil
	case SpansOff:
		return 0, nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value <= 1) {
		return 0, fmt.Errorf("%s is %q: use %s, %s, or a share from 0 to 1", KnobSpans, text, spansOn, SpansOff)
	}
	return value, nil
}
