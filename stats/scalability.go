package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// fewestLevels is the number of levels that a fit needs: three for its parameters, and three more that
	// can contradict it.
	fewestLevels = 6
	// fewestScaledBlocks is the number of blocks that a fit needs: fewer give too few different bootstrap
	// samples for intervals.
	fewestScaledBlocks = 5
	// Farthest limits extrapolation: At accepts up to Farthest times the largest level.
	Farthest = 2
	// scalingDraws is the number of bootstrap samples.
	scalingDraws = 1000
	// refusal is the significance level of both tests that refuse a fit: the one for lack of fit, and the one
	// for a negative coefficient.
	refusal = 0.01
	// rounding is the largest rounding error of a coefficient.
	rounding = 1e-9
)

// Scalability is the Universal Scalability Law of a system:
//
//	X(N) = Lambda N / (1 + Sigma (N-1) + Kappa N (N-1))
//
// X is the throughput with N processors, replicas or users (Gunther, Guerrilla Capacity Planning, Springer
// 2007, chapters 4 to 6; A General Theory of Computational Scalability Based on Rational Functions, arXiv
// 0808.1431). Lambda is the throughput with one of them, Sigma the share of its work that waits for the
// others (contention), and Kappa the cost of each pair of them that must agree (coherency).
type Scalability struct {
	Lambda, Sigma, Kappa Estimate
	// Peak is the N of the highest throughput, sqrt((1-Sigma)/Kappa). It is nil if this N is beyond Farthest
	// times the largest level. If only the upper end of its interval is beyond that, Peak.High is infinite.
	Peak *Estimate
	// Largest is the largest level. Worst is the largest relative distance of the mean of a level from the law.
	Largest float64
	Worst   float64

	draws []law   // fits of the bootstrap samples
	tail  float64 // share of draws beyond each end of an interval
}

// law holds the parameters of one fit.
type law struct{ lambda, sigma, kappa float64 }

func (l law) single() float64     { return l.lambda }
func (l law) contention() float64 { return l.sigma }
func (l law) coherency() float64  { return l.kappa }

// isPossible reports whether no coefficient is negative.
func (l law) isPossible() bool { return l.sigma >= 0 && l.kappa >= 0 }

// at returns the throughput of n.
func (l law) at(n float64) float64 { return l.lambda * n / (1 + l.sigma*(n-1) + l.kappa*n*(n-1)) }

// peak returns the n of the highest throughput, infinity if the throughput rises with every n.
func (l law) peak() float64 {
	if l.sigma >= 1 {
		return 1
	}
	return max(1, math.Sqrt((1-l.sigma)/l.kappa))
}

// FitScalability fits the law to the throughput at several levels. values[i] holds the throughput at
// levels[i], one value per block; all levels have the same blocks in the same order.
//
// The law is linear in N/X: N/X = (1 + Sigma (N-1) + Kappa N (N-1)) / Lambda. Each equation is weighted
// with X/N, so that the fit minimises the squares of the relative errors, 1 - X/X(N). This linear problem
// has one minimum and needs no start values. Coefficients are kept at 0 or above. X is the geometric mean
// over the blocks. The intervals are percentiles over fits of blocks drawn with replacement (Efron and
// Tibshirani 1993), widened for few blocks (expanded percentiles, Hesterberg 2015).
//
// It refuses fewer than six levels or five blocks, a throughput of 0, and a coefficient that is below zero
// beyond chance. It also refuses lack of fit: the mean of a level is off the law by more than the tolerance,
// a share, and the F test against the noise of the table of blocks and levels rejects the law.
func FitScalability(
	levels []float64, values [][]float64, tolerance, confidence float64,
) (Scalability, error) {
	table, err := scaledTable(levels, values)
	if err != nil {
		return Scalability{}, err
	}
	blocks := len(table)
	means := meansOf(table, nil)
	best, free := fitLaw(levels, means)
	s := Scalability{Largest: slices.Max(levels), tail: expandedTail(confidence, blocks)}
	random := rand.New(rand.NewPCG(uint64(blocks), uint64(len(levels))))
	var freeDraws []law
	drawn := make([]int, blocks)
	for range scalingDraws {
		for i := range drawn {
			drawn[i] = random.IntN(blocks)
		}
		draw, freeDraw := fitLaw(levels, meansOf(table, drawn))
		s.draws = append(s.draws, draw)
		freeDraws = append(freeDraws, freeDraw)
	}
	estimate := func(of func(law) float64) Estimate { return s.estimate(best, of, blocks) }
	if belowZero(free.sigma, freeDraws, law.contention, blocks) {
		return Scalability{}, negativeError("contention", free.sigma, free, s.Largest)
	}
	if belowZero(free.kappa, freeDraws, law.coherency, blocks) {
		return Scalability{}, negativeError("coherency", free.kappa, free, s.Largest)
	}
	if s.Worst, err = checkLaw(best, levels, table, tolerance); err != nil {
		return Scalability{}, err
	}
	s.Lambda = estimate(law.single)
	s.Sigma = estimate(law.contention)
	s.Kappa = estimate(law.coherency)
	if s.Largest*Farthest >= best.peak() {
		peak := estimate(law.peak)
		if peak.High > s.Largest*Farthest {
			peak.High = math.Inf(1)
		}
		s.Peak = &peak
	}
	return s, nil
}

// belowZero reports whether a coefficient is below zero beyond chance. It uses Student's t and the variance
// of the draws: five blocks give too few different draws for percentiles at this level.
func belowZero(value float64, draws []law, of func(law) float64, blocks int) bool {
	n := float64(blocks)
	variance := Variance(ofDraws(draws, of))
	half := tQuantile(1-2*refusal, n-1) * math.Sqrt(n/(n-1)*variance)
	return value+half < -rounding
}

// At returns the throughput of n by the law, for n from 1 to Farthest times the largest level.
func (s Scalability) At(n float64) (Estimate, error) {
	if !(n >= 1 && n <= s.Largest*Farthest) {
		return Estimate{}, valueError("throughput by the scalability law", 0, n,
			fmt.Sprintf("from 1 to %g", s.Largest*Farthest))
	}
	best := law{s.Lambda.Value, s.Sigma.Value, s.Kappa.Value}
	return s.estimate(best, func(l law) float64 { return l.at(n) }, s.Lambda.N), nil
}

// negativeError returns the error for a coefficient below zero of a law, and says how the throughput of each
// changes by this law up to the largest level.
func negativeError(coefficient string, value float64, free law, largest float64) error {
	course := "what each does falls later, and then faster, than the law allows"
	switch {
	case free.sigma+free.kappa*largest < 0: // each of the most does more than one alone
		course = "the more there are, the more each does"
	case free.kappa < 0:
		course = "each further one slows the others less than the one before"
	}
	return fmt.Errorf("%s would be negative (%.2g), beyond chance: %s", coefficient, value, course)
}

// estimate returns a quantity of the best law. Its interval reaches from the percentile tail of the draws to
// the percentile 1 - tail, and always holds the quantity itself.
func (s Scalability) estimate(best law, of func(law) float64, blocks int) Estimate {
	all := ofDraws(s.draws, of)
	value := of(best)
	slices.Sort(all)
	last := float64(len(all) - 1)
	low := all[int(math.Floor(s.tail*last))]
	high := all[int(math.Ceil((1-s.tail)*last))]
	return Estimate{value, min(low, value), max(high, value), blocks}
}

// ofDraws returns a quantity of each draw.
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
	quantile := math.Sqrt(n/(n-1)) * tQuantile(confidence, n-1)
	return distuv.UnitNormal.CDF(-quantile)
}

// scaledTable returns the logs of the values as table[block][level]. It refuses too few levels or blocks.
func scaledTable(levels []float64, values [][]float64) ([][]float64, error) {
	const name = "scalability law"
	if len(levels) != len(values) {
		return nil, lengthError(name, len(levels), len(values))
	}
	different := len(distinct(levels))
	if different < fewestLevels {
		return nil, fmt.Errorf("%s, and the law needs %d at least", lab.Count(different, "level"), fewestLevels)
	}
	if different < len(levels) {
		return nil, errors.New("some levels are there twice")
	}
	if at := slices.IndexFunc(levels, func(n float64) bool { return !(n >= 1) }); at >= 0 {
		return nil, valueError(name, at, levels[at], "1 or more")
	}
	blocks := len(values[0])
	if blocks < fewestScaledBlocks {
		return nil, fmt.Errorf("%s with all levels, and intervals need %d at least", lab.Count(blocks, "block"),
			fewestScaledBlocks)
	}
	table := make([][]float64, blocks)
	for i, column := range values {
		if len(column) != blocks {
			return nil, lengthError(name, blocks, len(column))
		}
		if slices.Contains(column, 0) {
			return nil, fmt.Errorf("the throughput at %g is 0 in some block", levels[i])
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

// meansOf returns the geometric mean of each level over the drawn blocks, or over all blocks if drawn is nil.
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

// fitLaw returns two laws of least squares: best, whose coefficients are not negative, and free, whose
// coefficients may be. If free has a negative coefficient, best is the closest of the laws that leave out one
// coefficient, or both.
func fitLaw(levels, means []float64) (best, free law) {
	free, _ = solveLaw(levels, means, 0, 1, 2)
	if free.isPossible() {
		return free, free
	}
	least := math.Inf(1)
	for _, columns := range [][]int{{0, 1}, {0, 2}, {0}} {
		l, squares := solveLaw(levels, means, columns...)
		if l.isPossible() && squares < least {
			best, least = l, squares
		}
	}
	return best, free
}

// solveLaw returns the law of least squares of the relative errors, and the sum of these squares. It uses the
// given columns of the linear problem: 0 for Lambda, 1 for Sigma, 2 for Kappa. A coefficient whose column is
// not given is 0; the others may be negative.
func solveLaw(levels, means []float64, columns ...int) (l law, squares float64) {
	equations := mat.NewDense(len(levels), len(columns), nil)
	ones := mat.NewVecDense(len(levels), nil)
	for i, n := range levels {
		for j, column := range columns {
			equations.Set(i, j, means[i]/n*[...]float64{1, n - 1, n * (n - 1)}[column])
		}
		ones.SetVec(i, 1)
	}
	var found mat.VecDense
	// Six different levels are enough for three columns. SolveVec also solves an ill-conditioned system, and
	// its error is only a warning then.
	_ = found.SolveVec(equations, ones)
	var parameters [3]float64
	for j, column := range columns {
		parameters[column] = found.AtVec(j)
	}
	l.lambda = 1 / parameters[0]
	l.sigma = parameters[1] * l.lambda
	l.kappa = parameters[2] * l.lambda
	for i, n := range levels {
		off := 1 - means[i]/l.at(n)
		squares += off * off
	}
	return l, squares
}

// checkLaw returns the largest relative distance of the mean of a level from the law, or an error if the
// means contradict it.
func checkLaw(l law, levels []float64, table [][]float64, tolerance float64) (worst float64, err error) {
	if !(l.lambda > 0) {
		return 0, errors.New("the throughput of one would be negative")
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
	residual := Table(table).fit().residual
	f := blocks * squares / (size - 3) / residual.variance()
	if p := (distuv.F{D1: size - 3, D2: residual.degrees}).Survival(f); residual.squares == 0 || p < refusal {
		return 0, fmt.Errorf("at %g the throughput is %.0f %% off the law, beyond chance", at, 100*worst)
	}
	return worst, nil
}
