package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Count formats a number of things: "1 block", "5 blocks".
func Count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		thing += "e"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Plain formats a number that a user has set, such as a rate: with all integer digits, and with decimals only
// up to four significant digits: "12345", "196.8", "0.1667".
func Plain(value float64) string {
	const significant = 4
	decimals := significant
	if value != 0 {
		magnitude := math.Floor(math.Log10(math.Abs(value)))
		decimals = significant - 1 - int(magnitude)
	}
	unit := math.Pow10(max(0, decimals))
	if rounded := math.Round(value*unit) / unit; !math.IsNaN(rounded) && !math.IsInf(rounded, 0) {
		value = rounded
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
