package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// incomplete is a design that lost trials of the variant that is compared.
type incomplete struct {
	name    string
	blocks  int
	lost    []int // blocks without the variant, from 0
	columns []int // variants of the design
}

// incompletes returns small designs, in which a lost trial costs most. In those of two blocks only one
// complete block is left, in those of three blocks two.
func incompletes() []incomplete {
	few := []int{baseline, twin, same}
	all := []int{baseline, twin, same, alsoSame, slightly, somewhat, clearly, doubly}
	return []incomplete{
		{"two variants and a twin, 3 blocks, 1 trial lost", 3, []int{1}, few},
		{"two variants and a twin, 5 blocks, 1 trial lost", 5, []int{2}, few},
		{"two variants and a twin, 8 blocks, 2 trials lost", 8, []int{0, 5}, few},
		{"eight variants, 2 blocks, 1 trial lost", 2, []int{1}, all},
		{"eight variants, 3 blocks, 1 trial lost", 3, []int{1}, all},
	}
}

// apply returns the part of a whole table that this design has, with gaps for the lost trials.
func (d incomplete) apply(t stats.Table) stats.Table {
	played := pick(t[:d.blocks], d.columns...)
	for _, block := range d.lost {
		played[block][slices.Index(d.columns, same)] = math.NaN()
	}
	return played
}

// incompleteDesigns returns how often intervals of incomplete tables miss the truth, without goals where
// completeDesigns has none. With all disturbances at once it also returns how much narrower they are than the
// intervals without the blocks that have a gap.
func incompleteDesigns(s scene, tables []stats.Table) ([]figures.Figure, error) {
	var l list
	mistakes := mistakesGoal()
	if s == noisyBaseline() {
		mistakes = figures.Goal{}
	}
	for _, d := range incompletes() {
		misses := make([]float64, len(tables))
		widths := make([]float64, len(tables))
		dropped := make([]float64, len(tables))
		err := each(len(tables), func(i int) error {
			gaps := d.apply(tables[i])
			up := slices.Index(d.columns, same)
			down := slices.Index(d.columns, baseline)
			ratio, err := gaps.Ratio(up, down, 1-alpha)
			if err != nil {
				return err
			}
			if !ratio.Contains(1) {
				misses[i] = 1
			}
			widths[i] = math.Log(ratio.High / ratio.Low)
			whole := slices.DeleteFunc(gaps, func(row []float64) bool { return math.IsNaN(row[up]) })
			if len(whole) > 1 {
				ratio, err = whole.Ratio(up, down, 1-alpha)
				dropped[i] = math.Log(ratio.High / ratio.Low)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s, %s: ", s.name, d.name)
		l.add(name+"interval misses the truth", lab.LowerIsBetter, misses, mistakes)
		if s == together() && d.blocks-len(d.lost) > 1 { // of one block there is no interval
			f, err := figures.Ratio(name+"width / width without the block", lab.LowerIsBetter, widths, dropped)
			if err != nil {
				return nil, err
			}
			l.all = append(l.all, f.To(figures.Goal{Must: 1, Stretch: 0.8}))
		}
	}
	return l.all, l.err
}
