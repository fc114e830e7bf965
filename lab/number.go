package lab

import (
	"math"
	"strconv"
)

// Plain formats a number that a user has set, such as a rate: with all integer digits, and with decimals only
// up to four significant digits: "12345", "196.8", "0.1667".
func Plain(value float64) string {
	const significant = 4
	decimals := significant
	if value != 0 {
		decimals = significant - 1 - int(math.Floor(math.Log10(math.Abs(value))))
	}
	unit := math.Pow10(max(0, decimals))
	if rounded := math.Round(value*unit) / unit; !math.IsNaN(rounded) && !math.IsInf(rounded, 0) {
		value = rounded
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
