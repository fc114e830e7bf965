package model

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// The CPU time that was metered for a unit is divided over the times of its spans, in three levels. The first
// is business code and encoding, which use CPU all the time. The second is statements, and calls on their way
// to other units. The third is commits, and published messages on their way: both mostly wait for a disk.
// Each level gets at most the time of its spans, and leaves the rest to the next one. No span covers the
// reading and writing of requests, nor garbage collection, so a unit may use more CPU time than its spans
// last. This surplus is divided equally over the messages that the unit receives and sends.

// cpuShares holds the fractions of the span times of a unit that were CPU time.
type cpuShares struct {
	// statements also applies to the time of a call between two units, commits to that of a published
	// message.
	run, statements, commits float64
	// message is the CPU time outside of spans, in seconds, of each message that the unit receives or sends.
	message float64
}

// sharesOf returns the shares of a unit, and the source of the CPU times that are computed with them. If the
// unit was not metered, all time of its business code and encoding counts as CPU time: an upper bound.
func (b *builder) sharesOf(unit string) (cpuShares, Source) {
	if s, metered := b.shares[unit]; metered {
		return s, Meter
	}
	return cpuShares{run: 1}, Trace
}

// spanTimes holds the times of the spans of a unit, in seconds, divided as in cpuShares, and the number of
// its messages: requests and published messages, sent or received.
type spanTimes struct{ run, statements, commits, messages float64 }

// divide computes the shares of all units from their metered CPU time and the times of their spans. It notes
// units that were not metered, and units and stores without time in calls that used more than a microsecond
// of CPU time per operation.
func (b *builder) divide(operations []*node) {
	sums := map[string]*spanTimes{}
	of := func(unit string) *spanTimes {
		if sums[unit] == nil {
			sums[unit] = &spanTimes{}
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
	b.shares = map[string]cpuShares{}
	for _, unit := range slices.Sorted(maps.Keys(sums)) {
		cpu, metered := b.CPU[unit]
		if !metered {
			b.note("nobody has metered %s: its CPU times are self times, an upper bound", unit)
			continue
		}
		sum, left := sums[unit], cpu*traces
		s := cpuShares{run: fill(&left, sum.run), statements: fill(&left, sum.statements),
			commits: fill(&left, sum.commits)}
		s.message = left / sum.messages // a unit receives at least the requests that begin its calls
		b.shares[unit] = s
	}
	for _, name := range slices.Sorted(maps.Keys(b.CPU)) {
		isInNoCall := sums[name] == nil && b.perStore[name] == 0
		if isInNoCall && b.CPU[name] > 1e-6 {
			b.note("%s used %s CPU time per operation, which is in no call", name, formatTime(duration(b.CPU[name])))
		}
	}
}

// fill takes up to the given time from the CPU time that is left. It returns the taken part as a share of the
// given time.
func fill(left *float64, time float64) float64 {
	if time <= 0 {
		return 0
	}
	taken := min(*left, time)
	*left -= taken
	return taken / time
}

// eachNode yields all calls of operations, callers first.
func eachNode(operations []*node) iter.Seq[*node] {
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

// call returns the call of the model for a node.
func (b *builder) call(n *node) Call {
	own, source := b.sharesOf(n.unit)
	c := Call{Component: n.component, Name: n.name, Count: 1, Async: n.async, Parallel: n.together > n.apart,
		Source: b.Source, N: len(n.seen)}
	c.CPU = n.distribution(source, func(e *execution) float64 {
		cpu := own.run * e.run
		for _, v := range e.visits {
			cpu += own.statements*v.inStatements + own.commits*v.inCommits
		}
		return cpu
	})
	c.Wait = n.distribution(b.Source, func(e *execution) float64 { return e.wait + (1-own.run)*e.run })
	c.Visits = b.visits(n, own)
	if n.caller == nil { // the first call of an operation
		c.Background = n.distribution(source, func(*execution) float64 { return own.message })
	} else {
		c.Count = float64(len(n.seen)) / float64(len(n.caller.seen))
	}
	if n.crosses {
		callers, hopSource := b.sharesOf(n.caller.unit)
		if source == Trace { // both sides have to be metered
			hopSource = Trace
		}
		c.Hop = n.hopCost(hopSource, own, callers)
	}
	// The order of calls is that of the mean number of calls that their caller has made before each.
	before := func(callee *node) float64 { return float64(callee.before) / float64(len(callee.seen)) }
	slices.SortStableFunc(n.calls, func(x, y *node) int { return cmp.Compare(before(x), before(y)) })
	for _, callee := range n.calls {
		c.Calls = append(c.Calls, b.call(callee))
	}
	messagesBehind(c.Calls)
	return c
}

// messagesBehind moves messages behind the parallel calls that follow them. In the model, a parallel call
// begins together with the previous call of the list (Call.Parallel), which therefore must not be a message.
// Messages before the first call stay.
func messagesBehind(calls []Call) {
	beside := -1 // index of the last call that the caller waits for
	for i, c := range calls {
		switch {
		case c.Async:
		case c.Parallel && beside >= 0:
			beside++
			copy(calls[beside+1:i+1], calls[beside:i])
			calls[beside] = c
		default:
			beside = i
		}
	}
}

// distribution returns the distribution of a value over all executions, in seconds, or the zero
// distribution if all values are 0.
func (n *node) distribution(source Source, value func(*execution) float64) Distribution {
	values := make([]float64, len(n.seen))
	for i, e := range n.seen {
		values[i] = value(e)
	}
	if slices.Max(values) == 0 {
		return Distribution{}
	}
	return Summarise(values, source)
}

// visits returns the work of a node at each store.
func (b *builder) visits(n *node, own cpuShares) (all []Visit) {
	for _, name := range slices.Sorted(maps.Keys(b.stores)) {
		v := Visit{Store: name}
		visited := false // a BEGIN alone is a visit, too, without statements and commits
		for _, e := range n.seen {
			if at := e.visits[name]; at != nil {
				v.Statements += at.statements
				v.Commits += at.commits
				visited = true
			}
		}
		if !visited {
			continue
		}
		v.Statements /= float64(len(n.seen))
		v.Commits /= float64(len(n.seen))
		// Of inStore, only the mean and the number of values are used.
		inStore := n.distribution(Meter, func(e *execution) float64 {
			at := e.visits[name]
			if at == nil {
				return 0
			}
			return at.inStatements + at.inCommits
		})
		v.Wait = n.distribution(Trace, func(e *execution) float64 {
			at := e.visits[name]
			if at == nil {
				return 0
			}
			return (1-own.statements)*at.inStatements + (1-own.commits)*at.inCommits
		})
		cpu, metered := b.CPU[name]
		if metered && b.stores[name].Server && inStore.N > 0 { // spans that last 0 s tell nothing of the CPU time
			v.CPU = Distribution{Mean: duration(inStore.Seconds() * cpu / b.perStore[name]), Source: Meter,
				N: inStore.N}
		}
		all = append(all, v)
	}
	return all
}

// hopCost returns the cost of calling a node from another unit. The CPU time that both units use outside of
// spans (unseen) appears as time between their spans, so it is subtracted from the waiting.
func (n *node) hopCost(source Source, own, caller cpuShares) *Hop {
	unseen, shareBetween := own.message+caller.message, caller.statements
	if n.async {
		shareBetween = caller.commits
	}
	cpu := func(e *execution) float64 {
		return caller.run*e.hop.caller + own.run*e.hop.callee + shareBetween*e.hop.between
	}
	return &Hop{
		CPU: n.distribution(source, func(e *execution) float64 { return cpu(e) + unseen }),
		Wait: n.distribution(Trace, func(e *execution) float64 {
			whole := e.hop.caller + e.hop.callee + e.hop.between
			return max(0, whole-cpu(e)-unseen)
		}),
	}
}
