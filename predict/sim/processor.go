package sim

import (
	"fmt"
	"math"
)

// thousandths is the number of parts of a core: cores are counted in these, so that sums are exact.
const thousandths = 1000

// processor is a number of cores, and the shares that its units have of it.
type processor struct {
	cores     int64 // in thousandths
	wanted    int64 // by all shares
	saturated bool
	shares    []int32
}

// share is a queue of tasks that use a processor at the same rate: those of a unit with a limit, or of all
// units without one. Virtual time is the CPU time that each task gets, summed up since the share was last
// empty. A task is done when virtual time has grown by its demand, however the rate changes meanwhile.
type share struct {
	tasks     heap // by the virtual time at which they are done
	virtual   float64
	rate      float64 // of virtual time: cores per task
	since     float64 // when virtual time was brought up to date
	limit     int64   // thousandths of a core
	wanted    int64   // thousandths of a core: one core per task, up to the limit
	processor int32
	busy      float64 // core-seconds used since the last reading
}

// newProcessors makes the processors of a system and returns the share of each unit.
func (s *simulation) newProcessors(system System) (ofUnits []int32, err error) {
	for i, p := range system.Processors {
		cores := int64(math.Round(p.Cores * thousandths))
		if cores < 1 || !validSeconds(p.Cores) {
			return nil, fmt.Errorf("processor %d has %g cores: want at least 0.001", i, p.Cores)
		}
		s.processors = append(s.processors, processor{cores: cores})
	}
	whole := make([]int32, len(s.processors)) // the share of units without a limit, plus one
	for i, u := range system.Units {
		if u.Processor < 0 || u.Processor >= len(s.processors) {
			return nil, fmt.Errorf("unit %d: there is no processor %d, only %d of them", i, u.Processor,
				len(s.processors))
		}
		p := &s.processors[u.Processor]
		limit := int64(math.Round(u.Limit * thousandths))
		isTooLow := u.Limit > 0 && limit < 1
		switch {
		case u.Limit < 0 || isTooLow || math.IsNaN(u.Limit):
			return nil, fmt.Errorf("unit %d has a limit of %g cores: want at least 0.001, or 0 for none", i, u.Limit)
		case limit > 0 && limit < p.cores:
			ofUnits = append(ofUnits, s.newShare(u.Processor, limit))
		case whole[u.Processor] == 0:
			whole[u.Processor] = s.newShare(u.Processor, p.cores) + 1
			fallthrough
		default:
			ofUnits = append(ofUnits, whole[u.Processor]-1)
		}
	}
	s.busy = indexedHeap(len(s.shares))
	s.used = make([][MostParts]float64, len(ofUnits))
	return ofUnits, nil
}

func (s *simulation) newShare(of int, limit int64) int32 {
	id := int32(len(s.shares))
	s.shares = append(s.shares, share{limit: limit, processor: int32(of)})
	s.processors[of].shares = append(s.processors[of].shares, id)
	return id
}

// advance brings virtual time up to date.
func (sh *share) advance(now float64) {
	given := (now - sh.since) * sh.rate
	sh.virtual += given
	sh.busy += given * float64(len(sh.tasks.entries))
	sh.since = now
}

// use gives a task a part of its unit's processor until it has had its demand.
func (s *simulation) use(t, id int32, demand float64) {
	sh := &s.shares[id]
	sh.advance(s.now)
	if len(sh.tasks.entries) == 0 {
		sh.virtual = 0
	}
	sh.tasks.push(sh.virtual+demand, t)
	s.reallot(id, sh)
}

// finish takes the task out of a share that is done now.
func (s *simulation) finish(id int32) int32 {
	sh := &s.shares[id]
	sh.advance(s.now)
	done := sh.tasks.pop()
	sh.virtual = done.at
	s.reallot(id, sh)
	return done.id
}

// reallot gives the shares of a processor their rates after the number of tasks of one has changed.
func (s *simulation) reallot(id int32, sh *share) {
	p := &s.processors[sh.processor]
	n := int64(len(sh.tasks.entries)) * thousandths
	wanted := min(n, sh.limit)
	p.wanted += wanted - sh.wanted
	sh.wanted = wanted
	if len(p.shares) > 1 {
		was := p.saturated
		if p.saturated = p.wanted > p.cores; was || p.saturated {
			s.level(p)
			return
		}
	}
	sh.rate = 1
	if n > wanted {
		sh.rate = float64(wanted) / float64(n)
	}
	s.schedule(id, sh)
}

// level shares a processor that is or was saturated: every task gets the same, and what tasks of a limited
// unit cannot use the others get (max-min fairness; Bertsekas and Gallager, Data Networks, section 6.5.2).
func (s *simulation) level(p *processor) {
	left, tasks := p.cores, int64(0)
	for _, id := range p.shares {
		sh := &s.shares[id]
		sh.advance(s.now)
		sh.rate = 0
		tasks += int64(len(sh.tasks.entries)) * thousandths
	}
	for again := true; again; {
		again = false
		for _, id := range p.shares {
			sh := &s.shares[id]
			n := int64(len(sh.tasks.entries)) * thousandths
			if sh.rate > 0 || n == 0 {
				continue
			}
			most := float64(sh.wanted) / float64(n)
			if !p.saturated || most*float64(tasks) <= float64(left) {
				sh.rate = most
				again = true
				left, tasks = left-sh.wanted, tasks-n
			}
		}
	}
	for _, id := range p.shares {
		sh := &s.shares[id]
		if sh.rate == 0 && tasks > 0 {
			sh.rate = float64(left) / float64(tasks)
		}
		s.schedule(id, sh)
	}
}

// schedule sets when the next task of a share is done.
func (s *simulation) schedule(id int32, sh *share) {
	if len(sh.tasks.entries) == 0 {
		s.busy.remove(id)
		return
	}
	s.busy.set(id, s.now+max(0, sh.tasks.entries[0].at-sh.virtual)/sh.rate)
}
