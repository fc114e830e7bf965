package main

import (
	"math/rand/v2"

	"github.com/cleave-lab/cleave/predict/sim"
)

// Parts of the time of an operation.
const (
	business sim.Part = iota
	network
	contention
	queues
)

// poisson returns an open load that asks for all operations alike.
func poisson(rate float64, operations int) []sim.Load {
	weights := make([]float64, operations)
	for i := range weights {
		weights[i] = 1
	}
	return []sim.Load{{Rate: rate, Weights: weights}}
}

// oneProcessor returns M/M/1 with processor sharing.
func oneProcessor() sim.System {
	return sim.System{
		Processors: []sim.Processor{{Cores: 1}}, Units: []sim.Unit{{}},
		Programs:   [][]sim.Step{{sim.Work(0, sim.Exponential(0.001), business, contention)}},
		Operations: []sim.Operation{{Program: 0}}, Loads: poisson(700, 1),
	}
}

// remote returns the steps of a call to another unit: both sides work, the network takes its time, and the
// callee has threads in a pool.
func remote(caller, callee, threads int, body ...sim.Step) []sim.Step {
	send := sim.Work(caller, sim.Constant(0.00003), network, contention)
	receive := sim.Work(callee, sim.Constant(0.00004), network, contention)
	delay := sim.Wait(sim.Exponential(0.0001), network)
	steps := append([]sim.Step{send, delay, sim.Acquire(threads, queues), receive}, body...)
	return append(steps, sim.Release(threads), delay)
}

// fiveServices returns a front with four services and two databases on 8 cores. The load is open, and uses
// half of the cores and three quarters of the first database; it is closed if users is above 0.
func fiveServices(users int) sim.System {
	s := sim.System{Processors: []sim.Processor{{Cores: 8}},
		Operations: []sim.Operation{{Program: 0}, {Program: 1}}}
	for range 5 {
		s.Units = append(s.Units, sim.Unit{})
		s.Pools = append(s.Pools, sim.Pool{Size: 64}) // its threads
	}
	s.Pools = append(s.Pools, sim.Pool{Size: 2}, sim.Pool{Size: 2}) // 5 and 6: the databases
	compute := func(unit int) sim.Step {
		return sim.Work(unit, sim.Hyperexponential(0.9, 0.0002, 0.001), business, contention)
	}
	store := func(pool int) []sim.Step {
		return []sim.Step{sim.Acquire(pool, queues), sim.Wait(sim.Exponential(0.0004), business), sim.Release(pool)}
	}
	s.Programs = [][]sim.Step{
		{compute(0), sim.Fork(sim.Branch{Program: 2, Count: 1}, sim.Branch{Program: 3, Count: 1.5}), compute(0)},
		{compute(0), sim.Call(2, 2), sim.Call(4, 1), sim.Spawn(sim.Branch{Program: 5, Count: 1})},
		remote(0, 1, 1, append(store(5), compute(1))...),
		remote(0, 2, 2, compute(2)),
		remote(0, 3, 3, append(store(6), compute(3), sim.Call(5, 0.5))...),
		remote(3, 4, 4, compute(4)),
	}
	s.Loads = poisson(2500, 2)
	if users > 0 {
		s.Loads[0].Rate = 0
		s.Loads[0].Users = users
		s.Loads[0].Think = sim.Exponential(0.4)
	}
	return s
}

// manyServices returns ten layers of 1,000 services on 625 hosts of 16 cores. A call makes 1.1 calls of the
// next layer in the mean, so an operation has 16.
func manyServices() sim.System {
	const layers, width, hosts, entries = 10, 1000, 625, 200
	random := rand.New(rand.NewPCG(1, 1))
	var s sim.System
	for range hosts {
		s.Processors = append(s.Processors, sim.Processor{Cores: 16})
	}
	for i := range layers * width {
		s.Units = append(s.Units, sim.Unit{Processor: i % hosts})
		s.Pools = append(s.Pools, sim.Pool{Size: 32})
		compute := sim.Work(i, sim.Exponential(0.0005), business, contention)
		steps := []sim.Step{sim.Wait(sim.Constant(0.0001), network), sim.Acquire(i, queues), compute}
		if layer := i / width; layer+1 < layers {
			for range 2 {
				steps = append(steps, sim.Call((layer+1)*width+random.IntN(width), 0.55))
			}
		}
		s.Programs = append(s.Programs, append(steps, compute, sim.Release(i)))
	}
	for i := range entries {
		s.Operations = append(s.Operations, sim.Operation{Program: i * width / entries})
	}
	s.Loads = poisson(100_000, entries)
	return s
}
