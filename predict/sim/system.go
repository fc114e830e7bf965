package sim

// System is a system to simulate. Its parts refer to each other by their index.
type System struct {
	Processors []Processor
	Units      []Unit
	Pools      []Pool
	Programs   [][]Step
	Operations []Operation
	Loads      []Load
}

// Processor is a number of cores that units share: a host, or cores of a unit alone. All tasks get equal
// shares of it, and one core at most.
type Processor struct{ Cores float64 }

// Unit is a process of the simulated system. Its use of a processor is counted.
type Unit struct {
	Processor int
	// Limit is the most that the unit gets of its processor, in cores; 0 is all. Cores and limits are rounded
	// to thousandths.
	Limit float64
}

// Pool is a number of places, such as threads, connections or the servers of a station. Tasks that find none
// free wait in the order of their arrival.
type Pool struct{ Size int }

// Operation is a kind of request of a load.
type Operation struct{ Program int }

// Load is a stream of operations: open with a Rate (Poisson arrivals), closed with Users.
type Load struct {
	Rate  float64 // operations per second
	Users int
	Think Dist // between an answer and the user's next operation
	// Weights are proportional to the probability of each operation; they need not add up to 1.
	Weights []float64
}

// Part is a kind of time that an operation spends, such as waiting for a pool: an index that the caller sets.
type Part uint8

// MostParts limits the number of parts.
const MostParts = 8

// action is a kind of step.
type action uint8

const (
	end action = iota // of a program
	work
	wait
	acquire
	release
	call
	fork
	spawn
)

// Step is one step of a program.
type Step struct {
	action   action
	part     Part // of the demand, or of the waiting for a place
	queue    Part // of the time beyond the demand
	target   int  // unit or pool
	duration Dist
	branches []Branch
}

// Branch is a call of a program. Count is the mean number of calls: 2.3 is two calls, and a third one with
// the probability 0.3.
type Branch struct {
	Program int
	Count   float64
}

// Work uses a unit's processor. The demand is counted as part. The time beyond it, because others use the
// processor, is counted as queue.
func Work(unit int, demand Dist, part, queue Part) Step {
	return Step{action: work, target: unit, duration: demand, part: part, queue: queue}
}

// Wait passes time without a processor.
func Wait(duration Dist, part Part) Step { return Step{action: wait, duration: duration, part: part} }

// Acquire takes a place of a pool; the time until there is one is counted as part.
func Acquire(pool int, part Part) Step { return Step{action: acquire, target: pool, part: part} }

// Release returns the place that the program took last, which must be one of this pool. Every place is
// returned by the program that took it.
func Release(pool int) Step { return Step{action: release, target: pool} }

// Call runs a program and waits for its end, count times in sequence (see Branch).
func Call(program int, count float64) Step {
	return Step{action: call, branches: []Branch{{program, count}}}
}

// Fork runs programs at the same time and waits until the last one has ended.
func Fork(branches ...Branch) Step { return Step{action: fork, branches: branches} }

// Spawn starts programs and waits for none of them.
func Spawn(branches ...Branch) Step { return Step{action: spawn, branches: branches} }
