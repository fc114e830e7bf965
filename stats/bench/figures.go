package main

import (
	"fmt"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// list collects figures, and keeps the first error.
type list struct {
	all []figures.Figure
	err error
}

// add appends the mean of a value per experiment, with a goal unless that is zero.
func (l *list) add(name string, better lab.Direction, values []float64, goal figures.Goal) {
	e, err := stats.MeanInterval(values, figures.Confidence)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("%s: %w", name, err)
	}
	f := figures.Figure{Figure: name, Value: e.Value, Low: e.Low, High: e.High, Unit: "1", N: e.N,
		Better: better}
	if goal != (figures.Goal{}) {
		f = f.To(goal)
	}
	l.all = append(l.all, f)
}

// mistakesGoal is the goal for the share of identical variants that are called different: little above alpha.
func mistakesGoal() figures.Goal { return figures.Goal{Must: 0.06, Stretch: 0.05} }

// completeDesigns returns how often verdicts are wrong and differences found in one scene: with a fixed
// number of blocks, with looks after every block, and with a small table of two variants and a twin. If the
// baseline scatters more than the others there are no goals: the figures then show the price of pooling the
// noise.
func completeDesigns(s scene, tables []stats.Table) ([]figures.Figure, error) {
	var l list
	mistakes := mistakesGoal()
	finds := figures.Goal{Must: 0.95, Stretch: 0.99}
	if s == noisyBaseline() {
		mistakes = figures.Goal{}
		finds = figures.Goal{}
	}
	for _, blocks := range []int{3, 4, 8} {
		all, err := judgeAll(tables, fixed, blocks)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s, %d blocks: ", s.name, blocks)
		l.add(name+"wrongly different", lab.LowerIsBetter, all.different(same, alsoSame), mistakes)
		l.add(name+"1.06x found", lab.HigherIsBetter, all.slower(slightly, blocks), figures.Goal{})
		l.add(name+"1.10x found", lab.HigherIsBetter, all.slower(somewhat, blocks), figures.Goal{})
		goal := figures.Goal{}
		if blocks == 4 {
			goal = finds
		}
		l.add(name+"1.30x found", lab.HigherIsBetter, all.slower(clearly, blocks), goal)
	}
	var looks []int
	for n := firstLook; n <= mostBlocks; n++ {
		looks = append(looks, n)
	}
	all, err := judgeAll(tables, sequential(), looks...)
	if err != nil {
		return nil, err
	}
	name := s.name + ", looks after every block: "
	l.add(name+"wrongly different", lab.LowerIsBetter, all.different(same, alsoSame), mistakes)
	l.add(name+"1.30x found within 4 blocks", lab.HigherIsBetter, all.slower(clearly, 4), figures.Goal{})
	small := make([]stats.Table, len(tables))
	for i, t := range tables {
		small[i] = pick(t, baseline, twin, same)
	}
	if all, err = judgeAll(small, fixed, 4); err != nil {
		return nil, err
	}
	l.add(s.name+", two variants and a twin, 4 blocks: wrongly different", lab.LowerIsBetter,
		all.different(same), mistakes)
	return l.all, l.err
}
