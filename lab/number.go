package lab

import (
	"math"
	"strconv"
)

// Plain writes a number that was set, such as a rate, for people: with all of its whole digits, and
// four significant ones at most behind the point: "12345", "196.8", "0.1667".
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
