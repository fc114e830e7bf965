package report

import (
	"strconv"

	"github.com/cleave-lab/cleave/report/figure"
)

// absent stands where a number does not exist.
const absent = figure.Absent

// plainNumber shows a number as it was written: no scaling, no rounding.
func plainNumber(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// optional shows a number in six significant digits, or that there is none.
func optional(value *float64) string {
	if value == nil || !figure.Finite(*value) {
		return absent
	}
	return strconv.FormatFloat(*value, 'g', 6, 64)
}

// plusMinus shows a number with its standard error in a unit for the eye,
// rounded by that error: "7.16 ± 0.11 ms".
func plusMinus(value, standardError float64, unit string) string {
	if !figure.Finite(value) {
		return absent
	}
	name, factor := figure.Scale(value, unit)
	name = figure.After(name)
	value, standardError = value*factor, standardError*factor
	if !figure.Finite(standardError) || standardError <= 0 {
		return figure.Number(figure.Alone(value)) + name
	}
	digits := figure.Decimals(figure.Between(value, value-standardError, value+standardError))
	return figure.Fixed(value, digits) + " ± " + figure.Fixed(standardError, digits) + name
}

// span shows an interval without its centre.
func span(low, high *float64) string {
	if low == nil || high == nil {
		return absent
	}
	digits := figure.Decimals(figure.Between((*low+*high)/2, *low, *high))
	return "[" + figure.Fixed(*low, digits) + ", " + figure.Fixed(*high, digits) + "]"
}
