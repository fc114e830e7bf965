package stats

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
)

// Verdict says whether a ratio differs from 1, given a margin and a bias.
type Verdict struct {
	Kind lab.ComparisonVerdict
	// Words is the verdict as text: "slower by at least 4.1 %".
	Words string
	// MoreBlocks estimates the number of further blocks that decide an undecided ratio, 0 if it is unknown or if
	// none would.
	MoreBlocks int
}

// Wording names the two directions of a ratio: {"slower", "faster"} for times.
type Wording struct {
	Above string // a ratio over 1
	Below string // a ratio under 1
}

// Gates holds the two differences, as ratio - 1, that an interval must exceed to be a sure verdict.
type Gates struct {
	// Margin is the smallest difference that matters (0.05: five percent).
	Margin float64
	// Bias is the difference between a variant and its twin, which is the same variant
	// again. It is 0 if the two were not found to differ.
	Bias float64
}

// Widest returns the larger of the two.
func (g Gates) Widest() float64 { return max(g.Margin, g.Bias) }

// Judge returns the verdict on a ratio, by the first of these rules that applies to its interval. Wholly
// beyond margin and bias: slower or faster, by at least its nearer end. Wholly within [1/(1+margin),
// 1+margin]: equivalent (two one-sided tests, Schuirmann 1987), whatever the bias. Wholly within the bias:
// undecided. Without 1: slower or faster, with both ends. Else: undecided.
func Judge(ratio Estimate, gates Gates, words Wording) Verdict {
	beyond := 1 + gates.Widest()
	switch {
	case ratio.Low > beyond:
		return Verdict{Kind: lab.Slower, Words: words.Above + " by at least " + atLeast(ratio.Low)}
	case ratio.High < 1/beyond:
		return Verdict{Kind: lab.Faster, Words: words.Below + " by at least " + atLeast(ratio.High)}
	case ratio.within(gates.Margin):
		return Verdict{Kind: lab.Equivalent, Words: "equivalent within " + Reach(gates.Widest())}
	case ratio.within(gates.Bias):
		return Verdict{Kind: lab.Undecided, Words: "undecided: within the bias of " + Reach(gates.Bias) +
			" that a twin shows"}
	case ratio.Low > 1:
		return Verdict{Kind: lab.Slower, Words: words.Above + " by " + fromOne(ratio.Low) + " to " +
			fromOne(ratio.High)}
	case ratio.High < 1:
		return Verdict{Kind: lab.Faster, Words: words.Below + " by " + fromOne(ratio.High) +
			" to " + fromOne(ratio.Low)}
	}
	return undecided(ratio, gates)
}

// within reports whether the whole interval of a ratio lies within a margin.
func (e Estimate) within(margin float64) bool {
	return e.Low >= 1/(1+margin) && e.High <= 1+margin
}

// undecided returns the verdict on a ratio whose interval includes 1, with the number of further blocks that
// would decide it if the estimate stayed: k = n (halfwidth/target)^2 - n, on the log scale. The target is the
// widest half-width with which the interval lies within the margin, or excludes 1 without lying within the
// bias.
func undecided(ratio Estimate, gates Gates) Verdict {
	const most = 10000
	distance := math.Abs(math.Log(ratio.Value))
	target := math.Log1p(gates.Margin) - distance
	if 2*distance > math.Log1p(gates.Bias) {
		target = max(target, distance)
	} else if target <= 0 && gates.Bias > 0 {
		return Verdict{Kind: lab.Undecided, Words: "undecided: hidden by the bias of " + Reach(gates.Bias) +
			" that a twin shows"}
	}
	half := (math.Log(ratio.High) - math.Log(ratio.Low)) / 2
	n := float64(ratio.N)
	more := math.Ceil(n*(half/target)*(half/target) - n)
	if !(more <= most) {
		return Verdict{Kind: lab.Undecided, Words: fmt.Sprintf("undecided: more than %d more blocks needed", most)}
	}
	blocks := max(1, int(more))
	return Verdict{Kind: lab.Undecided, MoreBlocks: blocks,
		Words: "undecided: about " + lab.Count(blocks, "more block") + " needed"}
}

// Reach formats a margin or a bias: "5 %", or "a factor of 2.4" from 1 on. Above 9 it is only called more
// than a factor of ten: so wide a bias comes from too few blocks.
func Reach(share float64) string {
	const known = 9
	switch {
	case share > known:
		return "a factor of more than ten (too few blocks to tell)"
	case share >= 1:
		return "a factor of " + twoDigits(1+share)
	}
	return percent(share)
}

// fromOne formats the distance of an end of an interval from 1, to two digits: "4.1 %", or "a factor of 3.4".
func fromOne(ratio float64) string {
	return distance(ratio, func(value float64) float64 { return value })
}

// atLeast formats the distance from 1 rounded down, so that "at least" stays true.
func atLeast(ratio float64) string { return distance(ratio, roundDown) }

// distance formats the rounded distance of a ratio from 1.
func distance(ratio float64, rounded func(float64) float64) string {
	switch {
	case ratio >= 2:
		return "a factor of " + twoDigits(rounded(ratio))
	case ratio > 1:
		return percent(rounded(ratio - 1))
	case ratio > 0.5:
		return percent(rounded(1 - ratio))
	}
	return "a factor of " + twoDigits(rounded(1/ratio))
}

// percent formats a share in percent, without trailing zeros: "5 %".
func percent(share float64) string { return twoDigits(share*100) + " %" }

// twoDigits formats a number with two significant digits, from 100 on as a whole number, without
// trailing zeros: "0.071", "5", "12", "880".
func twoDigits(value float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 2, 64), 64)
	if err != nil || math.Abs(value) >= 100 {
		short = math.Round(value)
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// roundDown rounds a positive number down to two significant digits.
func roundDown(value float64) float64 {
	if value <= 0 {
		return 0
	}
	power := math.Floor(math.Log10(value))
	step := math.Pow10(int(power) - 1)
	// 1e-9 keeps 0.29 from becoming 0.28: its binary form is a little less.
	return math.Floor(value/step+1e-9) * step
}
