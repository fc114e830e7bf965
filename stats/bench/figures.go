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

// add appends a figure; a goal of two zeros is none.
func (l *list) add(name, unit string, better lab.Direction, values []float64, goal figures.Goal) {
	f, err := mean(name, unit, better, values)
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

// compared holds all spreads and all bounds against each other, with everything
// disturbed at once.
func compared(tables []stats.Table) ([]figures.Figure, error) {
	var l list
	none := figures.Goal{}
	for _, s := range spreads() {
		for _, blocks := range []int{3, 4, 8} {
			all, err := count(tables, s, fixed(), blocks)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("%d blocks, %s: ", blocks, s.name)
			l.add(name+"wrongly different", "1", lab.LowerIsBetter, all.different(same, alsoSame), none)
			l.add(name+"1.06x found", "1", lab.HigherIsBetter, all.slower(slightly, blocks), none)
			l.add(name+"1.10x found", "1", lab.HigherIsBetter, all.slower(somewhat, blocks), none)
			l.add(name+"1.30x found", "1", lab.HigherIsBetter, all.slower(clearly, blocks), none)
		}
	}
	for _, way := range ways() {
		all, err := count(tables, way.spread, way.bound, looks()...)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("looks from block %d to %d, %s, %s: ", firstLook, mostBlocks, way.spread.name,
			way.bound.name)
		l.add(name+"wrongly different", "1", lab.LowerIsBetter, all.different(same, alsoSame), none)
		l.add(name+"1.10x found", "1", lab.HigherIsBetter, all.slower(somewhat, mostBlocks), none)
		l.add(name+"1.10x, blocks", "blocks", lab.LowerIsBetter, all.blocks(somewhat), none)
		l.add(name+"1.30x found within 4 blocks", "1", lab.HigherIsBetter, all.slower(clearly, 4), none)
		l.add(name+"1.30x, blocks", "blocks", lab.LowerIsBetter, all.blocks(clearly), none)
		l.add(name+"2x, blocks", "blocks", lab.LowerIsBetter, all.blocks(doubly), none)
	}
	return l.all, l.err
}

// way is a spread with a bound.
type way struct {
	spread spread
	bound  bound
}

// ways returns the sequential designs that are compared.
func ways() []way {
	all := []way{{spread{name: "t by pair", ratio: byPair}, sequential("O'Brien-Fleming", stats.OBrienFleming)}}
	for _, b := range bounds() {
		all = append(all, way{checked(), b})
	}
	return all
}

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
		all, err := count(tables, checked(), fixed(), blocks)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s, %d blocks: ", s.name, blocks)
		l.add(name+"wrongly different", "1", lab.LowerIsBetter, all.different(same, alsoSame), mistakes)
		if blocks == 4 {
			l.add(name+"1.30x found", "1", lab.HigherIsBetter, all.slower(clearly, blocks), finds)
		}
	}
	all, err := count(tables, checked(), pocock(), looks()...)
	if err != nil {
		return nil, err
	}
	name := s.name + ", looks after every block: "
	l.add(name+"wrongly different", "1", lab.LowerIsBetter, all.different(same, alsoSame), mistakes)
	l.add(name+"1.30x found within 4 blocks", "1", lab.HigherIsBetter, all.slower(clearly, 4), figures.Goal{})
	little := make([]stats.Table, len(tables))
	for i, t := range tables {
		little[i] = pick(t, baseline, twin, same)
	}
	if all, err = count(little, checked(), fixed(), 4); err != nil {
		return nil, err
	}
	l.add(s.name+", two variants and a twin, 4 blocks: wrongly different", "1", lab.LowerIsBetter,
		all.different(same), mistakes)
	return l.all, l.err
}
