package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-lab/cleave/internal/testset"
)

var gap = math.NaN()

// TestRatioWithTheNoiseOfTheTable: the residuals of this table are 0.01 times {1 -1 0}, {-1 1 0}, {0 0 0}, so
// that their squares add up to 4e-4, with 4 degrees of freedom.
func TestRatioWithTheNoiseOfTheTable(t *testing.T) {
	table := Table{{0.51, 0.89, 2.2}, {0.59, 1.01, 2.3}, {0.3, 0.7, 2.0}}
	r, err := table.Ratio(2, 1, 0.95)
	testset.Must(t, err)
	if r.Spread != OfTable || r.N != 3 {
		t.Errorf("spread %q of %d blocks, want that of the table, 3", r.Spread, r.N)
	}
	within(t, "log ratio", r.LogMean, 1.3, 1e-12)
	within(t, "standard error", r.LogSE, math.Sqrt(2*1e-4/3), 1e-12)
	near(t, "degrees of freedom", r.Degrees, 4)
	within(t, "upper end", r.High, math.Exp(1.3+2.776445*math.Sqrt(2*1e-4/3)), 1e-6)
	back, err := table.Ratio(1, 2, 0.95)
	testset.Must(t, err)
	near(t, "low of the inverse", back.Low, 1/r.High)
}

// TestNoiseOfTablesWithGaps compares the residual with that of least squares, with a column per block and
// variant.
func TestNoiseOfTablesWithGaps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		table := make(Table, 5)
		cells := 0
		var design, values []float64
		for b := range table {
			table[b] = make([]float64, 4)
			for v := range table[b] {
				table[b][v] = r.NormFloat64() + float64(b) + 3*float64(v)
				if b > 1 && r.Float64() < 0.4 {
					table[b][v] = gap
					continue
				}
				row := make([]float64, 8) // 5 blocks, and all variants but the first
				row[b] = 1
				if v > 0 {
					row[4+v] = 1
				}
				design = append(design, row...)
				values = append(values, table[b][v])
				cells++
			}
		}
		x := mat.NewDense(cells, 8, design)
		y := mat.NewDense(cells, 1, values)
		solution, rank := leastSquares(t, x, y)
		var left mat.Dense
		left.Mul(x, solution)
		left.Sub(&left, y)
		n := table.fit().residual
		within(t, "sum of squares", n.squares, math.Pow(mat.Norm(&left, 2), 2), 1e-8)
		near(t, "degrees of freedom", n.degrees, float64(cells-rank))
	}
}

// leastSquares solves a x = b by the singular values of a, and returns the rank of a, too.
func leastSquares(t *testing.T, a, b *mat.Dense) (x *mat.Dense, rank int) {
	t.Helper()
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		t.Fatal("no factorisation")
	}
	x = &mat.Dense{}
	rank = svd.Rank(1e-10)
	svd.SolveTo(x, b, rank)
	return x, rank
}

// TestDegreesOfTablesInParts: blocks 1 and 2 share no variant with block 3, and variant 5 was never measured.
func TestDegreesOfTablesInParts(t *testing.T) {
	table := Table{{1, 2, gap, gap, gap}, {3, 4, gap, gap, gap}, {gap, gap, 5, 6, gap}}
	if got := table.fit().residual.degrees; got != 1 {
		t.Errorf("degrees of freedom: %g, want 1: six cells less 2 + 2 - 1 and 1 + 2 - 1 parameters", got)
	}
	if n := (Table{}).fit().residual; n != (noise{}) {
		t.Errorf("of no blocks: %+v", n)
	}
}

// TestRatioOfIncompleteBlocks: Montgomery, Design and Analysis of Experiments, example
// 4.5, four catalysts in incomplete blocks of three: adjusted totals -9/3, -7/3, -4/3
// and 20/3, so effects of -9/8, -7/8, -4/8 and 20/8, an error of 3.25 with 5 degrees of
// freedom, and a standard error of a difference of sqrt(2 x 3 x 0.65 / (2 x 4)).
func TestRatioOfIncompleteBlocks(t *testing.T) {
	table := Table{{73, gap, 73, 75}, {74, 75, 75, gap}, {gap, 67, 68, 72}, {71, 72, gap, 75}}
	r, err := table.Ratio(3, 2, 0.95)
	testset.Must(t, err)
	if r.Spread != OfTable || r.N != 2 {
		t.Errorf("spread %q of %d blocks, want that of the table, 2", r.Spread, r.N)
	}
	within(t, "difference", r.LogMean, 3, 1e-9)
	within(t, "standard error", r.LogSE, math.Sqrt(0.4875), 1e-9)
	near(t, "degrees of freedom", r.Degrees, 5)
	back, err := table.Ratio(2, 3, 0.95)
	testset.Must(t, err)
	near(t, "low of the inverse", back.Low, 1/r.High)
}

// TestRatioWithALostTrial: block 3 lacks the last variant. By hand its ratio to the first
// is d = last - (first + second)/2, over two blocks, plus (second - first)/2, over three:
// 3/4 + 1/6 = 11/12 of a trial's variance. What these two leave is the residual.
func TestRatioWithALostTrial(t *testing.T) {
	table := Table{{0.51, 0.89, 2.0}, {0.59, 1.01, 2.0}, {0.3, 0.7, gap}}
	r, err := table.Ratio(2, 0, 0.95)
	testset.Must(t, err)
	first, second := 2-(0.51+0.89)/2, 2-(0.59+1.01)/2
	within(t, "difference", r.LogMean, (first+second)/2+(0.38+0.42+0.4)/6, 1e-12)
	squares := (first-second)*(first-second)/2/1.5 + (0.02*0.02+0.02*0.02)/2
	within(t, "standard error", r.LogSE, math.Sqrt(11./12*squares/3), 1e-9)
	near(t, "degrees of freedom", r.Degrees, 3)
}

// TestRatioByWayOfAThirdVariant: no block has both variants, but each has a third one, to which both are
// compared: 2.1 - 1.0.
func TestRatioByWayOfAThirdVariant(t *testing.T) {
	table := Table{{1.1, 0.1, gap}, {0.9, -0.1, gap}, {gap, 0, 2.1}, {gap, 0.2, 2.3}}
	r, err := table.Ratio(2, 0, 0.95)
	testset.Must(t, err)
	within(t, "difference", r.LogMean, 1.1, 1e-12)
	if r.N != 0 || r.Degrees != 2 || r.Spread != OfTable {
		t.Errorf("%+v: want no block with both, 2 degrees of freedom, the spread of the table", r)
	}
	for name, apart := range map[string]Table{
		"no chain of blocks":   {{1, 2, gap, gap}, {1, 2.1, gap, gap}, {gap, gap, 3, 4}, {gap, gap, 3, 4.1}},
		"no degree of freedom": {{1, 2, 3, 3}, {1, gap, gap, gap}},
	} {
		if r, err := apart.Ratio(3, 0, 0.95); err == nil {
			t.Errorf("%s: %+v, want an error", name, r)
		}
	}
}

// TestDifferenceIsThatOfLeastSquares compares it with a design matrix that has a column per block and
// variant.
func TestDifferenceIsThatOfLeastSquares(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 20 {
		table := random(r, 5, 0.1, 0.2, 0.3, 0.4)
		for b := range table {
			if b > 0 {
				table[b][r.IntN(4)] = gap
			}
		}
		var design, values []float64
		for b, row := range table {
			for v, value := range row {
				if !math.IsNaN(value) {
					columns := make([]float64, 9)
					columns[b] = 1
					columns[5+v] = 1
					design = append(design, columns...)
					values = append(values, value)
				}
			}
		}
		x := mat.NewDense(len(values), 9, design)
		y := mat.NewDense(len(values), 1, values)
		solution, _ := leastSquares(t, x, y)
		difference, scale := table.fit().difference(3, 1)
		within(t, "difference", difference, solution.At(8, 0)-solution.At(6, 0), 1e-9)
		contrast := mat.NewDense(9, 1, []float64{0, 0, 0, 0, 0, 0, -1, 0, 1})
		var squares mat.Dense
		squares.Mul(x.T(), x)
		normal, _ := leastSquares(t, &squares, contrast)
		within(t, "variance", scale, normal.At(8, 0)-normal.At(6, 0), 1e-9)
	}
}

// TestTwoBlocksThatScatterMore: two blocks have both variants. Their differences are 0.4 apart, and the rest
// scatters by next to nothing. One degree of freedom is too few for a spread of their own (t would be 12.7),
// but their variance takes the place of the table's.
func TestTwoBlocksThatScatterMore(t *testing.T) {
	table := Table{{0, 0.01, 1}, {0, 0, 1.4}, {0, -0.01, gap}}
	r, err := table.Ratio(2, 0, 0.95)
	testset.Must(t, err)
	within(t, "standard error", r.LogSE, math.Sqrt(11./12*0.4*0.4/2/2), 1e-9)
	near(t, "degrees of freedom", r.Degrees, 3)
}

// random returns a table of blocks with one variant for each standard deviation.
func random(r *rand.Rand, blocks int, deviations ...float64) Table {
	table := make(Table, blocks)
	for b := range table {
		host := r.NormFloat64()
		for _, deviation := range deviations {
			table[b] = append(table[b], host+deviation*r.NormFloat64())
		}
	}
	return table
}

// TestPairsThatScatterMore: the variance of the difference of the first two variants is 0.3^2 + 0.1^2, and
// that of the other three does not count. The mean of these three, to which each is compared, adds 0.12^2/3.
func TestPairsThatScatterMore(t *testing.T) {
	const blocks = 6000
	table := random(rand.New(rand.NewPCG(7, 8)), blocks, 0.3, 0.1, 0.12, 0.12, 0.12)
	r, err := table.Ratio(0, 1, 0.95)
	testset.Must(t, err)
	if r.Spread != OfVariants {
		t.Fatalf("spread %q, want that of the two variants", r.Spread)
	}
	within(t, "variance of a difference", r.LogSE*r.LogSE*blocks, 0.1, 0.004)
	// 0.1^2 over 0.0948^2 + 0.0148^2 + 2 * 0.0048^2 + 2 * 0.0048^2.
	within(t, "degrees of freedom of a block", r.Degrees/(blocks-1), 0.01/0.00930, 0.03)
	narrow := pick(table, 0, 1, 2)
	if r, err = narrow.Ratio(0, 1, 0.95); err != nil || r.Spread != OfPair {
		t.Errorf("beside one other: spread %q, %v, want that of the pair", r.Spread, err)
	}
}

// pick returns a table of the given columns.
func pick(t Table, columns ...int) Table {
	picked := make(Table, len(t))
	for b, row := range t {
		for _, v := range columns {
			picked[b] = append(picked[b], row[v])
		}
	}
	return picked
}

// TestCountsThatNeverChange: a ratio of constant counts has no noise, though other variants do.
func TestCountsThatNeverChange(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	table := make(Table, 5)
	for b := range table {
		table[b] = []float64{math.Log(9), math.Log(54), math.Log(30 + r.Float64()), math.Log(40 + r.Float64())}
	}
	exact, err := table.Ratio(1, 0, 0.95)
	testset.Must(t, err)
	if exact.Spread != OfPair || exact.High-exact.Low > 1e-9 {
		t.Errorf("54 over 9 in every block: [%g, %g] from the spread of the %s", exact.Low, exact.High,
			exact.Spread)
	}
}

// TestRatiosWithoutATable: of two variants alone the ratio is that of the blocks that have both.
func TestRatiosWithoutATable(t *testing.T) {
	table := Table{{1, 2.1}, {1.1, 2}, {1.3, gap}, {1.2, 2.4}}
	r, err := table.Ratio(1, 0, 0.95)
	testset.Must(t, err)
	want, err := PairedRatio([]float64{math.Exp(2.1), math.Exp(2), math.Exp(2.4)},
		[]float64{math.E, math.Exp(1.1), math.Exp(1.2)}, 0.95)
	testset.Must(t, err)
	nearInterval(t, "two variants", r.Estimate, [2]float64{want.Low, want.High})
	if r.N != 3 || r.Spread != OfPair {
		t.Errorf("%d blocks, spread %q, want 3 and the pair's", r.N, r.Spread)
	}
	if _, err := table[:1].Ratio(1, 0, 0.95); err == nil {
		t.Error("one block gives an interval")
	}
}
