// Package figure formats numbers for readers, and the words beside them. It rounds each number to two
// significant digits of the half-width of its interval and at most three of its own, so that it prints no
// digit that the data do not support. Values are in seconds, bytes or plain numbers; a larger or smaller
// unit is chosen for display only. It does not choose what to print.
//
// Entry points: Quantity, Difference, Times and Number for estimates, which Alone and Between make of plain
// numbers; Amount, Multiple, Rounded, Percent, Percentile, Setting, Fixed and After for plain numbers; Count,
// Changes and And for words.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Absent is printed in place of a missing number.
const Absent = "-"

// mostDigits is the largest number of significant digits: readers need no more, and without it the interval
// of width 0 would allow any number.
const mostDigits = 3

// Alone returns an estimate without an interval.
func Alone(value float64) lab.Estimate { return lab.Estimate{Value: value} }

// Known returns the values that are not nil.
func Known(values []*float64) []float64 {
	var all []float64
	for _, value := range values {
		if value != nil {
			all = append(all, *value)
		}
	}
	return all
}

// Between returns an estimate with its interval.
func Between(value, low, high float64) lab.Estimate {
	return lab.Estimate{Value: value, Low: &low, High: &high}
}

// HasInterval reports whether an estimate has both ends of an interval.
func HasInterval(e lab.Estimate) bool { return e.Low != nil && e.High != nil }

// hasFiniteInterval reports whether an estimate has an interval that can be shown.
func hasFiniteInterval(e lab.Estimate) bool {
	return HasInterval(e) && Finite(*e.Low) && Finite(*e.High)
}

// Number formats an estimate with its interval: "1.17 [1.11, 1.23]". Without
// an interval it has three significant digits.
func Number(e lab.Estimate) string { return write(e, 1, "") }

// Rounded formats a number without an interval: "1.17".
func Rounded(value float64) string { return Number(Alone(value)) }

// Times formats a ratio to a base: "3.68x [3.46, 3.91]". However wide the interval,
// the ratio itself keeps a digit: it is never 0x. If the interval spans more than a
// factor of ten, half of its width says nothing about its lower end: each number
// then has two significant digits.
func Times(e lab.Estimate) string {
	if IsWide(e) && *e.Low > 0 && Finite(*e.High) {
		two := func(value float64) string {
			if m := magnitude(value); m < -4 || m > 5 { // intervals from two blocks can be this wide
				return strconv.FormatFloat(value, 'e', 1, 64)
			}
			return Fixed(value, 1-magnitude(value))
		}
		return fmt.Sprintf("%sx [%s, %s]", two(e.Value), two(*e.Low), two(*e.High))
	}
	isShown := Finite(e.Value) && e.Value != 0
	if digits := -magnitude(e.Value); isShown && Decimals(e) < digits {
		return bracketed(e, digits, "x")
	}
	return write(e, 1, "x")
}

// Multiple formats a ratio without an interval: "3.68x".
func Multiple(ratio float64) string { return Times(Alone(ratio)) }

// IsWide reports whether a ratio has an interval that spans more than a factor of ten, or reaches 0.
func IsWide(e lab.Estimate) bool {
	const wide = 10
	return HasInterval(e) && *e.High > wide*(*e.Low)
}

// Factor returns the ratio that Times prints, without its interval, for a sentence: "3.68".
func Factor(e lab.Estimate) string {
	factor, _, _ := strings.Cut(Times(e), "x")
	return factor
}

// Quantity formats an estimate in a unit that is easy to read: 0.03266 in "s" is
// "32.7 ms [31.6, 33.7]".
func Quantity(e lab.Estimate, unit string) string {
	name, factor := Scale(e.Value, unit)
	return write(e, factor, After(name))
}

// Difference formats a difference of quantities with its interval. The difference may be near 0: its unit is
// one in which the farther end of the interval is easy to read.
func Difference(e lab.Estimate, unit string) string {
	farthest := math.Abs(e.Value)
	if hasFiniteInterval(e) {
		farthest = max(farthest, math.Abs(*e.Low), math.Abs(*e.High))
	}
	name, factor := Scale(farthest, unit)
	return write(e, factor, After(name))
}

// Amount formats a quantity without an interval: "32.7 ms".
func Amount(value float64, unit string) string { return Quantity(Alone(value), unit) }

// After returns a unit as it is printed after a number: " ms", but "/s".
func After(unit string) string {
	if unit == "" || strings.HasPrefix(unit, "/") {
		return unit
	}
	return " " + unit
}

// Percent formats a share with two significant digits, but never rounds beyond whole percents, and prints at
// most six digits after the point: "1.2 %".
func Percent(share float64) string {
	if !Finite(share) {
		return Absent
	}
	percent := share * 100
	digits := max(0, 1-magnitude(percent))
	return Fixed(percent, min(6, digits)) + " %"
}

// Percentile returns the short name of a quantile: "p50", and "p999" for 0.999.
func Percentile(quantile float64) string {
	return "p" + strings.ReplaceAll(strconv.FormatFloat(100*quantile, 'g', 6, 64), ".", "")
}

// Setting formats a share that was chosen, not measured, without rounding: "5 %".
func Setting(share float64) string { return strconv.FormatFloat(100*share, 'g', 10, 64) + " %" }

// scaledUnit is a unit in which values are shown, and the factor that converts values to it.
type scaledUnit struct {
	name   string
	factor float64
}

// scaledUnits holds the units in which times and bytes are shown, the largest first.
var scaledUnits = map[string][]scaledUnit{
	"s": {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}},
	"B": {{"GiB", 1. / (1 << 30)}, {"MiB", 1. / (1 << 20)}, {"KiB", 1. / (1 << 10)}, {"B", 1}},
}

// Scale returns the unit in which a value is easy to read, and the factor that
// converts the value to it. Units other than those of time and bytes have the factor 1: "1" becomes "" and
// "1/s" becomes "/s", all others are left as they are.
func Scale(value float64, unit string) (name string, factor float64) {
	switch unit {
	case "B/s":
		name, factor = Scale(value, "B")
		return name + "/s", factor
	case "1":
		return "", 1
	case "1/s":
		return "/s", 1
	}
	units := scaledUnits[unit]
	if value == 0 || len(units) == 0 {
		return unit, 1
	}
	for _, u := range units {
		if math.Abs(value)*u.factor >= 0.9995 { // it would be rounded to 1.00 of this unit
			return u.name, u.factor
		}
	}
	smallest := units[len(units)-1]
	return smallest.name, smallest.factor
}

// write formats an estimate multiplied by a factor, with a suffix and its interval in brackets.
func write(e lab.Estimate, factor float64, suffix string) string {
	if !Finite(e.Value) {
		return Absent
	}
	e = e.Times(factor)
	return bracketed(e, Decimals(e), suffix)
}

// bracketed formats a number, followed by its interval if it has a finite one.
func bracketed(e lab.Estimate, digits int, suffix string) string {
	text := Fixed(e.Value, digits) + suffix
	if !hasFiniteInterval(e) {
		return text
	}
	return fmt.Sprintf("%s [%s, %s]", text, Fixed(*e.Low, digits), Fixed(*e.High, digits))
}

// Decimals returns how many digits a number has after the point: two significant digits of the half-width
// of its interval, and at most three of its own. A negative count rounds to tens, hundreds and so on.
func Decimals(e lab.Estimate) int {
	most := mostDigits - 1 - magnitude(e.Value*1.0005) // 0.9996 is shown as 1.00
	if HasInterval(e) {
		if half := (*e.High - *e.Low) / 2; Finite(half) && half > 0 {
			return min(most, 1-magnitude(half))
		}
	}
	return most
}

// magnitude returns the power of ten of the first significant digit of a number, and 0 for 0.
func magnitude(value float64) int {
	if value == 0 {
		return 0
	}
	power := math.Log10(math.Abs(value))
	return int(math.Floor(power))
}

// Fixed formats a number with the given count of digits after the point, and never returns "-0". A negative
// count rounds to tens, hundreds and so on.
func Fixed(value float64, digits int) string {
	if digits < 0 {
		step := math.Pow10(-digits)
		value = math.Round(value/step) * step
		digits = 0
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if shown, err := strconv.ParseFloat(text, 64); err == nil && shown == 0 {
		return strconv.FormatFloat(0, 'f', digits, 64)
	}
	return text
}

// Finite reports whether a number can be shown as digits.
func Finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
