package main

import (
	"fmt"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// margin is the smallest difference that matters; alpha the chance of a wrong difference that is meant to be
// kept.
const (
	margin = 0.05
	alpha  = 0.05
)

// bound draws the interval of a ratio after so many blocks.
type bound func(r stats.Ratio) stats.Estimate

// fixed is for one look, at a number of blocks that was settled before.
func fixed(r stats.Ratio) stats.Estimate { return r.At(1 - alpha) }

// sequential returns the bound of looks after every block from firstLook to mostBlocks.
func sequential() bound {
	levels := stats.Looks(firstLook, mostBlocks, alpha)
	return func(r stats.Ratio) stats.Estimate { return r.At(1 - levels[r.N-firstLook]) }
}

// outcome is the result of one variant of one experiment.
type outcome struct {
	verdict lab.ComparisonVerdict
	blocks  int // played until then
}

// outcomes has one outcome per experiment and variant.
type outcomes [][columns]outcome

// count judges every experiment after the blocks given: at the first of them after
// which a variant is decided, else at the last.
func count(tables []stats.Table, b bound, blocks ...int) (outcomes, error) {
	all := make(outcomes, len(tables))
	err := each(tables, func(i int, t stats.Table) error {
		for _, n := range blocks {
			for v := range t[0] {
				if o := &all[i][v]; v != baseline && (o.verdict == "" || o.verdict == lab.Undecided) {
					ratio, err := t[:n].Ratio(v, baseline, 1-alpha)
					if err != nil {
						return err
					}
					*o = outcome{stats.Judge(b(ratio), stats.Gates{Margin: margin},
						stats.Wording{Above: "slower", Below: "faster"}).Kind, n}
				}
			}
		}
		return nil
	})
	return all, err
}

// different counts how often variants are called slower or faster, as a share per
// experiment: variants of one experiment share a baseline and are not independent.
func (all outcomes) different(variants ...int) []float64 {
	return all.share(variants, func(o outcome) bool {
		return o.verdict.Differs()
	})
}

// share returns the share of the variants of which something is true, one per experiment.
func (all outcomes) share(variants []int, is func(outcome) bool) []float64 {
	shares := make([]float64, len(all))
	for i := range all {
		for _, v := range variants {
			if is(all[i][v]) {
				shares[i] += 1 / float64(len(variants))
			}
		}
	}
	return shares
}

// slower returns how often a variant is found to be slower within so many blocks.
func (all outcomes) slower(variant, within int) []float64 {
	return all.share([]int{variant}, func(o outcome) bool {
		return o.verdict == lab.Slower && o.blocks <= within
	})
}

// mean returns a figure with the mean over experiments and its interval.
func mean(name string, better lab.Direction, values []float64) (figures.Figure, error) {
	e, err := stats.MeanInterval(values, figures.Confidence)
	if err != nil {
		return figures.Figure{}, fmt.Errorf("%s: %w", name, err)
	}
	return figures.Figure{Figure: name, Value: e.Value, Low: e.Low, High: e.High, Unit: "1", N: e.N,
		Better: better}, nil
}
