package main

import (
	"fmt"
	"math"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// outcome is what one way of judging made of one variant of one experiment.
type outcome struct {
	verdict lab.ComparisonVerdict
	blocks  int // played until then
}

// outcomes has one outcome per experiment and variant.
type outcomes [][columns]outcome

// count judges every experiment after the blocks given: at the first of them after
// which a variant is decided, else at the last.
func count(tables []stats.Table, s spread, b bound, blocks ...int) (outcomes, error) {
	all := make(outcomes, len(tables))
	err := each(tables, func(i int, t stats.Table) error {
		for _, n := range blocks {
			for v := range t[0] {
				if o := &all[i][v]; v != baseline && (o.verdict == "" || o.verdict == lab.Undecided) {
					verdict, err := look(t[:n], v, s, b)
					if err != nil {
						return err
					}
					*o = outcome{verdict, n}
				}
			}
		}
		return nil
	})
	return all, err
}

// look judges a variant from the blocks so far.
func look(t stats.Table, variant int, s spread, b bound) (lab.ComparisonVerdict, error) {
	ratio, err := s.ratio(t, variant, baseline)
	if err != nil {
		return "", err
	}
	gates := stats.Gates{Margin: margin}
	if s.floor {
		itself, err := s.ratio(t, twin, baseline)
		if err != nil {
			return "", err
		}
		noise := b.draw(itself)
		gates.Bias = math.Expm1(math.Log(noise.High/noise.Low) / 2)
	}
	return stats.Judge(b.draw(ratio), gates, stats.Wording{Above: "slower", Below: "faster"}).Kind, nil
}

// different counts how often variants are called slower or faster, as a share per
// experiment: variants of one experiment share a baseline and are not independent.
func (all outcomes) different(variants ...int) []float64 {
	return all.share(variants, func(o outcome) bool {
		return o.verdict == lab.Slower || o.verdict == lab.Faster
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

// blocks returns the blocks that were played for a variant.
func (all outcomes) blocks(variant int) []float64 {
	played := make([]float64, len(all))
	for i := range all {
		played[i] = float64(all[i][variant].blocks)
	}
	return played
}

// mean returns a figure with the mean over experiments and its interval.
func mean(name, unit string, better lab.Direction, values []float64) (figures.Figure, error) {
	e, err := stats.MeanInterval(values, figures.Confidence)
	if err != nil {
		return figures.Figure{}, fmt.Errorf("%s: %w", name, err)
	}
	return figures.Figure{Figure: name, Value: e.Value, Low: e.Low, High: e.High, Unit: unit, N: e.N,
		Better: better}, nil
}
