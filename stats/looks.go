package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// pocock returns the part of alpha, the chance of a false finding, that may be spent once a share of the
// planned blocks is played. It gives all looks about the same level (the alpha spending function of Lan and
// DeMets 1983 after Pocock).
func pocock(share, alpha float64) float64 { return alpha * math.Log1p((math.E-1)*share) }

// Looks returns the significance level of each look of a group sequential design that analyses its data after
// every block from first to last: levels[0] is for the look after first blocks. Intervals with confidence 1 -
// level hold the true value at all looks together with probability 1 - alpha (repeated confidence intervals;
// Jennison and Turnbull 1989). So one may stop at any look, for any reason. The levels come from the bounds
// of a normal mean with blocks of equal information, by numerical integration (Armitage, McPherson and Rowe
// 1969). Student t intervals at these levels keep alpha closely (Jennison and Turnbull 2000, section 3.8);
// stats/bench measures how closely.
func Looks(first, last int, alpha float64) []float64 {
	var levels []float64
	var inside density // of the sum over the blocks so far, without what crossed a bound at a look
	spent := 0.0
	for n := first; n <= last; n++ {
		step := 1.0
		if n == first {
			inside = density{{0, 1}}
			step = float64(n)
		}
		budget := pocock(float64(n)/float64(last), alpha)
		bound := inside.bound(math.Sqrt(step), budget-spent)
		spent = budget
		deviations := bound / math.Sqrt(float64(n))
		levels = append(levels, 2*distuv.UnitNormal.Survival(deviations))
		inside = inside.add(math.Sqrt(step), bound)
	}
	return levels
}

// Sequence holds the levels of the looks of one design for any alpha, the chance of a false finding: that of
// the study, and the smaller ones of the members of a family of comparisons.
type Sequence struct {
	first  int         // blocks at the first look
	chance []float64   // values of alpha, falling
	level  [][]float64 // level[look][i] belongs to chance[i]
}

// NewSequence returns the levels of a design that looks after every block from first to last. It computes
// them for chances from 0.5 down to about 1e-9; Level and P interpolate.
func NewSequence(first, last int) Sequence {
	s := Sequence{first: first, level: make([][]float64, last-first+1)}
	for decade := 0.1; decade > 1e-9; decade /= 10 {
		s.chance = append(s.chance, 5*decade, 2*decade, decade)
	}
	for _, chance := range s.chance {
		for i, level := range Looks(first, last, chance) {
			s.level[i] = append(s.level[i], level)
		}
	}
	return s
}

// Level returns the level of the look after n blocks in a design with alpha = chance (see Looks). Before the
// first look it returns the first level, after the last look the last one.
func (s Sequence) Level(chance float64, n int) float64 {
	return between(s.chance, s.level[s.look(n)], chance)
}

// P converts the p-value of the look after n blocks to one for all looks together: the smallest alpha at
// which it is significant. P is the inverse of Level.
func (s Sequence) P(p float64, n int) float64 {
	return min(1, between(s.level[s.look(n)], s.chance, p))
}

// look returns the index of the look after n blocks.
func (s Sequence) look(n int) int { return min(max(n-s.first, 0), len(s.level)-1) }

// between returns the number in to that belongs to at in from, interpolated on log scales. Both lists fall,
// from an implied first entry of 1. Below the last entry of from, the result is proportional to at.
func between(from, to []float64, at float64) float64 {
	if at <= 0 {
		return 0
	}
	x0, y0 := 1.0, 1.0
	for i, x1 := range from {
		if y1 := to[i]; at >= x1 {
			return y0 * math.Pow(y1/y0, math.Log(at/x0)/math.Log(x1/x0))
		}
		x0, y0 = x1, to[i]
	}
	return y0 * at / x0
}

// density is a distribution of a sum, as points with their masses.
type density []struct{ at, mass float64 }

// bound returns the bound outside of which the sum lies with the given probability, both sides together,
// after a normal step of the given standard deviation.
func (d density) bound(deviation, probability float64) float64 {
	low, high := 0.0, 0.0
	for d.beyond(high, deviation) > probability {
		high += deviation
	}
	for range 60 {
		if middle := (low + high) / 2; d.beyond(middle, deviation) > probability {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// beyond returns the probability that the sum lies outside the bound, both sides together, after a normal
// step of the given standard deviation.
func (d density) beyond(bound, deviation float64) float64 {
	sum := 0.0
	for _, p := range d {
		sum += p.mass * (math.Erfc((bound-p.at)/deviation/math.Sqrt2) +
			math.Erfc((bound+p.at)/deviation/math.Sqrt2)) / 2
	}
	return sum
}

// add returns the density after a normal step, cut off at the bound on both sides, as a grid for Simpson's
// rule. The grid must be finer than the step, which it is for lab.MostLooked blocks, but not for hundreds.
func (d density) add(deviation, bound float64) density {
	const intervals = 160
	width := 2 * bound / intervals
	next := make(density, intervals+1)
	for i := range next {
		at, weight := -bound+float64(i)*width, 2.0
		switch {
		case i == 0 || i == intervals:
			weight = 1
		case i%2 == 1:
			weight = 4
		}
		sum := 0.0
		for _, p := range d {
			z := (at - p.at) / deviation
			sum += p.mass * math.Exp(-z*z/2)
		}
		next[i].at = at
		next[i].mass = sum / (deviation * math.Sqrt(2*math.Pi)) * weight * width / 3
	}
	return next
}
