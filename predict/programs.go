package predict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict/sim"
)

// The parts of the time of an operation.
const (
	ownCPU sim.Part = iota
	ownWait
	storeTime
	hopCPU
	hopWait
	contention
	queueing
	partCount
)

// site is the host of a placement, with what the model does not hold.
type site struct {
	cores      float64 // of the host that all units share
	stores     Stores
	defaultHop *Hop // of calls for which the model has no hop
	// generator is the CPU time per operation of a load generator that shares the host, in seconds.
	generator float64
}

// placement is a system that can be simulated.
type placement struct {
	system sim.System
	units  []string  // names of the simulated units: those of the model, then stores that are servers
	limits []float64 // in cores; 0: none
	pools  []string  // what each pool is, for people
	// generates is set if the last unit of the system is the load generator, which is none of units.
	generates bool
	hops      float64 // mean number of calls of an operation from one unit to another
}

// programmer makes a placement of a model.
type programmer struct {
	site
	m       model.Model
	units   []model.Unit
	made    placement
	workers map[int]int // the pool of each unit with workers
	served  map[string]storeAt
	err     error // the first reason why the model cannot be simulated
}

// storeAt holds the unit and the pool that serve visits of a store; -1 for none.
type storeAt struct{ unit, pool int }

// place returns the system with these units.
func place(m model.Model, units []model.Unit, at site) (placement, error) {
	p := programmer{site: at, m: m, units: units, workers: map[int]int{}, served: map[string]storeAt{}}
	p.made.system.Processors = []sim.Processor{{Cores: at.cores}}
	for i, u := range units {
		p.unit(u.Name, u.Cores*float64(u.Replicas))
		if u.Workers > 0 {
			p.workers[i] = p.pool("workers of "+u.Name, u.Workers*u.Replicas)
		}
	}
	weights := []float64{}
	sum := m.Weights()
	for i := range m.Operations {
		o := &m.Operations[i]
		program := p.program(&o.Call, -1, o.Weight/sum)
		if p.err != nil {
			return placement{}, fmt.Errorf("operation %s: %w", o.Name, p.err)
		}
		p.made.system.Operations = append(p.made.system.Operations, sim.Operation{Program: program})
		weights = append(weights, o.Weight)
	}
	p.made.system.Loads = []sim.Load{{Weights: weights}}
	if at.generator > 0 {
		p.generate()
	}
	return p.made, nil
}

// generate adds the work of the load generator, on the same host, to each operation.
func (p *programmer) generate() {
	p.made.generates = true
	unit := len(p.made.system.Units)
	p.made.system.Units = append(p.made.system.Units, sim.Unit{})
	works := p.once(sim.Work(unit, sim.Constant(p.generator), ownCPU, contention))
	for i, o := range p.made.system.Operations {
		p.made.system.Operations[i].Program = p.add(sim.Spawn(works), sim.Call(o.Program, 1))
	}
}

// unit adds a unit to what is simulated and returns its index.
func (p *programmer) unit(name string, limit float64) int {
	p.made.units = append(p.made.units, name)
	p.made.limits = append(p.made.limits, limit)
	p.made.system.Units = append(p.made.system.Units, sim.Unit{Limit: limit})
	return len(p.made.units) - 1
}

// pool adds a pool and returns its index.
func (p *programmer) pool(name string, size int) int {
	p.made.pools = append(p.made.pools, name)
	p.made.system.Pools = append(p.made.system.Pools, sim.Pool{Size: size})
	return len(p.made.pools) - 1
}

// add adds a program and returns its index.
func (p *programmer) add(steps ...sim.Step) int {
	p.made.system.Programs = append(p.made.system.Programs, steps)
	return len(p.made.system.Programs) - 1
}

// program makes the program of a call from a unit, or from a client if from is -1. times is the mean number
// of such calls of an operation of the mix.
func (p *programmer) program(c *model.Call, from int, times float64) int {
	at := unitOf(p.units, c.Component)
	var steps []sim.Step
	entered := from != at
	hop := p.hopCost(c, from, at)
	if entered && from >= 0 {
		p.made.hops += times
	}
	half := hop.cpu.Scaled(0.5)
	aside := hop.aside.Scaled(0.5)
	if hop.known {
		steps = append(steps, sim.Work(from, half, hopCPU, contention), sim.Wait(hop.wait, hopWait))
	}
	if aside.Mean() > 0 {
		caller := p.once(sim.Work(from, aside, hopCPU, contention))
		callee := p.once(sim.Work(at, aside, hopCPU, contention))
		steps = append(steps, sim.Spawn(caller, callee))
	}
	pool, bounded := p.workers[at]
	bounded = bounded && entered
	if bounded {
		steps = append(steps, sim.Acquire(pool, queueing))
	}
	if hop.known {
		steps = append(steps, sim.Work(at, half, hopCPU, contention))
	}
	steps = p.body(steps, c, at, times)
	if bounded {
		steps = append(steps, sim.Release(pool))
	}
	return p.add(steps...)
}

// body adds the component's own work, its visits and its calls.
func (p *programmer) body(steps []sim.Step, c *model.Call, at int, times float64) []sim.Step {
	if c.CPU.Mean > 0 {
		steps = append(steps, sim.Work(at, p.distribution(c.CPU, "cpu", c), ownCPU, contention))
	}
	if c.Wait.Mean > 0 {
		steps = append(steps, sim.Wait(p.distribution(c.Wait, "wait", c), ownWait))
	}
	for _, v := range c.Visits {
		steps = p.visit(steps, v, p.store(v.Store, c.Component, at), c)
	}
	steps = p.children(steps, c.Calls, at, times)
	if c.Background.Mean > 0 {
		took := p.distribution(c.Background, "background", c)
		background := p.once(sim.Work(at, took, ownCPU, contention))
		steps = append(steps, sim.Spawn(background))
	}
	return steps
}

// store returns the unit and the pool that serve a component's visits of a store. They are made at the first
// visit.
func (p *programmer) store(name, component string, unit int) storeAt {
	owned := name
	switch p.stores {
	case StorePerUnit:
		owned += " of " + p.units[unit].Name
	case StorePerComponent:
		owned += " of " + component
	}
	if known, made := p.served[owned]; made {
		return known
	}
	at := storeAt{-1, -1}
	if i := slices.IndexFunc(p.m.Stores, func(s model.Store) bool { return s.Name == name }); i >= 0 {
		if p.m.Stores[i].Server {
			at.unit = p.unit(owned, 0)
		}
		if workers := p.m.Stores[i].Workers; workers > 0 {
			at.pool = p.pool("workers of "+owned, workers)
		}
	}
	p.served[owned] = at
	return at
}

// visit adds the time of a call at a store. The wait for a server includes its CPU time.
func (p *programmer) visit(steps []sim.Step, v model.Visit, at storeAt, of *model.Call) []sim.Step {
	wait := p.distribution(v.Wait, "wait for "+v.Store, of)
	cpu := p.distribution(v.CPU, "cpu of "+v.Store, of)
	if at.pool >= 0 {
		steps = append(steps, sim.Acquire(at.pool, queueing))
	}
	if at.unit >= 0 && v.CPU.Mean > 0 {
		steps = append(steps, sim.Work(at.unit, cpu, storeTime, contention))
		if v.Wait.Mean > 0 {
			working := v.CPU.Seconds() / v.Wait.Seconds() // share of the wait
			wait = wait.Scaled(max(0, 1-working))
		}
	}
	if v.Wait.Mean > 0 {
		steps = append(steps, sim.Wait(wait, storeTime))
	}
	if at.pool >= 0 {
		steps = append(steps, sim.Release(at.pool))
	}
	return steps
}

// children adds calls in their order. One that is parallel begins together with the call before it.
func (p *programmer) children(steps []sim.Step, calls []model.Call, at int, times float64) []sim.Step {
	branch := func(c *model.Call) sim.Branch {
		return sim.Branch{Program: p.program(c, at, times*c.Count), Count: c.Count}
	}
	for i := 0; i < len(calls); {
		c := &calls[i]
		first := branch(c)
		i++
		if c.Async {
			steps = append(steps, sim.Spawn(first))
			continue
		}
		var together []sim.Branch
		for ; i < len(calls) && calls[i].Parallel && !calls[i].Async; i++ {
			together = append(together, branch(&calls[i]))
		}
		if !c.Parallel { // its executions are in sequence, beside the others
			sequence := sim.Call(first.Program, c.Count)
			if len(together) == 0 {
				steps = append(steps, sequence)
				continue
			}
			first = p.once(sequence)
		}
		steps = append(steps, sim.Fork(append([]sim.Branch{first}, together...)...))
	}
	return steps
}

// cost is the cost of a hop; known is false if there is no hop.
type cost struct {
	known bool
	cpu   sim.Dist // of both sides, which the caller waits for
	wait  sim.Dist // on the way
	aside sim.Dist // CPU time of both sides that nobody waits for
}

// errUnknownHop means that a call would cross units, and neither the model nor the question has its cost.
var errUnknownHop = errors.New("nobody knows what that costs: say so with --hop, or in the model")

// hopCost returns the cost of a call from one unit to another.
func (p *programmer) hopCost(c *model.Call, from, at int) cost {
	switch hop := p.defaultHop; {
	case from < 0 || from == at:
		return cost{}
	case c.Hop != nil:
		return cost{known: true, cpu: p.distribution(c.Hop.CPU, "cpu of the hop", c),
			wait: p.distribution(c.Hop.Wait, "wait of the hop", c)}
	case hop == nil:
		p.err = cmp.Or(p.err, fmt.Errorf("%s of %s would be called from another unit, and %w", c.Name, c.Component,
			errUnknownHop))
		return cost{}
	default:
		return cost{true, sim.Constant(hop.CPU - hop.Aside), sim.Constant(hop.Wait), sim.Constant(hop.Aside)}
	}
}

// once returns the branch of a new program, which is carried out once.
func (p *programmer) once(steps ...sim.Step) sim.Branch {
	return sim.Branch{Program: p.add(steps...), Count: 1}
}

// distribution returns what a call takes, such as its cpu, for the simulator: the shape of a distribution,
// with its mean.
func (p *programmer) distribution(d model.Distribution, what string, of *model.Call) sim.Dist {
	if len(d.Quantiles) == 0 || d.Mean == 0 {
		return sim.Constant(d.Seconds())
	}
	var quantiles []sim.Quantile
	for _, point := range d.Points() {
		quantiles = append(quantiles, sim.Quantile{P: point.Share, Seconds: point.Seconds})
	}
	made, err := sim.Quantiles(quantiles)
	if err != nil {
		p.err = cmp.Or(p.err, fmt.Errorf("%s of %s: %w", what, of.Name, err))
	}
	return made
}
