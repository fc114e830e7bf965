package predict

import (
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
	weights, sum := []float64{}, m.Weights()
	for i := range m.Operations {
		o := &m.Operations[i]
		program, err := p.program(&o.Call, -1, o.Weight/sum)
		if err != nil {
			return placement{}, fmt.Errorf("operation %s: %w", o.Name, err)
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
	p.made.units, p.made.limits = append(p.made.units, name), append(p.made.limits, limit)
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
func (p *programmer) program(c *model.Call, from int, times float64) (int, error) {
	at := unitOf(p.units, c.Component)
	var steps []sim.Step
	entered := from != at
	crosses, err := p.between(c, from, at)
	if err != nil {
		return 0, err
	}
	if entered && from >= 0 {
		p.made.hops += times
	}
	half, aside := crosses.cpu.Scaled(0.5), crosses.aside.Scaled(0.5)
	if crosses.known {
		steps = append(steps, sim.Work(from, half, hopCPU, contention), sim.Wait(crosses.wait, hopWait))
	}
	if aside.Mean() > 0 {
		steps = append(steps, sim.Spawn(p.once(sim.Work(from, aside, hopCPU, contention)),
			p.once(sim.Work(at, aside, hopCPU, contention))))
	}
	pool, bounded := p.workers[at]
	bounded = bounded && entered
	if bounded {
		steps = append(steps, sim.Acquire(pool, queueing))
	}
	if crosses.known {
		steps = append(steps, sim.Work(at, half, hopCPU, contention))
	}
	if steps, err = p.body(steps, c, at, times); err != nil {
		return 0, err
	}
	if bounded {
		steps = append(steps, sim.Release(pool))
	}
	return p.add(steps...), nil
}

// body adds the component's own work, its visits and its calls.
func (p *programmer) body(steps []sim.Step, c *model.Call, at int, times float64) ([]sim.Step, error) {
	own, err := distribution(c.CPU)
	if err != nil {
		return nil, fmt.Errorf("cpu of %s: %w", c.Name, err)
	}
	wait, err := distribution(c.Wait)
	if err != nil {
		return nil, fmt.Errorf("wait of %s: %w", c.Name, err)
	}
	background, err := distribution(c.Background)
	if err != nil {
		return nil, fmt.Errorf("background of %s: %w", c.Name, err)
	}
	if c.CPU.Mean > 0 {
		steps = append(steps, sim.Work(at, own, ownCPU, contention))
	}
	if c.Wait.Mean > 0 {
		steps = append(steps, sim.Wait(wait, ownWait))
	}
	for _, v := range c.Visits {
		if steps, err = p.visit(steps, v, p.store(v.Store, c.Component, at)); err != nil {
			return nil, fmt.Errorf("visit of %s: %w", c.Name, err)
		}
	}
	if steps, err = p.children(steps, c.Calls, at, times); err != nil {
		return nil, err
	}
	if c.Background.Mean > 0 {
		steps = append(steps, sim.Spawn(p.once(sim.Work(at, background, ownCPU, contention))))
	}
	return steps, nil
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

// visit adds the time at a store. The wait for a server includes its CPU time.
func (p *programmer) visit(steps []sim.Step, v model.Visit, at storeAt) ([]sim.Step, error) {
	wait, err := distribution(v.Wait)
	if err != nil {
		return nil, err
	}
	cpu, err := distribution(v.CPU)
	if err != nil {
		return nil, err
	}
	if at.pool >= 0 {
		steps = append(steps, sim.Acquire(at.pool, queueing))
	}
	if at.unit >= 0 && v.CPU.Mean > 0 {
		steps = append(steps, sim.Work(at.unit, cpu, storeTime, contention))
		if v.Wait.Mean > 0 {
			wait = wait.Scaled(max(0, 1-v.CPU.Seconds()/v.Wait.Seconds()))
		}
	}
	if v.Wait.Mean > 0 {
		steps = append(steps, sim.Wait(wait, storeTime))
	}
	if at.pool >= 0 {
		steps = append(steps, sim.Release(at.pool))
	}
	return steps, nil
}

// children adds calls in their order. One that is parallel begins together with the call before it.
func (p *programmer) children(steps []sim.Step, calls []model.Call, at int, times float64,
) ([]sim.Step, error) {
	for i := 0; i < len(calls); {
		c := &calls[i]
		program, err := p.program(c, at, times*c.Count)
		if err != nil {
			return nil, err
		}
		i++
		if c.Async {
			steps = append(steps, sim.Spawn(sim.Branch{Program: program, Count: c.Count}))
			continue
		}
		first := sim.Branch{Program: program, Count: c.Count}
		var together []sim.Branch
		for ; i < len(calls) && calls[i].Parallel && !calls[i].Async; i++ {
			next, err := p.program(&calls[i], at, times*calls[i].Count)
			if err != nil {
				return nil, err
			}
			together = append(together, sim.Branch{Program: next, Count: calls[i].Count})
		}
		switch {
		case !c.Parallel && len(together) == 0:
			steps = append(steps, sim.Call(program, c.Count))
			continue
		case !c.Parallel: // its executions are in sequence, beside the others
			first = p.once(sim.Call(program, c.Count))
		}
		steps = append(steps, sim.Fork(append([]sim.Branch{first}, together...)...))
	}
	return steps, nil
}

// cost is the cost of a hop, if it has one: cpu is what the caller waits for, aside what nobody waits for.
type cost struct {
	known            bool
	cpu, wait, aside sim.Dist
}

// errUnknownHop means that a call would cross units, and neither the model nor the question has its cost.
var errUnknownHop = errors.New("nobody knows what that costs: say so with --hop, or in the model")

// between returns the cost of a call from one unit to another.
func (p *programmer) between(c *model.Call, from, at int) (cost, error) {
	switch {
	case from < 0 || from == at:
		return cost{}, nil
	case c.Hop != nil:
		cpu, err := distribution(c.Hop.CPU)
		if err != nil {
			return cost{}, fmt.Errorf("hop to %s: %w", c.Name, err)
		}
		wait, err := distribution(c.Hop.Wait)
		return cost{known: true, cpu: cpu, wait: wait}, err
	case p.defaultHop == nil:
		return cost{}, fmt.Errorf("%s of %s would be called from another unit, and %w", c.Name, c.Component,
			errUnknownHop)
	}
	u := p.defaultHop
	return cost{true, sim.Constant(u.CPU - u.Aside), sim.Constant(u.Wait), sim.Constant(u.Aside)}, nil
}

// once returns the branch of a new program, which is carried out once.
func (p *programmer) once(steps ...sim.Step) sim.Branch {
	return sim.Branch{Program: p.add(steps...), Count: 1}
}

// distribution returns a distribution of the model for the simulator: its shape, with its mean.
func distribution(d model.Distribution) (sim.Dist, error) {
	if len(d.Quantiles) == 0 || d.Mean == 0 {
		return sim.Constant(d.Seconds()), nil
	}
	var quantiles []sim.Quantile
	for _, p := range d.Points() {
		quantiles = append(quantiles, sim.Quantile{P: p.Share, Seconds: p.Seconds})
	}
	return sim.Quantiles(quantiles)
}
