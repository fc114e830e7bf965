package report

import (
	"math"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// absent stands where a number does not exist.
const absent = figure.Absent

// estimate is a number with its interval, nil where there is none.
type estimate struct {
	value     float64
	low, high *float64
}

// single returns an estimate without an interval.
func single(value float64) estimate { return estimate{value: value} }

// ofRatio returns the estimate inside a lab.Ratio.
func ofRatio(r lab.Ratio) estimate { return estimate{r.Ratio, r.Low, r.High} }

// ofResult returns the estimate inside a lab.Result.
func ofResult(r lab.Result) estimate { return estimate{r.Mean, r.Low, r.High} }

// quantity shows an estimate with its unit: "32.66 s [31.58, 33.75]".
func (e estimate) quantity(unit string) string {
	return figure.Quantity(e.value, e.low, e.high, unit)
}

// times shows an estimate as a ratio to a base: "3.68x [3.46, 3.91]".
func (e estimate) times() string { return figure.Times(e.value, e.low, e.high) }

// number shows an estimate that has no unit of its own.
func (e estimate) number() string { return figure.Number(e.value, e.low, e.high) }

// finite reports whether a number can be shown as digits.
func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// setting shows a share that was chosen, not measured, without rounding: "5 %".
func setting(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 10, 64) + " %"
}

// plainNumber shows a number as it was written: no scaling, no rounding.
func plainNumber(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// optional shows a number in six significant digits, or that there is none.
func optional(value *float64) string {
	if value == nil || !finite(*value) {
		return absent
	}
	return strconv.FormatFloat(*value, 'g', 6, 64)
}

// plusMinus shows a number with its standard error in a unit for the eye,
// rounded by that error: "7.16 ± 0.11 ms".
func plusMinus(value, standardError float64, unit string) string {
	if !finite(value) {
		return absent
	}
	name, factor := figure.Scale(value, unit)
	name = figure.After(name)
	value, standardError = value*factor, standardError*factor
	if !finite(standardError) || standardError <= 0 {
		return single(value).number() + name
	}
	low, high := value-standardError, value+standardError
	digits := figure.Decimals(value, &low, &high)
	return figure.Fixed(value, digits) + " ± " + figure.Fixed(standardError, digits) + name
}

// span shows an interval without its centre.
func span(low, high *float64) string {
	if low == nil || high == nil {
		return absent
	}
	digits := figure.Decimals((*low+*high)/2, low, high)
	return "[" + figure.Fixed(*low, digits) + ", " + figure.Fixed(*high, digits) + "]"
}
