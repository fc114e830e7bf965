package sim

import (
	"fmt"
	"math"
)

// load is a stream of operations. It has random numbers of its own, so that two systems with the same seed
// get the same arrivals.
type load struct {
	rate       float64 // 0: closed
	think      Dist
	cumulative []float64 // the sum of the weights up to each operation, as a share of all
	random     random
}

// newLoads sets the loads of a system and schedules their first operations. The timer of load i has the ID
// -i-1: those from 0 on are tasks.
func (s *simulation) newLoads(system System, seed uint64) error {
	if len(system.Loads) == 0 {
		return fmt.Errorf("there is no load")
	}
	for i, l := range system.Loads {
		isOpen := l.Rate > 0 && !math.IsInf(l.Rate, 1) && l.Users == 0
		isClosed := l.Users > 0 && l.Rate == 0
		if !isOpen && !isClosed {
			return fmt.Errorf("load %d has a rate of %g/s and %d users: want one of them, above 0", i, l.Rate, l.Users)
		}
		if err := l.Think.check(); err != nil {
			return fmt.Errorf("load %d: %w", i, err)
		}
		shares, err := cumulative(l.Weights, len(system.Operations))
		if err != nil {
			return fmt.Errorf("load %d: %w", i, err)
		}
		s.loads = append(s.loads, load{rate: l.Rate, think: l.Think, cumulative: shares,
			random: newRandom(seed, uint64(i)+1)})
		if isOpen {
			s.timers.push(s.loads[i].random.exponential()/l.Rate, -int32(i)-1)
		}
		for range l.Users {
			s.timers.push(l.Think.draw(&s.loads[i].random), -int32(i)-1)
		}
	}
	return nil
}

// cumulative returns the sums of the weights, divided by the last one.
func cumulative(weights []float64, operations int) ([]float64, error) {
	if len(weights) != operations {
		return nil, fmt.Errorf("%d weights for %d operations", len(weights), operations)
	}
	sums := make([]float64, len(weights))
	sum := 0.0
	for i, w := range weights {
		if !validSeconds(w) {
			return nil, fmt.Errorf("weight %d is %g: want a finite number from 0", i, w)
		}
		sum += w
		sums[i] = sum
	}
	if sum == 0 {
		return nil, fmt.Errorf("no operation has a weight above 0")
	}
	for i := range sums {
		sums[i] /= sum
	}
	return sums, nil
}

// arrive begins an operation of a load, and schedules the next one of an open load.
func (s *simulation) arrive(id int32) {
	l := &s.loads[id]
	if l.rate > 0 {
		s.timers.push(s.now+l.random.exponential()/l.rate, -id-1)
	}
	operation := l.choose()
	t := s.newTask(s.programs[operation], none)
	task := &s.tasks[t]
	task.operation = operation
	task.load = id
	task.began = s.now
	s.record.begin(s.now)
	s.run(t)
}

// choose draws an operation by its weight.
func (l *load) choose() int32 {
	if len(l.cumulative) == 1 {
		return 0
	}
	draw := l.random.uniform()
	low := 0
	high := len(l.cumulative) - 1
	for low < high {
		if middle := (low + high) / 2; l.cumulative[middle] <= draw {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return int32(low)
}

// complete ends an operation; a user of a closed load begins to think.
func (s *simulation) complete(t *task) {
	if l := &s.loads[t.load]; l.rate == 0 {
		s.timers.push(s.now+l.think.draw(&l.random), -t.load-1)
	}
	s.record.complete(s, t)
}
