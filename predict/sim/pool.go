package sim

import "fmt"

// pool is a number of places, and a linked list of the tasks that wait for one.
type pool struct {
	size, used     int32
	most, waiting  int32   // how many may wait, and how many do
	first, last    int32   // of the waiting tasks
	since          float64 // when usedTime and waitingTime were brought up to date
	usedTime       float64 // places times seconds since the last reading
	waitingTime    float64 // waiting tasks times seconds
	taken, refused uint64  // since the last reading
}

func (s *simulation) newPools(system System) error {
	for i, p := range system.Pools {
		if p.Size < 1 || p.Size > Unbounded || p.Queue < 0 || p.Queue > Unbounded {
			return fmt.Errorf("pool %d has %d places and a queue for %d: want a place, and a queue from 0 to "+
				"Unbounded", i, p.Size, p.Queue)
		}
		s.pools = append(s.pools, pool{size: int32(p.Size), most: int32(p.Queue), first: none, last: none})
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

// grant is the outcome of asking for a place.
type grant uint8

const (
	granted grant = iota
	queued
	refused
)

// take gives a task a place, a place in the queue, or neither.
func (s *simulation) take(id, t int32) grant {
	p := &s.pools[id]
	p.advance(s.now)
	switch {
	case p.used < p.size:
		p.used++
		p.taken++
		return granted
	case p.waiting >= p.most:
		p.refused++
		return refused
	}
	s.tasks[t].next = none
	if p.waiting == 0 {
		p.first = t
	} else {
		s.tasks[p.last].next = t
	}
	p.last = t
	p.waiting++
	return queued
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
	p.taken++
	task.spent[s.steps[task.at].part] += s.now - task.since
	task.at++
	s.ready = append(s.ready, t)
}
