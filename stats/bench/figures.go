package main

import (
	"fmt"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// list collects figures until one of them fails.
type list struct {
	all []figures.Figure
	err error
}

// add appends a share; a goal of two zeros is none.
func (l *list) add(name string, better lab.Direction, values []float64, goal figures.Goal) {
	f, err := mean(name, better, values)
	if l.err == nil {
		l.err = err
	}
	if goal != (figures.Goal{}) {
		f = f.To(goal)
	}
	l.all = append(l.all, f)
}

// wrong and found are the goals: to call identical variants different no more often
// than alpha and a little, and to find a difference of 1.3.
func wrong() figures.Goal { return figures.Goal{Must: 0.06, Stretch: 0.05} }
func found() figures.Goal { return figures.Goal{Must: 0.95, Stretch: 0.99} }

// looks returns the blocks after which a sequential design looks.
func looks() []int {
	var all []int
	for n := firstLook; n <= mostBlocks; n++ {
		all = append(all, n)
	}
	return all
}

// held holds what Cleave does against its goals in one scene: a number of blocks that
// was settled before, looks after every block, and the little table of two systems
// and a twin. Where variants scatter unlike there is no goal: it is what one gives
// up by pooling.
func held(s scene, tables []stats.Table) ([]figures.Figure, error) {
	var l list
	mistakes, finds := wrong(), found()
	if s == unlike() {
		mistakes, finds = figures.Goal{}, figures.Goal{}
	}
	for _, blocks := range []int{3, 4, 8} {
		all, err := count(tables, fixed, blocks)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s, %d blocks: ", s.name, blocks)
		l.add(name+"wrongly different", lab.LowerIsBetter, all.different(same, alsoSame), mistakes)
		l.add(name+"1.06x found", lab.HigherIsBetter, all.slower(slightly, blocks), figures.Goal{})
		l.add(name+"1.10x found", lab.HigherIsBetter, all.slower(somewhat, blocks), figures.Goal{})
		if blocks == 4 {
			l.add(name+"1.30x found", lab.HigherIsBetter, all.slower(clearly, blocks), finds)
		} else {
			l.add(name+"1.30x found", lab.HigherIsBetter, all.slower(clearly, blocks), figures.Goal{})
		}
	}
	all, err := count(tables, sequential(), looks()...)
	if err != nil {
		return nil, err
	}
	name := s.name + ", looks after every block: "
	l.add(name+"wrongly different", lab.LowerIsBetter, all.different(same, alsoSame), mistakes)
	l.add(name+"1.30x found within 4 blocks", lab.HigherIsBetter, all.slower(clearly, 4), figures.Goal{})
	little := make([]stats.Table, len(tables))
	for i, t := range tables {
		little[i] = pick(t, baseline, twin, same)
	}
	if all, err = count(little, fixed, 4); err != nil {
		return nil, err
	}
	l.add(s.name+", two variants and a twin, 4 blocks: wrongly different", lab.LowerIsBetter,
		all.different(same), mistakes)
	return l.all, l.err
}
