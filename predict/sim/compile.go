package sim

import (
	"errors"
	"fmt"
	"math"
)

// step is a Step as it is carried out.
type step struct {
	action      action
	part, queue Part
	target      int32 // unit, pool, or the first of its branches
	more        int32 // how many branches; the share of a unit
	duration    Dist
}

// branch is a Branch as it is carried out: so many calls, and one more with this probability.
type branch struct {
	start    int32 // the first step of the program
	calls    int32
	fraction float64
}

// code is all programs, one after the other, each with an end.
type code struct {
	steps    []step
	branches []branch
	starts   []int32 // of the programs
}

// mostCalls bounds the calls of one branch.
const mostCalls = 1e6

// compile checks the programs and joins them.
func compile(s System) (code, error) {
	var c code
	var mistakes []error
	for _, program := range s.Programs {
		c.starts = append(c.starts, int32(len(c.steps)))
		for _, st := range program {
			c.steps = append(c.steps, step{action: st.action, part: st.part, queue: st.queue,
				target: int32(st.target), duration: st.duration})
		}
		c.steps = append(c.steps, step{})
	}
	for i, program := range s.Programs {
		if err := checkPlaces(program); err != nil {
			mistakes = append(mistakes, fmt.Errorf("program %d: %w", i, err))
		}
		for j, st := range program {
			if err := st.check(s); err != nil {
				mistakes = append(mistakes, fmt.Errorf("program %d, step %d: %w", i, j, err))
				continue
			}
			if len(st.branches) > 0 {
				c.join(int(c.starts[i])+j, st.branches)
			}
		}
	}
	if len(mistakes) == 0 {
		mistakes = append(mistakes, checkCycles(s.Programs))
	}
	return c, errors.Join(mistakes...)
}

// join adds the branches of a step.
func (c *code) join(at int, branches []Branch) {
	c.steps[at].target = int32(len(c.branches))
	c.steps[at].more = int32(len(branches))
	for _, b := range branches {
		whole, fraction := math.Modf(b.Count)
		c.branches = append(c.branches, branch{c.starts[b.Program], int32(whole), fraction})
	}
}

// check returns an error for a step that refers to what is not there.
func (st Step) check(s System) error {
	limit, what := math.MaxInt, ""
	switch st.action {
	case work:
		limit, what = len(s.Units), "unit"
	case acquire, release:
		limit, what = len(s.Pools), "pool"
	case end:
		return errors.New("it does nothing: make steps with Work, Wait, Acquire, Release, Call, Fork and Spawn")
	}
	if st.target < 0 || st.target >= limit {
		return fmt.Errorf("there is no %s %d, only %d of them", what, st.target, limit)
	}
	if st.part >= MostParts || st.queue >= MostParts {
		return fmt.Errorf("parts %d and %d: there are %d, from 0", st.part, st.queue, MostParts)
	}
	for _, b := range st.branches {
		if b.Program < 0 || b.Program >= len(s.Programs) {
			return fmt.Errorf("there is no program %d, only %d of them", b.Program, len(s.Programs))
		}
		if !(b.Count >= 0 && b.Count <= mostCalls) {
			return fmt.Errorf("%g calls of program %d: want from 0 to %g", b.Count, b.Program, mostCalls)
		}
	}
	return st.duration.check()
}

// checkPlaces returns an error unless every place that a program takes is returned, the last one first.
func checkPlaces(program []Step) error {
	var taken []int
	for _, st := range program {
		switch last := len(taken) - 1; {
		case st.action == acquire:
			taken = append(taken, st.target)
		case st.action != release:
		case last < 0 || taken[last] != st.target:
			return fmt.Errorf("it returns a place of pool %d, which is not the last that it has taken", st.target)
		default:
			taken = taken[:last]
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("it takes a place of pool %d and does not return it", taken[0])
	}
	return nil
}

// checkCycles returns an error if a program calls itself, if only through others: its operations might never
// end.
func checkCycles(programs [][]Step) error {
	const (
		unknown = iota
		entered
		left
	)
	state := make([]int, len(programs))
	var visit func(i int) error
	visit = func(i int) error {
		if state[i] != unknown {
			if state[i] == entered {
				return fmt.Errorf("program %d calls itself", i)
			}
			return nil
		}
		state[i] = entered
		for _, st := range programs[i] {
			for _, b := range st.branches {
				if err := visit(b.Program); err != nil {
					return err
				}
			}
		}
		state[i] = left
		return nil
	}
	for i := range programs {
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}
