package sim

import (
	"fmt"
	"math"
)

// pool is a number of places, and a linked list of the tasks that wait for one.
type pool struct {
	size, used  int32
	waiting     int32
	first, last int32   // of the waiting tasks
	since       float64 // when usedTime and waitingTime were brought up to date
	usedTime    float64 // places times seconds since the last reading
	waitingTime float64 // waiting tasks times seconds
}

func (s *simulation) newPools(system System) error {
	for i, p := range system.Pools {
		if p.Size < 1 || p.Size > math.MaxInt32 {
			return fmt.Errorf("pool %d has %d places: want 1 to %d", i, p.Size, math.MaxInt32)
		}
		s.pools = append(s.pools, pool{size: int32(p.Size), first: none, last: none})
	}
	return nil
}

// advance adds up places and waiting tasks until now.
func (p *pool) advance(now float64) {
	passed := now - p.since
	p.usedTime += passed * float64(p.used)
	p.waitingTime += passed * float64(p.waiting)
	p.since = now
}

// take gives a task a place, or else lets it wait for one. It reports whether the task has got a place.
func (s *simulation) take(id, t int32) bool {
	p := &s.pools[id]
	p.advance(s.now)
	if p.used < p.size {
		p.used++
		return true
	}
	s.tasks[t].next = none
	if p.waiting == 0 {
		p.first = t
	} else {
		s.tasks[p.last].next = t
	}
	p.last = t
	p.waiting++
	return false
}

// give returns a place; the task that has waited longest gets it and goes on.
func (s *simulation) give(id int32) {
	p := &s.pools[id]
	p.advance(s.now)
	if p.waiting == 0 {
		p.used--
		return
	}
	t := p.first
	task := &s.tasks[t]
	p.first = task.next
	p.waiting--
	task.spent[s.steps[task.at].part] += s.now - task.since
	task.at++
	s.ready = append(s.ready, t)
}
