package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Table holds the logs of one metric at one point: a row per block, a column per
// variant. NaN stands for a missing or invalid trial.
type Table [][]float64

// Spread names the noise from which the width of a ratio's interval is computed.
type Spread string

// The kinds of Spread.
const (
	// OfPair is the noise of the pair's own differences, one per block.
	OfPair Spread = "pair"
	// OfTable is the residual of the whole table.
	OfTable Spread = "table"
	// OfVariants is the noise of each of the two variants, estimated against the mean of all others.
	OfVariants Spread = "variants"
)

// noise is a sum of squares on the log scale with its degrees of freedom.
type noise struct{ squares, degrees float64 }

// variance returns the variance of one trial, 0 without degrees of freedom.
func (n noise) variance() float64 {
	if n.degrees <= 0 {
		return 0
	}
	return n.squares / n.degrees
}

// The p-values below which a pair scatters more, or less, than the rest of its table. Missing a pair that
// scatters more gives wrong verdicts, so weak evidence suffices. Missing one that scatters less only gives
// it a wider interval than it needs, so strong evidence is required, as of counts that never change.
const (
	scattersMore = 0.20
	scattersLess = 0.001
)

// mostUnchecked limits the degrees of freedom of a pair with too few blocks to check that it scatters like
// its table: the noise of the table may not be that of the pair.
const mostUnchecked = 4

// Ratio returns one column over another, by block, as PairedRatio does, but with
// the noise of the whole table: three blocks of eight variants have 14 degrees of
// freedom where the differences of a pair have 2. The noise is the residual of
// log value = block + variant (two-way analysis of variance without interaction;
// Scheffe 1959, chapter 4).
//
// That assumes variants with about the same noise. A pair that clearly differs keeps
// a spread of its own: F test of its differences against the rest of the table, at
// 20 % upwards and 0.1 % downwards. If it scatters more, the noise of each of its
// variants is estimated separately, against the mean of all others (Grubbs 1948),
// with the degrees of freedom of Satterthwaite (1946). stats/bench measures how often
// verdicts are wrong, also where variants differ in noise.
//
// If a block lacks one of the two, the ratio is that of least squares over the whole
// table: the other variants of the block tell its level. This needs one degree of freedom,
// even if no block has both. With two blocks that have both, the pair cannot have a spread
// of its own: if they scatter more than the rest, their variance takes the place of the
// table's. With fewer, nothing is checked, and the degrees of freedom are limited. N counts
// the blocks that have both.
func (t Table) Ratio(numerator, denominator int, confidence float64) (Ratio, error) {
	up, down := t.pair(numerator, denominator)
	own, err := PairedRatio(up, down, confidence)
	var few *TooFewError
	if err != nil && !errors.As(err, &few) {
		return Ratio{}, err
	}
	n := float64(len(up))
	whole := t.fit()
	gaps := t.lacksOne(numerator, denominator)
	all := whole.residual
	difference := own.LogMean
	scale := 2 / n
	if gaps {
		difference, scale = whole.difference(numerator, denominator)
	}
	if few != nil {
		if !gaps || all.degrees < 1 || math.IsInf(scale, 1) {
			return Ratio{}, err
		}
		degrees := min(all.degrees, mostUnchecked)
		se := math.Sqrt(scale * all.variance())
		return newRatio(difference, se, degrees, len(up), confidence, OfTable), nil
	}
	// The difference of two trials has twice the variance of one.
	pair := noise{own.LogSE * own.LogSE * n * (n - 1) / 2, n - 1}
	rest := noise{max(0, all.squares-pair.squares), all.degrees - pair.degrees}
	if rest.degrees < 1 {
		return own, nil
	}
	variance := all.variance()
	more, less := pair.compare(rest)
	switch {
	case more < scattersMore && gaps && len(up) == 2:
		variance = max(variance, pair.variance())
	case more < scattersMore:
		wide := newRatio(difference, own.LogSE, own.Degrees, own.N, confidence, OfPair)
		return t.separateNoise(wide, numerator, denominator, confidence), nil
	case less < scattersLess:
		return own, nil
	}
	return newRatio(difference, math.Sqrt(scale*variance), all.degrees, own.N, confidence, OfTable), nil
}

// lacksOne reports whether some block has one of two columns and lacks the other.
func (t Table) lacksOne(a, b int) bool {
	return slices.ContainsFunc(t, func(row []float64) bool { return math.IsNaN(row[a]) != math.IsNaN(row[b]) })
}

// difference returns the difference of two columns, and its variance as a multiple of a trial's: infinite if
// no chain of blocks connects the two.
func (f fit) difference(a, b int) (difference, scale float64) {
	for k, value := range f.values {
		weight := f.vectors.At(a, k) - f.vectors.At(b, k)
		switch {
		case value > tiny:
			scale += weight * weight / value
		case math.Abs(weight) > tiny:
			return 0, math.Inf(1)
		}
	}
	return f.effects.AtVec(a) - f.effects.AtVec(b), scale
}

// tiny is the largest eigenvalue or weight of a fit that is 0 but for rounding.
const tiny = 1e-9

// fit is the least squares of log value = block + variant (intra-block analysis of incomplete blocks; Scheffe
// 1959, section 5.2).
type fit struct {
	// effects holds the effects of the variants. Only differences between variants that blocks connect have
	// a meaning.
	effects *mat.VecDense
	// values and vectors are the eigenvalues and eigenvectors of the information about the variants. The number
	// of values above tiny is that of the measured variants, less one for each part of the table that shares no
	// block with the others.
	values   []float64
	vectors  mat.Dense
	residual noise // after the effects of blocks and variants
}

// fit returns the fit of a table. That of a table without blocks is empty.
func (t Table) fit() fit {
	if len(t) == 0 {
		return fit{}
	}
	columns := len(t[0])
	information := mat.NewSymDense(columns, nil)
	sums := mat.NewVecDense(columns, nil)
	for _, row := range t {
		present := slices.DeleteFunc(slices.Clone(row), math.IsNaN)
		share := 1 / float64(len(present))
		for i, value := range row {
			if math.IsNaN(value) {
				continue
			}
			sums.SetVec(i, sums.AtVec(i)+value-Mean(present))
			information.SetSym(i, i, information.At(i, i)+1)
			for j := range i + 1 {
				if !math.IsNaN(row[j]) {
					information.SetSym(i, j, information.At(i, j)-share)
				}
			}
		}
	}
	f := fit{effects: mat.NewVecDense(columns, nil)}
	var eigen mat.EigenSym
	_ = eigen.Factorize(information, true) // a symmetric matrix of finite numbers has eigenvalues
	f.values = eigen.Values(nil)
	eigen.VectorsTo(&f.vectors)
	for k, value := range f.values {
		if axis := f.vectors.ColView(k); value > tiny {
			f.effects.AddScaledVec(f.effects, mat.Dot(axis, sums)/value, axis)
		}
	}
	f.residual = f.noise(t)
	return f
}

// noise returns the residual of a table after the effects of blocks and variants. A full table of b blocks
// and v variants has (b-1)(v-1) degrees of freedom; one with gaps has its number of cells less the effects of
// blocks and variants that it can estimate.
func (f fit) noise(t Table) (n noise) {
	for _, row := range t {
		var left []float64
		for j, value := range row {
			if !math.IsNaN(value) {
				left = append(left, value-f.effects.AtVec(j))
			}
		}
		n.squares += squaredDistances(left)
		n.degrees += float64(max(0, len(left)-1))
	}
	for _, value := range f.values {
		if value > tiny {
			n.degrees--
		}
	}
	return n
}

// pair returns the values of two columns in the blocks that have both.
func (t Table) pair(a, b int) (up, down []float64) {
	for _, row := range t {
		if !math.IsNaN(row[a]) && !math.IsNaN(row[b]) {
			up = append(up, math.Exp(row[a]))
			down = append(down, math.Exp(row[b]))
		}
	}
	return up, down
}

// compare returns the p-values of noise that is larger than the rest, and of noise that is smaller: F tests
// by way of the beta distribution, which is exact far out in both tails.
func (n noise) compare(rest noise) (more, less float64) {
	if n.squares+rest.squares == 0 {
		return 1, 1
	}
	share := n.squares / (n.squares + rest.squares)
	more = distuv.Beta{Alpha: rest.degrees / 2, Beta: n.degrees / 2}.CDF(1 - share)
	less = distuv.Beta{Alpha: n.degrees / 2, Beta: rest.degrees / 2}.CDF(share)
	return more, less
}

// separateNoise returns the ratio with the noise of its two variants. The noise of each is estimated from its
// distances to the mean of the other variants of the block, less the noise of this mean. It returns the ratio
// as it is if a block with both has fewer than two others, or if the noise cannot be separated.
func (t Table) separateNoise(own Ratio, a, b int, confidence float64) Ratio {
	var ofA, ofB []float64
	others := Table{}
	inverse := 0.0
	for _, row := range t {
		rest := slices.Clone(row)
		rest[a] = math.NaN()
		rest[b] = math.NaN()
		others = append(others, rest)
		present := slices.DeleteFunc(slices.Clone(rest), math.IsNaN)
		lacksOne := math.IsNaN(row[a]) || math.IsNaN(row[b])
		if lacksOne || len(present) < 2 {
			continue
		}
		ofA = append(ofA, row[a]-Mean(present))
		ofB = append(ofB, row[b]-Mean(present))
		inverse += 1 / float64(len(present))
	}
	base := others.fit().residual
	n := float64(len(ofA))
	if len(ofA) < own.N || base.degrees < 1 {
		return own
	}
	added := base.variance() * inverse / n // variance of the mean of the others
	va := max(0, Variance(ofA)-added)
	vb := max(0, Variance(ofB)-added)
	if va+vb == 0 {
		return own
	}
	// The variance of va + vb, as a multiple of 2/(n-1).
	wholeA := va + added
	wholeB := vb + added
	ofSum := wholeA*wholeA + wholeB*wholeB + 2*added*added + 4*added*added*(n-1)/base.degrees
	degrees := max(n-1, (n-1)*(va+vb)*(va+vb)/ofSum)
	return newRatio(own.LogMean, math.Sqrt((va+vb)/n), degrees, own.N, confidence, OfVariants)
}
