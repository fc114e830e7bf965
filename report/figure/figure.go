// Package figure writes numbers for people: each rounded by its own interval, to
// two significant digits of the half-width and three of its own at most, so that no digit
// is printed that the data do not support. Values are given in seconds, bytes or plain numbers;
// the unit is scaled for the eye only. It does not choose what to print.
//
// Entry points: Quantity, Times, Number, Percent, Fixed and After.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Absent stands where there is no number.
const Absent = "-"

// mostDigits is how many significant digits a number has at most: nobody reads more, and an
// interval without width would have them all.
const mostDigits = 3

// Number writes an estimate with its interval: "1.17 [1.11, 1.23]". Without
// an interval it has three significant digits.
func Number(value float64, low, high *float64) string { return write(value, low, high, 1, "") }

// Times writes a ratio to a base: "3.68x [3.46x, 3.91x]" as "3.68x [3.46, 3.91]".
// However wide the interval, the ratio itself keeps a digit: it is never 0x.
// Where the interval spans more than a factor of ten, half of its width says
// nothing about its lower end: each number then has two digits of its own.
func Times(ratio float64, low, high *float64) string {
	if low != nil && high != nil && *low > 0 && finite(*high) && *high > wide**low {
		return fmt.Sprintf("%sx [%s, %s]", two(ratio), two(*low), two(*high))
	}
	if digits := -magnitude(ratio); finite(ratio) && ratio != 0 && Decimals(ratio, low, high) < digits {
		return bracketed(ratio, low, high, digits, "x")
	}
	return write(ratio, low, high, 1, "x")
}

// wide is the ratio of the ends of an interval from which on it is wide.
const wide = 10

// two writes a number with two significant digits.
func two(value float64) string { return Fixed(value, 1-magnitude(value)) }

// Factor returns the ratio of Times alone, for a sentence: "3.68".
func Factor(ratio float64, low, high *float64) string {
	factor, _, _ := strings.Cut(Times(ratio, low, high), "x")
	return factor
}

// Quantity writes an estimate in a unit that is easy to read:
// Quantity(0.03266, ..., "s") is "32.7 ms [31.6, 33.7]".
func Quantity(value float64, low, high *float64, unit string) string {
	name, factor := Scale(value, unit)
	return write(value, low, high, factor, After(name))
}

// After returns a unit as it stands behind a number: " ms", but "/s".
func After(unit string) string {
	if unit == "" || strings.HasPrefix(unit, "/") {
		return unit
	}
	return " " + unit
}

// Percent writes a share: "1.2 %".
func Percent(share float64) string {
	if !finite(share) {
		return Absent
	}
	return Fixed(share*100, min(2*mostDigits, max(0, 1-magnitude(share*100)))) + " %"
}

// Scale returns the unit in which a value is easy to read, and the factor that
// takes the value there. Unknown units are left as they are.
func Scale(value float64, unit string) (name string, factor float64) {
	var names []string
	step := 1e3
	switch unit {
	case "s":
		names = []string{"s", "ms", "us", "ns"}
	case "B":
		value, step = value/(1<<30), 1<<10
		names = []string{"GiB", "MiB", "KiB", "B"}
	case "B/s":
		name, factor = Scale(value, "B")
		return name + "/s", factor
	case "1":
		return "", 1
	case "1/s":
		return "/s", 1
	default:
		return unit, 1
	}
	factor = 1
	for i, name := range names {
		// What would show as 1.00 of the larger unit belongs to it.
		if math.Abs(value)*factor >= 0.9995 || i == len(names)-1 || value == 0 && name == unit {
			if unit == "B" {
				factor /= 1 << 30
			}
			return name, factor
		}
		factor *= step
	}
	return unit, 1
}

// write shows value*factor with a suffix and its interval in brackets.
func write(value float64, low, high *float64, factor float64, suffix string) string {
	if !finite(value) {
		return Absent
	}
	low, high = scaled(low, factor), scaled(high, factor)
	return bracketed(value*factor, low, high, Decimals(value*factor, low, high), suffix)
}

// bracketed writes a number with its interval behind it, if there is one.
func bracketed(value float64, low, high *float64, digits int, suffix string) string {
	text := Fixed(value, digits) + suffix
	if low == nil || high == nil || !finite(*low) || !finite(*high) {
		return text
	}
	return fmt.Sprintf("%s [%s, %s]", text, Fixed(*low, digits), Fixed(*high, digits))
}

// Decimals returns the rounding rule: how many digits after the point a number
// deserves: two significant digits of the half-width of its interval, and at most three
// of its own.
// A negative count rounds to tens, hundreds and so on.
func Decimals(value float64, low, high *float64) int {
	most := mostDigits - 1 - magnitude(value*1.0005) // 0.9996 will show as 1.00
	if low != nil && high != nil {
		if half := (*high - *low) / 2; finite(half) && half > 0 {
			return min(most, 1-magnitude(half))
		}
	}
	return most
}

// magnitude returns the power of ten of a number's first digit; 0 for 0.
func magnitude(value float64) int {
	if value == 0 {
		return 0
	}
	return int(math.Floor(math.Log10(math.Abs(value))))
}

func scaled(value *float64, factor float64) *float64 {
	if value == nil {
		return nil
	}
	out := *value * factor
	return &out
}

// Fixed writes a number with so many digits after the point, never "-0".
func Fixed(value float64, digits int) string {
	if digits < 0 {
		step := math.Pow10(-digits)
		value, digits = math.Round(value/step)*step, 0
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if shown, err := strconv.ParseFloat(text, 64); err == nil && shown == 0 {
		return strconv.FormatFloat(0, 'f', digits, 64)
	}
	return text
}

func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
