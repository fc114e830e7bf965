package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// fewestLevels is the number of levels that the law needs: three parameters, and as many to contradict
	// them.
	fewestLevels = 6
	// fewestScaledBlocks is the number of blocks that its intervals need: with fewer there are too few
	// ways to draw them.
	fewestScaledBlocks = 5
	// Farthest is how far beyond the largest level the law may be asked, as a factor.
	Farthest = 2
	// scalingDraws is the number of draws of blocks.
	scalingDraws = 1000
	// refusal is the p-value below which the law is refused: for means that are not its own, and for
	// coefficients below zero.
	refusal = 0.01
	// rounding is the largest error of a coefficient of exact values.
	rounding = 1e-9
)

// NoFitError says why a law does not hold for some values.
type NoFitError struct{ Why string }

// Error implements error.
func (e *NoFitError) Error() string { return e.Why }

// Scalability is the Universal Scalability Law of a system:
//
//	X(N) = Lambda N / (1 + Sigma (N-1) + Kappa N (N-1))
//
// X is its throughput with N processors, replicas or users (Gunther, Guerrilla Capacity Planning, Springer
// 2007, chapters 4 to 6; A General Theory of Computational Scalability Based on Rational Functions, arXiv
// 0808.1431). Lambda is the throughput of one, Sigma the share of work that waits for others
// (contention), and Kappa the cost of each pair of them that must agree (coherency).
type Scalability struct {
	Lambda, Sigma, Kappa Estimate
	// Peak is the N of the highest throughput, sqrt((1-Sigma)/Kappa). It is nil where that lies beyond Farthest
	// times the largest level; High is infinite where it may.
	Peak *Estimate
	// Largest is the largest level, and Worst how far the mean of a level is from the law at most, as a share.
	Largest float64
	Worst   float64

	draws []law // fits of drawn blocks
	tail  float64
}

// law has the parameters of one fit.
type law struct{ lambda, sigma, kappa float64 }

func (l law) single() float64     { return l.lambda }
func (l law) contention() float64 { return l.sigma }
func (l law) coherency() float64  { return l.kappa }

// at returns the throughput of n.
func (l law) at(n float64) float64 { return l.lambda * n / (1 + l.sigma*(n-1) + l.kappa*n*(n-1)) }

// peak returns the n of the highest throughput; infinite: there is none.
func (l law) peak() float64 {
	if l.sigma >= 1 {
		return 1
	}
	return max(1, math.Sqrt((1-l.sigma)/l.kappa))
}

// FitScalability fits the law to the throughput at several levels, with one value for each block. levels and
// values belong together; every level has as many values, those of the same blocks in the same order.
//
// The law is linear in N/X: N/X = (1 + Sigma (N-1) + Kappa N (N-1)) / Lambda. Each equation is weighted
// with X/N, so that the squares are those of relative errors, 1 - X/X(N): what is minimised is what one
// would minimise of the law itself, and has one minimum, which no start value can miss. Coefficients are
// kept from below zero. X is the geometric mean over the blocks. The intervals are percentiles over fits
// of blocks drawn with replacement (Efron and Tibshirani 1993), widened for few blocks (expanded
// percentiles, Hesterberg 2015).
//
// It refuses (NoFitError) fewer than six levels or five blocks, a coefficient that is below zero beyond
// chance, and means that are not those of the law: F test of lack of fit against the noise of the table
// of blocks and levels, where a mean is off by more than the tolerance, a share.
func FitScalability(
	levels []float64, values [][]float64, tolerance, confidence float64,
) (Scalability, error) {
	table, err := scaledTable(levels, values)
	if err != nil {
		return Scalability{}, err
	}
	blocks := len(table)
	free := fitLaw(levels, meansOf(table, nil), false)
	best := fitLaw(levels, meansOf(table, nil), true)
	s := Scalability{Largest: slices.Max(levels), tail: expandedTail(confidence, blocks)}
	random := rand.New(rand.NewPCG(uint64(blocks), uint64(len(levels))))
	var freeDraws []law
	drawn := make([]int, blocks)
	for range scalingDraws {
		for i := range drawn {
			drawn[i] = random.IntN(blocks)
		}
		means := meansOf(table, drawn)
		freeDraws = append(freeDraws, fitLaw(levels, means, false))
		s.draws = append(s.draws, fitLaw(levels, means, true))
	}
	estimate := func(of func(law) float64) Estimate {
		value := of(best)
		low, high := bounds(s.draws, of, s.tail)
		return Estimate{value, min(low, value), max(high, value), blocks, confidence}
	}
	if belowZero(free.sigma, freeDraws, law.contention, blocks) {
		return Scalability{}, negative("contention", free.sigma)
	}
	if belowZero(free.kappa, freeDraws, law.coherency, blocks) {
		return Scalability{}, negative("coherency", free.kappa)
	}
	if s.Worst, err = checkLaw(best, levels, table, tolerance); err != nil {
		return Scalability{}, err
	}
	s.Lambda, s.Sigma, s.Kappa = estimate(law.single), estimate(law.contention), estimate(law.coherency)
	if s.Largest*Farthest >= best.peak() {
		peak := estimate(law.peak)
		if peak.High > s.Largest*Farthest {
			peak.High = math.Inf(1)
		}
		s.Peak = &peak
	}
	return s, nil
}

// belowZero reports whether a coefficient is below zero beyond chance: by Student's t and the spread of the
// draws, since the percentiles of draws of five blocks do not reach so far out.
func belowZero(value float64, draws []law, of func(law) float64, blocks int) bool {
	n := float64(blocks)
	half := tQuantile(1-2*refusal, n-1) * math.Sqrt(n/(n-1)*Variance(ofDraws(draws, of)))
	return value+half < -rounding
}

// At returns the throughput that the law says of n, from 1 to Farthest times the largest level.
func (s Scalability) At(n float64) (Estimate, error) {
	if !(n >= 1 && n <= s.Largest*Farthest) {
		return Estimate{}, &ValueError{"throughput by the scalability law", 0, n,
			fmt.Sprintf("from 1 to %g", s.Largest*Farthest)}
	}
	value := law{s.Lambda.Value, s.Sigma.Value, s.Kappa.Value}.at(n)
	low, high := bounds(s.draws, func(l law) float64 { return l.at(n) }, s.tail)
	return Estimate{value, min(low, value), max(high, value), s.Lambda.N, s.Lambda.Confidence}, nil
}

// negative says that a coefficient is below zero.
func negative(coefficient string, value float64) error {
	return &NoFitError{fmt.Sprintf("%s would be negative (%.2g), beyond chance: the more there are, the more "+
		"each does", coefficient, value)}
}

// bounds returns the percentiles of something over draws, with a share of them beyond each end.
func bounds(draws []law, of func(law) float64, tail float64) (low, high float64) {
	all := ofDraws(draws, of)
	slices.Sort(all)
	last := float64(len(all) - 1)
	return all[int(math.Floor(tail*last))], all[int(math.Ceil((1-tail)*last))]
}

// ofDraws returns something of each draw.
func ofDraws(draws []law, of func(law) float64) []float64 {
	all := make([]float64, len(draws))
	for i, l := range draws {
		all[i] = of(l)
	}
	return all
}

// expandedTail returns the share of draws beyond each end of an interval: less for few blocks, so that the
// interval of a mean is about as wide as with Student's t.
func expandedTail(confidence float64, blocks int) float64 {
	n := float64(blocks)
	return distuv.UnitNormal.CDF(-math.Sqrt(n/(n-1)) * tQuantile(confidence, n-1))
}

// scaledTable returns the logs of the values by block and level, and refuses too few.
func scaledTable(levels []float64, values [][]float64) ([][]float64, error) {
	const name = "scalability law"
	if len(levels) != len(values) {
		return nil, &LengthError{name, len(levels), len(values)}
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(levels)))
	if len(distinct) < fewestLevels || len(distinct) < len(levels) {
		return nil, &NoFitError{fmt.Sprintf("%d levels, and the law needs %d at least", len(distinct),
			fewestLevels)}
	}
	if distinct[0] < 1 {
		return nil, &ValueError{name, 0, distinct[0], "1 or more"}
	}
	blocks := len(values[0])
	if blocks < fewestScaledBlocks {
		return nil, &NoFitError{fmt.Sprintf("%d blocks with all levels, and intervals need %d at least", blocks,
			fewestScaledBlocks)}
	}
	table := make([][]float64, blocks)
	for _, column := range values {
		if len(column) != blocks {
			return nil, &LengthError{name, blocks, len(column)}
		}
		ln, err := logs(name, column)
		if err != nil {
			return nil, err
		}
		for b, v := range ln {
			table[b] = append(table[b], v)
		}
	}
	return table, nil
}

// meansOf returns the geometric means of the levels over drawn blocks; nil: over all.
func meansOf(table [][]float64, drawn []int) []float64 {
	if drawn == nil {
		for b := range table {
			drawn = append(drawn, b)
		}
	}
	means := make([]float64, len(table[0]))
	for level := range means {
		for _, b := range drawn {
			means[level] += table[b][level]
		}
		means[level] = math.Exp(means[level] / float64(len(drawn)))
	}
	return means
}

// fitLaw minimises the squares of relative errors. Bounded, no coefficient is below zero: of the fits that
// leave out one coefficient, or both, the best takes the place of one that has a negative coefficient.
func fitLaw(levels, means []float64, bounded bool) law {
	whole, _ := solveLaw(levels, means, true, true)
	if !bounded || whole.sigma >= 0 && whole.kappa >= 0 {
		return whole
	}
	best, least := law{}, math.Inf(1)
	for _, with := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		l, squares := solveLaw(levels, means, with[0], with[1])
		if l.sigma >= 0 && l.kappa >= 0 && squares < least {
			best, least = l, squares
		}
	}
	return best
}

// solveLaw returns the law of least squares with some of its coefficients, the others 0, and the squares.
func solveLaw(levels, means []float64, withSigma, withKappa bool) (l law, squares float64) {
	columns := []func(n float64) float64{func(float64) float64 { return 1 }}
	if withSigma {
		columns = append(columns, func(n float64) float64 { return n - 1 })
	}
	if withKappa {
		columns = append(columns, func(n float64) float64 { return n * (n - 1) })
	}
	equations, ones := mat.NewDense(len(levels), len(columns), nil), mat.NewVecDense(len(levels), nil)
	for i, n := range levels {
		for j, column := range columns {
			equations.Set(i, j, means[i]/n*column(n))
		}
		ones.SetVec(i, 1)
	}
	var found mat.VecDense
	// Six different levels are enough for three columns; an ill-conditioned solution is one all the same.
	_ = found.SolveVec(equations, ones)
	l.lambda = 1 / found.AtVec(0)
	last := 0
	if withSigma {
		last++
		l.sigma = found.AtVec(last) * l.lambda
	}
	if withKappa {
		last++
		l.kappa = found.AtVec(last) * l.lambda
	}
	for i, n := range levels {
		off := 1 - means[i]/l.at(n)
		squares += off * off
	}
	return l, squares
}

// checkLaw refuses a law that the means of the levels contradict, and returns how far they are from it at
// most.
func checkLaw(l law, levels []float64, table [][]float64, tolerance float64) (worst float64, err error) {
	if !(l.lambda > 0) {
		return 0, &NoFitError{"the throughput of one would be negative"}
	}
	at := 0.0
	means := meansOf(table, nil)
	var squares float64
	for i, n := range levels {
		off := math.Log(means[i] / l.at(n))
		squares += off * off
		if share := math.Abs(math.Expm1(off)); share > worst {
			worst, at = share, n
		}
	}
	if worst <= tolerance {
		return worst, nil
	}
	blocks, size := float64(len(table)), float64(len(levels))
	left := Table(table).noise()
	f := blocks * squares / (size - 3) / left.variance()
	if p := (distuv.F{D1: size - 3, D2: left.degrees}).Survival(f); left.squares == 0 || p < refusal {
		return 0, &NoFitError{fmt.Sprintf("at %g the throughput is %.0f %% off the law, beyond chance", at,
			100*worst)}
	}
	return worst, nil
}
