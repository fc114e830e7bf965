package main

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

const (
	// margin is the smallest difference that matters, as a share.
	margin = 0.05
	// alpha is the nominal chance of a false finding.
	alpha = 0.05
)

// interval returns the interval of a ratio by which a design judges.
type interval func(r stats.Ratio) stats.Estimate

// fixed is the interval of a design with one look, after a number of blocks that is set beforehand.
func fixed(r stats.Ratio) stats.Estimate { return r.At(1 - alpha) }

// sequential returns the interval of a design that looks after every block from firstLook to mostBlocks.
func sequential() interval {
	levels := stats.Looks(firstLook, mostBlocks, alpha)
	return func(r stats.Ratio) stats.Estimate { return r.At(1 - levels[r.N-firstLook]) }
}

// outcome is the result of one variant of one experiment.
type outcome struct {
	verdict lab.ComparisonVerdict
	blocks  int // blocks until the verdict
}

// outcomes holds the outcomes by experiment and variant.
type outcomes [][columns]outcome

// judgeAll judges every variant of every experiment after each of the given numbers of blocks, until it is
// decided.
func judgeAll(tables []stats.Table, of interval, blocks ...int) (outcomes, error) {
	all := make(outcomes, len(tables))
	err := each(len(tables), func(i int) error {
		for _, n := range blocks {
			for v := range tables[i][0] {
				o := &all[i][v]
				isOpen := o.verdict == "" || o.verdict == lab.Undecided
				if v == baseline || !isOpen {
					continue
				}
				ratio, err := tables[i][:n].Ratio(v, baseline, 1-alpha)
				if err != nil {
					return err
				}
				verdict := stats.Judge(of(ratio), stats.Gates{Margin: margin},
					stats.Wording{Above: "slower", Below: "faster"})
				*o = outcome{verdict.Kind, n}
			}
		}
		return nil
	})
	return all, err
}

// different returns, per experiment, the share of the variants that are called slower or faster. It is one
// value per experiment because variants of one experiment share a baseline and are not independent.
func (all outcomes) different(variants ...int) []float64 {
	return all.share(variants, func(o outcome) bool {
		return o.verdict.Differs()
	})
}

// share returns, per experiment, the share of the variants whose outcome fulfils a condition.
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

// slower returns, per experiment, 1 if a variant is found to be slower within a number of blocks, else 0.
func (all outcomes) slower(variant, within int) []float64 {
	return all.share([]int{variant}, func(o outcome) bool {
		return o.verdict == lab.Slower && o.blocks <= within
	})
}
