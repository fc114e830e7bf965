package model

import (
	"cmp"
	"maps"
	"slices"
)

// The CPU time that was metered for a unit is divided over the time that its spans explain, in three levels:
// business code and encoding use CPU all the time, so they get it first; what is left goes to statements and
// to the time on the way to other units; and the rest to commits and to messages that are published, which
// mostly wait for a disk. What is more than all of that no span has seen: requests that are read and written,
// garbage collection. It belongs to the messages that the unit gets and sends, to each as much.

// share holds the fractions of span time of a unit that were CPU time.
type share struct {
	run, statements, commits float64
	// message is the CPU time, in seconds, outside of spans for each message that comes or goes.
	message float64
}

// shareOf returns that of a unit; where nobody has metered it, an upper bound of business code.
func (b *builder) shareOf(unit string) share {
	if s, metered := b.shares[unit]; metered {
		return s
	}
	return share{run: 1}
}

// spent holds the time that the spans of a unit explain, per operation, in seconds, and its messages.
type spent struct{ run, statements, commits, messages float64 }

// divide finds the shares of all units.
func (b *builder) divide(operations []*node) {
	sums := map[string]*spent{}
	of := func(unit string) *spent {
		if sums[unit] == nil {
			sums[unit] = &spent{}
		}
		return sums[unit]
	}
	traces := 0.0
	for _, root := range operations {
		traces += float64(len(root.seen))
		of(root.unit).messages += float64(len(root.seen))
	}
	b.perStore = map[string]float64{}
	for n := range eachNode(operations) {
		unit := of(n.unit)
		for _, e := range n.seen {
			unit.run += e.run + e.hop.callee
			for store, v := range e.visits {
				unit.statements += v.inStatements
				unit.commits += v.inCommits
				b.perStore[store] += v.inStatements + v.inCommits
			}
			if n.crosses {
				caller := of(n.caller.unit)
				caller.run += e.hop.caller
				if n.async {
					caller.commits += e.hop.between
				} else {
					caller.statements += e.hop.between
				}
				caller.messages++
				unit.messages++
			}
		}
	}
	for store := range b.perStore {
		b.perStore[store] /= traces
	}
	b.shares = map[string]share{}
	for _, unit := range slices.Sorted(maps.Keys(sums)) {
		cpu, metered := b.CPU[unit]
		if !metered {
			b.note("nobody has metered %s: its CPU times are self times, an upper bound", unit)
			continue
		}
		sum, left := sums[unit], cpu*traces
		s := share{run: fill(&left, sum.run), statements: fill(&left, sum.statements),
			commits: fill(&left, sum.commits)}
		if sum.messages > 0 {
			s.message = left / sum.messages
		}
		b.shares[unit] = s
	}
	for _, name := range slices.Sorted(maps.Keys(b.CPU)) {
		if sums[name] == nil && !b.stores[name].Server && b.CPU[name] > 1e-6 {
			b.note("%s used %s CPU time per operation, which is in no call", name, spoken(duration(b.CPU[name])))
		}
	}
}

// fill takes from what is left as much as there is room for, and returns that as a share of the room.
func fill(left *float64, room float64) float64 {
	if room <= 0 {
		return 0
	}
	taken := min(*left, room)
	*left -= taken
	return taken / room
}

// eachNode visits all calls of operations, callers first.
func eachNode(operations []*node) func(yield func(*node) bool) {
	return func(yield func(*node) bool) {
		left := slices.Clone(operations)
		for len(left) > 0 {
			n := left[0]
			left = append(left[1:], n.calls...)
			if !yield(n) {
				return
			}
		}
	}
}

// call returns a node as the model has it.
func (b *builder) call(n, caller *node) Call {
	own, of := b.shareOf(n.unit), Trace
	if _, metered := b.shares[n.unit]; metered {
		of = Meter
	}
	c := Call{Component: n.component, Name: n.name, Count: 1, Async: n.async, Parallel: n.together > n.apart,
		Source: Trace, N: len(n.seen)}
	c.CPU = n.distribution(of, func(e *execution) float64 {
		cpu := own.run * e.run
		for _, v := range e.visits {
			cpu += own.statements*v.inStatements + own.commits*v.inCommits
		}
		return cpu
	})
	c.Wait = n.distribution(Trace, func(e *execution) float64 { return e.wait + (1-own.run)*e.run })
	c.Visits = b.visits(n, own)
	if caller == nil {
		c.Background = n.distribution(of, func(*execution) float64 { return own.message })
	} else {
		c.Count = float64(len(n.seen)) / float64(len(caller.seen))
	}
	if n.crosses {
		c.Hop = b.hop(n, of, own, b.shareOf(caller.unit))
	}
	slices.SortStableFunc(n.calls, func(x, y *node) int {
		return cmp.Compare(float64(x.before)/float64(len(x.seen)), float64(y.before)/float64(len(y.seen)))
	})
	for _, callee := range n.calls {
		c.Calls = append(c.Calls, b.call(callee, n))
	}
	return c
}

// distribution returns that of what each execution has; none where all have 0.
func (n *node) distribution(source Source, of func(*execution) float64) Distribution {
	values := make([]float64, len(n.seen))
	for i, e := range n.seen {
		values[i] = of(e)
	}
	if slices.Max(values) == 0 {
		return Distribution{}
	}
	return Summarise(values, source)
}

// visits returns what a node does at stores.
func (b *builder) visits(n *node, own share) (all []Visit) {
	for _, name := range slices.Sorted(maps.Keys(b.stores)) {
		v := Visit{Store: name}
		inStore := n.distribution(Meter, func(e *execution) float64 {
			at := e.visits[name]
			if at == nil {
				return 0
			}
			v.Statements, v.Commits = v.Statements+at.statements, v.Commits+at.commits
			return at.inStatements + at.inCommits
		})
		if v.Statements+v.Commits == 0 {
			continue
		}
		v.Statements, v.Commits = v.Statements/float64(len(n.seen)), v.Commits/float64(len(n.seen))
		v.Wait = n.distribution(Trace, func(e *execution) float64 {
			at := e.visits[name]
			if at == nil {
				return 0
			}
			return (1-own.statements)*at.inStatements + (1-own.commits)*at.inCommits
		})
		if cpu, metered := b.CPU[name]; metered && b.stores[name].Server && b.perStore[name] > 0 {
			v.CPU = Distribution{Mean: duration(inStore.Seconds() * cpu / b.perStore[name]), Source: Meter,
				N: inStore.N}
		}
		all = append(all, v)
	}
	return all
}

// hop returns what a node takes because its caller is in another unit. The CPU time of messages outside
// of spans lies between both sides: it is no waiting.
func (b *builder) hop(n *node, of Source, own, caller share) *Hop {
	unseen, between := own.message+caller.message, caller.statements
	if n.async {
		between = caller.commits
	}
	cpu := func(e *execution) float64 {
		return caller.run*e.hop.caller + own.run*e.hop.callee + between*e.hop.between
	}
	return &Hop{
		CPU: n.distribution(of, func(e *execution) float64 { return cpu(e) + unseen }),
		Wait: n.distribution(Trace, func(e *execution) float64 {
			whole := e.hop.caller + e.hop.callee + e.hop.between
			return max(0, whole-cpu(e)-unseen)
		}),
	}
}
