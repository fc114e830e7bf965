package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Table holds the logs of one metric at one point: a row per block, a column per
// variant. NaN is a trial that does not count.
type Table [][]float64

// Spread names what the interval of a ratio takes its width from.
type Spread string

// Where a spread can come from.
const (
	// OfPair: the pair's own differences, one per block.
	OfPair Spread = "pair"
	// OfTable: the residual of the whole table.
	OfTable Spread = "table"
	// OfVariants: the noise of each of the two, seen against all other variants.
	OfVariants Spread = "variants"
)

// noise is a sum of squares on the log scale with its degrees of freedom.
type noise struct{ squares, degrees float64 }

// variance of one trial; 0 without degrees of freedom.
func (n noise) variance() float64 {
	if n.degrees <= 0 {
		return 0
	}
	return n.squares / n.degrees
}

// The levels at which a pair is found to scatter unlike the rest of its table. To
// miss a pair that scatters more costs wrong verdicts, so little is asked before it
// stands on its own. One that scatters less only gets a wider interval than it needs;
// it is left alone unless that is beyond doubt, as with counts that never change.
const (
	scattersMore = 0.20
	scattersLess = 0.001
)

// mostUnchecked is the largest number of degrees of freedom that count if nothing tells whether a pair
// scatters like its table: more would be those of a noise that may not be the pair's.
const mostUnchecked = 4

// Ratio returns one column over another, by block, as PairedRatio does, but with
// the noise of the whole table: three blocks of eight variants have 14 degrees of
// freedom where the differences of a pair have 2. The noise is the residual of
// log value = block + variant (two-way analysis of variance without interaction;
// Scheffe 1959, chapter 4).
//
// That takes variants which scatter about alike. A pair that clearly does not keeps
// a spread of its own: F test of its differences against the rest of the table, at
// 20 % upwards and 0.1 % downwards. One that scatters more has the noise of its two
// variants estimated apart, each against the mean of all others (Grubbs 1948),
// with the degrees of freedom of Satterthwaite (1946). stats/bench compares this with
// other ways, and measures what happens where variants scatter unlike.
//
// Where a block lacks one of the two, the ratio is that of least squares over the whole
// table: the other variants of the block tell what the block did to the one that it has.
// It needs one degree of freedom, even if no block has both. Two blocks that have both are
// too few for the pair to stand on its own: where they scatter more than the rest, their
// variance takes the place of the table's. With fewer nothing is checked, and few degrees
// of freedom count. N counts the blocks that have both.
func (t Table) Ratio(numerator, denominator int, confidence float64) (Ratio, error) {
	up, down := t.pair(numerator, denominator)
	own, err := PairedRatio(up, down, confidence)
	var few *TooFewError
	if err != nil && !errors.As(err, &few) {
		return Ratio{}, err
	}
	n, all, gaps := float64(len(up)), t.noise(), t.lacksOne(numerator, denominator)
	difference, scale := own.LogMean, 2/n
	if gaps {
		difference, scale = t.across(numerator, denominator)
	}
	if few != nil {
		if !gaps || all.degrees < 1 || math.IsInf(scale, 1) {
			return Ratio{}, err
		}
		degrees := min(all.degrees, mostUnchecked)
		return newRatio(difference, math.Sqrt(scale*all.variance()), degrees, len(up), confidence).of(OfTable), nil
	}
	// The difference of two trials has twice the variance of one.
	pair := noise{own.LogSE * own.LogSE * n * (n - 1) / 2, n - 1}
	rest := noise{max(0, all.squares-pair.squares), all.degrees - pair.degrees}
	if rest.degrees < 1 {
		return own, nil
	}
	variance := all.variance()
	more, less := pair.beside(rest)
	switch {
	case more < scattersMore && gaps && len(up) == 2:
		variance = max(variance, pair.variance())
	case more < scattersMore:
		wide := newRatio(difference, own.LogSE, own.Degrees, own.N, confidence).of(OfPair)
		return t.apart(wide, numerator, denominator, confidence), nil
	case less < scattersLess:
		return own, nil
	}
	return newRatio(difference, math.Sqrt(scale*variance), all.degrees, own.N, confidence).of(OfTable), nil
}

// lacksOne reports whether some block has one of two columns and lacks the other.
func (t Table) lacksOne(a, b int) bool {
	return slices.ContainsFunc(t, func(row []float64) bool { return math.IsNaN(row[a]) != math.IsNaN(row[b]) })
}

// across returns the difference of two columns by least squares under log value = block
// + variant (intra-block analysis of incomplete blocks; Scheffe 1959, section 5.2), and
// its variance in units of a trial's: infinite where no chain of blocks joins the two.
func (t Table) across(a, b int) (difference, scale float64) {
	columns := t.width()
	information, sums := mat.NewSymDense(columns, nil), make([]float64, columns)
	for _, row := range t {
		present := slices.DeleteFunc(slices.Clone(row), math.IsNaN)
		for i, value := range row {
			if math.IsNaN(value) {
				continue
			}
			sums[i] += value - Mean(present)
			information.SetSym(i, i, information.At(i, i)+1)
			for j := range i + 1 {
				if !math.IsNaN(row[j]) {
					information.SetSym(i, j, information.At(i, j)-1/float64(len(present)))
				}
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(information, true) {
		return 0, math.Inf(1)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	const none = 1e-9 // of an eigenvalue that is 0 but for rounding
	for k, value := range eigen.Values(nil) {
		axis := vectors.ColView(k)
		along := mat.Dot(axis, mat.NewVecDense(columns, sums))
		weight := axis.AtVec(a) - axis.AtVec(b)
		switch {
		case value > none:
			difference, scale = difference+weight*along/value, scale+weight*weight/value
		case math.Abs(weight) > none:
			return 0, math.Inf(1)
		}
	}
	return difference, scale
}

// pair returns the values of two columns in the blocks that have both.
func (t Table) pair(a, b int) (up, down []float64) {
	for _, row := range t {
		if !math.IsNaN(row[a]) && !math.IsNaN(row[b]) {
			up, down = append(up, math.Exp(row[a])), append(down, math.Exp(row[b]))
		}
	}
	return up, down
}

// beside holds the noise of a pair against that of the rest: how probable it is that
// equal noise gives as much, and as little. It is F through the beta distribution,
// which is exact far out in both tails.
func (n noise) beside(rest noise) (more, less float64) {
	if n.squares+rest.squares == 0 {
		return 1, 1
	}
	share := n.squares / (n.squares + rest.squares)
	more = distuv.Beta{Alpha: rest.degrees / 2, Beta: n.degrees / 2}.CDF(1 - share)
	less = distuv.Beta{Alpha: n.degrees / 2, Beta: rest.degrees / 2}.CDF(share)
	return more, less
}

// apart gives a ratio the noise of its two variants, each estimated from its
// distances to the mean of the others in its block, less what the others add to
// these. Where fewer than two others were there, the ratio stays as it is.
func (t Table) apart(own Ratio, a, b int, confidence float64) Ratio {
	var ofA, ofB []float64
	others, inverse := Table{}, 0.0
	for _, row := range t {
		rest := slices.Clone(row)
		rest[a], rest[b] = math.NaN(), math.NaN()
		others = append(others, rest)
		present := slices.DeleteFunc(slices.Clone(rest), math.IsNaN)
		if math.IsNaN(row[a]) || math.IsNaN(row[b]) || len(present) < 2 {
			continue
		}
		ofA, ofB = append(ofA, row[a]-Mean(present)), append(ofB, row[b]-Mean(present))
		inverse += 1 / float64(len(present))
	}
	base, n := others.noise(), float64(len(ofA))
	if len(ofA) < own.N || base.degrees < 1 {
		return own
	}
	added := base.variance() * inverse / n // by the mean of the others
	va, vb := max(0, Variance(ofA)-added), max(0, Variance(ofB)-added)
	if va+vb == 0 {
		return own
	}
	// Of the sum of the two estimates: variance in units of 2/(n-1).
	unsure := (va+added)*(va+added) + (vb+added)*(vb+added) + 2*added*added + 4*added*added*(n-1)/base.degrees
	degrees := max(n-1, (n-1)*(va+vb)*(va+vb)/unsure)
	return newRatio(own.LogMean, math.Sqrt((va+vb)/n), degrees, own.N, confidence).of(OfVariants)
}

// noise returns what is left of the table without its blocks and variants. A full table
// of b blocks and v variants has (b-1)(v-1) degrees of freedom, one with gaps its
// cells less the parameters that they can tell.
func (t Table) noise() noise {
	left := make(Table, len(t))
	for i, row := range t {
		left[i] = slices.Clone(row)
	}
	left.sweep()
	cells, n := 0, noise{}
	for _, row := range left {
		for _, value := range row {
			if !math.IsNaN(value) {
				cells, n.squares = cells+1, n.squares+value*value
			}
		}
	}
	n.degrees = float64(cells - t.parameters())
	return n
}

// sweep takes the means of rows and columns out of the table, in turn, until none is
// left: once where no cell is missing, some dozen times where some are.
func (t Table) sweep() {
	const most, small = 10000, 1e-12
	for range most {
		largest := 0.0
		for i := range t {
			largest = max(largest, center(len(t[i]), func(j int) *float64 { return &t[i][j] }))
		}
		for j := range t.width() {
			largest = max(largest, center(len(t), func(i int) *float64 { return &t[i][j] }))
		}
		if largest < small {
			return
		}
	}
}

// center takes the mean out of n cells, and returns how far it was from 0.
func center(n int, at func(int) *float64) float64 {
	sum, count := 0.0, 0.0
	for i := range n {
		if value := *at(i); !math.IsNaN(value) {
			sum, count = sum+value, count+1
		}
	}
	if count == 0 {
		return 0
	}
	for i := range n {
		*at(i) -= sum / count
	}
	return math.Abs(sum / count)
}

// width returns the number of columns.
func (t Table) width() int {
	if len(t) == 0 {
		return 0
	}
	return len(t[0])
}

// parameters counts what the table can tell of its blocks and variants: one for each
// that has a cell, less one for each part of the table that shares no block and no
// variant with the others.
func (t Table) parameters() int {
	const none = -1
	part := slices.Repeat([]int{none}, len(t)+t.width()) // of rows, then of columns
	found, parts := 0, 0
	for i, row := range t {
		for j, value := range row {
			if math.IsNaN(value) {
				continue
			}
			for _, of := range []int{i, len(t) + j} {
				if part[of] == none {
					part[of] = of
					found, parts = found+1, parts+1
				}
			}
			if from, to := part[len(t)+j], part[i]; from != to {
				parts--
				for of := range part {
					if part[of] == from {
						part[of] = to
					}
				}
			}
		}
	}
	return found - parts
}
