package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Options hold the length of a simulation and what is kept of it.
type Options struct {
	Seed uint64
	// WarmUp is the number of operations that end before recording begins.
	WarmUp int
	// Batches is the number of batches that are recorded, PerBatch the number of operations in each. Intervals
	// are made of the means of batches.
	Batches, PerBatch int
	// Quantiles of the response time, such as 0.5 and 0.99, that each batch keeps.
	Quantiles []float64
	// MostInProgress is the number of tasks in progress above which the system cannot keep up: then the
	// simulation ends. 0 is a million.
	MostInProgress int
}

// ErrOverload is the error of a system in which work piles up.
var ErrOverload = errors.New("work piles up: the system cannot keep up with its load")

// ErrStuck is the error of a system in which all tasks wait for each other.
var ErrStuck = errors.New("nothing can go on: every task waits for a place that another one holds")

// simulation is the state of a system at a moment.
type simulation struct {
	code
	processors []processor
	shares     []share
	used       [][MostParts]float64 // CPU seconds that units have asked for since the last reading, by part
	pools      []pool
	loads      []load
	programs   []int32 // the first step of each operation
	tasks      []task
	free       int32   // the first free task
	ready      []int32 // tasks that can go on now
	timers     heap    // tasks that wait, and loads (below 0)
	busy       heap    // shares with tasks, by when the next is done
	random     random
	now        float64
	events     uint64
	inProgress int
	record     recorder
}

// Run simulates the system and returns what was recorded. An event is the end of a wait or of the use of a
// processor, or an arrival. With ErrOverload and ErrStuck it returns what was recorded until then.
func Run(ctx context.Context, system System, options Options) (Result, error) {
	s, err := newSimulation(system, options)
	if err != nil {
		return Result{}, err
	}
	most := options.MostInProgress
	if most == 0 {
		most = 1e6
	}
	const round = 1 << 14
	for !s.record.done {
		if s.events%round == 0 && ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if s.inProgress > most {
			return s.result(), s.hopeless(ErrOverload)
		}
		if !s.event() {
			return s.result(), s.hopeless(ErrStuck)
		}
	}
	return s.result(), nil
}

// hopeless returns the error of a simulation that ends early, with the state of the system.
func (s *simulation) hopeless(why error) error {
	return fmt.Errorf("%w: %d tasks after %.3g simulated seconds", why, s.inProgress, s.now)
}

func newSimulation(system System, options Options) (*simulation, error) {
	if options.Batches < 1 || options.PerBatch < 1 || options.WarmUp < 0 {
		return nil, fmt.Errorf("%d batches of %d operations after %d: want at least one of one after 0",
			options.Batches, options.PerBatch, options.WarmUp)
	}
	s := &simulation{free: none, random: newRandom(options.Seed, 0)}
	var mistake error
	if s.code, mistake = compile(system); mistake != nil {
		return nil, mistake
	}
	for i, o := range system.Operations {
		if o.Program < 0 || o.Program >= len(s.starts) {
			return nil, fmt.Errorf("operation %d: there is no program %d, only %d of them", i, o.Program,
				len(s.starts))
		}
		s.programs = append(s.programs, s.starts[o.Program])
	}
	shares, mistake := s.newProcessors(system)
	if err := errors.Join(mistake, s.newPools(system), s.newLoads(system, options.Seed)); err != nil {
		return nil, err
	}
	for i := range s.steps {
		if st := &s.steps[i]; st.action == work {
			st.more = shares[st.target]
		}
	}
	s.record = newRecorder(options, len(system.Operations), s)
	return s, nil
}

// event carries out the next event, and all steps of tasks that follow from it at once. It reports whether
// there was one.
func (s *simulation) event() bool {
	next := math.Inf(1)
	working := false
	if len(s.timers.entries) > 0 {
		next = s.timers.entries[0].at
	}
	if len(s.busy.entries) > 0 && s.busy.entries[0].at <= next {
		next, working = s.busy.entries[0].at, true
	}
	if math.IsInf(next, 1) {
		return false
	}
	s.now = next
	s.events++
	if working {
		t := s.finish(s.busy.entries[0].id)
		s.worked(t)
		s.run(t)
		return true
	}
	due := s.timers.pop()
	if due.id < 0 {
		s.arrive(-due.id - 1)
	} else {
		s.run(due.id)
	}
	return true
}
