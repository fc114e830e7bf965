package predict

import (
	"context"
	"fmt"

	"github.com/cleave-lab/cleave/predict/sim"
	"github.com/cleave-lab/cleave/stats"
)

// figures holds the results of one simulation of a placement.
type figures struct {
	median, p99, mean float64 // of the response time, in seconds
	cpu               float64 // CPU seconds per operation
	cores             float64 // used
	parts, cpuParts   [sim.MostParts]float64
	units             []float64 // cores used by each unit
	busiest           string    // the most used resource
	utilization       float64   // its used share
	throughput        float64   // operations per second that users who never pause get
}

// batches is the number of batches of a simulation.
const batches = 20

// warmShare is the share of the operations of a simulation that warm it up.
const warmShare = 0.1

// play simulates a placement at a rate.
func (p placement) play(ctx context.Context, rate float64, operations int, seed uint64) (figures, error) {
	p.system.Loads = []sim.Load{{Rate: rate, Weights: p.system.Loads[0].Weights}}
	r, err := p.run(ctx, operations, operations/2, seed)
	if err != nil {
		return figures{}, err
	}
	return p.figures(r), nil
}

// run simulates a number of operations. It gives up if more than most tasks are in progress.
func (p placement) run(ctx context.Context, operations, most int, seed uint64) (sim.Result, error) {
	per := max(1, operations/batches)
	return sim.Run(ctx, p.system, sim.Options{Seed: seed, WarmUp: int(warmShare * float64(operations)),
		Batches: batches, PerBatch: per, MostInProgress: most})
}

// figures reads a result.
func (p placement) figures(r sim.Result) figures {
	f := figures{median: r.All.Times.Quantile(0.5), p99: r.All.Times.Quantile(0.99)}
	n := float64(r.All.Times.Count)
	for _, b := range r.All.Batches {
		share := float64(b.Completed) / n
		f.mean += share * b.Mean
		for i := range b.Parts {
			f.parts[i] += share * b.Parts[i]
		}
	}
	busy := stats.Mean(r.Processors[0].Busy)
	units := r.Units
	f.cores = busy
	if last := len(units) - 1; p.generates {
		f.cores -= stats.Mean(units[last].Cores)
		units = units[:last]
	}
	for i, u := range units {
		f.units = append(f.units, stats.Mean(u.Cores))
		for part, seconds := range u.CPU {
			f.cpuParts[part] += seconds / n
			f.cpu += seconds / n
		}
		if p.limits[i] > 0 {
			f.use("the "+cores(p.limits[i])+" of "+p.units[i], f.units[i]/p.limits[i])
		}
	}
	host := p.system.Processors[0].Cores
	f.use("the "+cores(host)+" of the host", busy/host)
	for i, pool := range r.Pools {
		f.use("the "+p.pools[i], stats.Mean(pool.Used)/float64(p.system.Pools[i].Size))
	}
	return f
}

// use records a resource and its utilisation, unless another one is used more.
func (f *figures) use(what string, utilization float64) {
	if utilization >= f.utilization {
		f.busiest = what
		f.utilization = utilization
	}
}

// cores writes a number of cores.
func cores(n float64) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%.3g cores", n)
}
