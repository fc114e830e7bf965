package main

import (
	"math"

	"github.com/cleave-lab/cleave/stats"
)

// margin is the smallest difference that matters; alpha the chance of a wrong
// difference that every procedure means to keep.
const (
	margin = 0.05
	alpha  = 0.05
)

// A spread gives the ratio of two columns of a table.
type spread struct {
	name  string
	ratio func(t stats.Table, numerator, denominator int) (stats.Ratio, error)
	// floor: what the interval of the baseline's twin reaches is called noise.
	floor bool
}

// spreads returns the ways to give a ratio its width that are compared. The last is
// Cleave's, the first what it had before.
func spreads() []spread {
	return []spread{
		{"t by pair, floor from the twin", byPair, true},
		{"t by pair", byPair, false},
		{"residual of the table", unchecked, false},
		checked(),
	}
}

func checked() spread {
	return spread{name: "residual of the table, checked",
		ratio: func(t stats.Table, up, down int) (stats.Ratio, error) {
			return t.Ratio(up, down, 1-alpha)
		}}
}

// byPair takes the two columns alone.
func byPair(t stats.Table, up, down int) (stats.Ratio, error) {
	return pick(t, up, down).Ratio(0, 1, 1-alpha)
}

// unchecked takes the residual of the table for every pair, whatever its own spread.
func unchecked(t stats.Table, up, down int) (stats.Ratio, error) {
	r, err := byPair(t, up, down)
	blocks, variants := float64(len(t)), float64(len(t[0]))
	r.Degrees = (blocks - 1) * (variants - 1)
	r.LogSE = math.Sqrt(2 * residual(t) / r.Degrees / blocks)
	return r, err
}

// residual returns the sum of squares around blocks and variants of a full table.
func residual(t stats.Table) float64 {
	var all []float64
	columns := make([][]float64, len(t[0]))
	rows := 0.0
	for _, row := range t {
		all = append(all, row...)
		rows += squares(stats.Mean(row))
		for v, value := range row {
			columns[v] = append(columns[v], value)
		}
	}
	sum := float64(len(all)) * squares(stats.Mean(all))
	for _, value := range all {
		sum += squares(value)
	}
	for _, column := range columns {
		sum -= float64(len(t)) * squares(stats.Mean(column))
	}
	return sum - float64(len(t[0]))*rows
}

func squares(x float64) float64 { return x * x }

// pick returns some columns of a table.
func pick(t stats.Table, wanted ...int) stats.Table {
	picked := make(stats.Table, len(t))
	for b, row := range t {
		for _, v := range wanted {
			picked[b] = append(picked[b], row[v])
		}
	}
	return picked
}

// bound draws the interval of a ratio after so many blocks.
type bound struct {
	name string
	draw func(r stats.Ratio) stats.Estimate
}

// fixed is for one look, at a number of blocks that was settled before.
func fixed() bound {
	return bound{"one look", func(r stats.Ratio) stats.Estimate { return r.At(1 - alpha) }}
}

// bounds returns the ways to look after every block that are compared.
func bounds() []bound {
	return []bound{sequential("O'Brien-Fleming", stats.OBrienFleming), pocock(), {"anytime-valid", anytime}}
}

// pocock is Cleave's.
func pocock() bound { return sequential("Pocock", stats.Pocock) }

// sequential returns a group-sequential design from firstLook to mostBlocks.
func sequential(name string, spend stats.Spending) bound {
	levels := stats.Looks(firstLook, mostBlocks, alpha, spend)
	return bound{name, func(r stats.Ratio) stats.Estimate { return r.At(1 - levels[r.N-firstLook]) }}
}

// anytime returns a confidence sequence for a t statistic: the values that a likelihood
// ratio, with a normal mixture over the effect sizes, does not refuse by 1/alpha.
// It holds at all times together, without a last look (Wang and Ramdas 2024, after
// Lai 1976). The mixture has effects of about two deviations in mind.
func anytime(r stats.Ratio) stats.Estimate {
	const mixture = 4.0 // variance of the effect in units of a difference's variance
	shrink := 1 / (1 + mixture*float64(r.N))
	refused := math.Pow(1/(alpha*math.Sqrt(shrink)), 2/(r.Degrees+1))
	half := math.Inf(1)
	if refused*shrink < 1 {
		half = r.LogSE * math.Sqrt(r.Degrees*(refused-1)/(1-refused*shrink))
	}
	return stats.Estimate{Value: r.Value, Low: r.Value * math.Exp(-half), High: r.Value * math.Exp(half), N: r.N,
		Confidence: 1 - alpha}
}
