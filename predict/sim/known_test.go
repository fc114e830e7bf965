package sim

import (
	"math"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/stats"
)

// simulated runs a system after a warm-up, in 25 batches.
func simulated(t *testing.T, s System, perBatch int) Result {
	t.Helper()
	r, err := Run(t.Context(), s, Options{Seed: 7, WarmUp: perBatch, Batches: 25, PerBatch: perBatch,
		Quantiles: []float64{0.5, 0.9, 0.99}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// each returns a value of every batch.
func each(batches []OperationBatch, value func(OperationBatch) float64) []float64 {
	var all []float64
	for _, b := range batches {
		all = append(all, value(b))
	}
	return all
}

func mean(b OperationBatch) float64 { return b.Mean }

// holds fails unless the 99.9 % interval of batch means has the truth in it and is narrow.
func holds(t *testing.T, what string, truth float64, batches []float64, width float64) {
	t.Helper()
	e, err := stats.MeanInterval(batches, 0.999)
	if err != nil {
		t.Fatal(err)
	}
	if half := (e.High - e.Low) / 2; !e.Contains(truth) || half > width*truth {
		t.Errorf("%s: %.6g [%.6g, %.6g], want %.6g in it and a half-width of at most %g of it", what, e.Value,
			e.Low, e.High, truth, width)
	}
}

// station returns the steps of a FIFO station that is a pool.
func station(pool int, service Dist) []Step {
	return []Step{Acquire(pool, 1), Wait(service, 0), Release(pool)}
}

// open returns a system with one program under a Poisson load.
func open(rate float64, program ...Step) System {
	return System{Programs: [][]Step{program}, Operations: []Operation{{0}},
		Loads: []Load{{Rate: rate, Weights: []float64{1}}}}
}

// TestFirstArrivals: the first arrival of an open load is exponential with mean 1/rate, like all times
// between arrivals. The Kolmogorov-Smirnov distance of many first arrivals is below its 99.9 % quantile.
func TestFirstArrivals(t *testing.T) {
	const rate, loads = 5.0, 2000
	first := make([]float64, loads)
	for seed := range first {
		s, err := newSimulation(open(rate, Wait(Constant(1), 0)),
			Options{Seed: uint64(seed), Batches: 1, PerBatch: 1})
		if err != nil {
			t.Fatal(err)
		}
		first[seed] = s.timers.entries[0].at
	}
	slices.Sort(first)
	distance := 0.0
	for i, at := range first {
		share := 1 - math.Exp(-rate*at)
		distance = max(distance, share-float64(i)/loads, float64(i+1)/loads-share)
	}
	if most := 1.95 / math.Sqrt(loads); distance > most {
		t.Errorf("the distance is %.3f, want at most %.3f", distance, most)
	}
}

// TestMM1: the response time of M/M/1 is exponential with mean s/(1-rho) (Kleinrock, Queueing Systems 1,
// 5.4).
func TestMM1(t *testing.T) {
	s := open(70, station(0, Exponential(0.01))...)
	s.Pools = []Pool{{1}}
	r := simulated(t, s, 60_000)
	truth := 0.01 / (1 - 0.7)
	holds(t, "mean", truth, each(r.All.Batches, mean), 0.03)
	for i, p := range []float64{0.5, 0.9, 0.99} {
		quantile := func(b OperationBatch) float64 { return b.Quantiles[i] }
		holds(t, "quantile", -math.Log(1-p)*truth, each(r.All.Batches, quantile), 0.05)
	}
	holds(t, "utilisation", 0.7, r.Pools[0].Used, 0.01)
	holds(t, "waiting", 0.7*0.7/0.3, r.Pools[0].Waiting, 0.05)
	if got := r.All.Times.Quantile(0.5) / truth; math.Abs(got-math.Ln2) > 0.02 {
		t.Errorf("the median of all is %g of the mean, want %g", got, math.Ln2)
	}
}

// erlangC returns the probability of waiting in M/M/c with a load of a (Erlang 1917; Kleinrock 1, 3.5).
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

// TestMMc: a pool of c is M/M/c; and so is the mean of exponential demands on c cores that are shared, since
// both have the same births and deaths.
func TestMMc(t *testing.T) {
	const service, c, rate = 0.01, 4, 320.0
	a := rate * service
	truth := service + erlangC(c, a)*service/(c-a)
	s := open(rate, station(0, Exponential(service))...)
	s.Pools = []Pool{{c}}
	fifo := simulated(t, s, 80_000)
	holds(t, "FIFO", truth, each(fifo.All.Batches, mean), 0.03)
	waited := func(b OperationBatch) float64 { return b.Parts[1] }
	holds(t, "waiting", truth-service, each(fifo.All.Batches, waited), 0.06)

	s = open(rate, Work(0, Exponential(service), 0, 1))
	s.Processors = []Processor{{c}}
	s.Units = []Unit{{}}
	shared := simulated(t, s, 80_000)
	holds(t, "shared", truth, each(shared.All.Batches, mean), 0.03)
	holds(t, "contention", truth-service, each(shared.All.Batches, waited), 0.06)
	holds(t, "cores", a, shared.Processors[0].Busy, 0.01)
	holds(t, "cores of the unit", a, shared.Units[0].Cores, 0.01)
}

// TestPSIsInsensitive: the mean response time of M/G/1 with processor sharing is s/(1-rho) whatever the
// distribution of demands (Kleinrock 1967; Kleinrock 2, 4.4). FIFO would need 0.65 and 3.1 of it here.
func TestPSIsInsensitive(t *testing.T) {
	const demand = 0.01
	half, err := Quantiles([]Quantile{{0.5, 0.005}, {0.5001, 0.015}})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]Dist{"deterministic": Constant(demand), "two values": half,
		"exponential": Exponential(demand), "hyperexponential": Hyperexponential(0.9, 0.005, 0.055)} {
		s := open(70, Work(0, d, 0, 1))
		s.Processors = []Processor{{1}}
		s.Units = []Unit{{}}
		r := simulated(t, s, 50_000)
		holds(t, name, demand/(1-0.7), each(r.All.Batches, mean), 0.06)
		holds(t, name+": cores", 0.7, r.Units[0].Cores, 0.02)
	}
}

// TestMD1: a FIFO server with equal services (Pollaczek 1930, Khinchine 1932; Kleinrock 1, 5.6).
func TestMD1(t *testing.T) {
	const service, rho = 0.01, 0.8
	s := open(rho/service, station(0, Constant(service))...)
	s.Pools = []Pool{{1}}
	r := simulated(t, s, 60_000)
	holds(t, "mean", service+rho*service/(2*(1-rho)), each(r.All.Batches, mean), 0.03)
}

// TestASingleUserNeverWaits, so the response time and the rate are exact: one operation each 10 + 2.5 ms.
func TestASingleUserNeverWaits(t *testing.T) {
	s := open(0, station(0, Constant(0.01))...)
	s.Pools = []Pool{{1}}
	s.Loads[0].Users = 1
	s.Loads[0].Think = Constant(0.0025)
	r := simulated(t, s, 1000)
	if q := r.All.Times.Quantile(0.99); math.Abs(q-0.01) > 1e-9 {
		t.Errorf("the 99th percentile is %g s, want 0.01 s", q)
	}
	if passed := r.Seconds; math.Abs(passed-25_000/80.0) > 1e-6 {
		t.Errorf("25,000 operations took %g s, want %g", passed, 25_000/80.0)
	}
}

// TestJackson: in an open network every station is as if it was alone (Jackson 1957, 1963).
func TestJackson(t *testing.T) {
	const rate = 50.0
	visits := []float64{1, 0.4, 2}
	service := []float64{0.012, 0.03, 0.008}
	s := open(rate, Call(1, visits[0]), Call(2, visits[1]), Call(3, visits[2]))
	truth := 0.0
	for i := range visits {
		s.Programs = append(s.Programs, station(i, Exponential(service[i])))
		s.Pools = append(s.Pools, Pool{1})
		truth += visits[i] * service[i] / (1 - rate*visits[i]*service[i])
	}
	r := simulated(t, s, 60_000)
	holds(t, "mean", truth, each(r.All.Batches, mean), 0.03)
	for i := range visits {
		holds(t, "utilisation", rate*visits[i]*service[i], r.Pools[i].Used, 0.02)
	}
}

// exactMVA returns throughput and response time of a closed network of single servers with these demands
// (Reiser and Lavenberg, J. ACM 27(2), 1980, doi:10.1145/322186.322195).
func exactMVA(users int, think float64, demands []float64) (throughput, response float64) {
	queues := make([]float64, len(demands))
	for n := 1; n <= users; n++ {
		response = 0
		times := make([]float64, len(demands))
		for k, d := range demands {
			times[k] = d * (1 + queues[k])
			response += times[k]
		}
		throughput = float64(n) / (think + response)
		for k := range queues {
			queues[k] = throughput * times[k]
		}
	}
	return throughput, response
}

// TestClosedNetworkIsMVA: users who think, a processor that is shared, with demands of a wide distribution,
// and two FIFO disks, one of which is visited three times.
func TestClosedNetworkIsMVA(t *testing.T) {
	compute := Work(0, Hyperexponential(0.8, 0.001, 0.006), 0, 1)
	s := System{
		Processors: []Processor{{1}}, Units: []Unit{{}}, Pools: []Pool{{1}, {1}},
		Programs: [][]Step{
			{compute, Call(1, 3), Call(2, 1)},
			append(station(0, Exponential(0.003)), compute), station(1, Exponential(0.005)),
		},
		Operations: []Operation{{0}}, Loads: []Load{{Users: 20, Think: Exponential(0.15), Weights: []float64{1}}},
	}
	throughput, response := exactMVA(20, 0.15, []float64{4 * 0.002, 3 * 0.003, 0.005})
	r := simulated(t, s, 20_000)
	holds(t, "response time", response, each(r.All.Batches, mean), 0.02)
	var rates []float64
	for _, seconds := range r.BatchSeconds {
		rates = append(rates, 20_000/seconds)
	}
	holds(t, "throughput", throughput, rates, 0.02)
	holds(t, "in progress", 20-throughput*0.15, r.InProgress, 0.02)
}

// TestForkWaitsForTheLast: the mean of the greatest of three exponential times is 1 + 1/2 + 1/3 of theirs,
// and the parts of the last branch are those of the operation.
func TestForkWaitsForTheLast(t *testing.T) {
	s := open(10, Fork(Branch{1, 1}, Branch{2, 2}), Spawn(Branch{3, 1}))
	s.Programs = append(s.Programs, []Step{Wait(Exponential(0.01), 0)}, []Step{Wait(Exponential(0.01), 2)},
		[]Step{Wait(Constant(1), 3)})
	r := simulated(t, s, 20_000)
	truth := 0.01 * (1 + 1.0/2 + 1.0/3)
	holds(t, "mean", truth, each(r.All.Batches, mean), 0.02)
	first := func(b OperationBatch) float64 { return b.Parts[0] }
	holds(t, "the first branch", truth/3, each(r.All.Batches, first), 0.03)
	spawned := func(b OperationBatch) float64 { return b.Parts[3] }
	if seconds := stats.Mean(each(r.All.Batches, spawned)); seconds != 0 {
		t.Errorf("operations waited %g s for what they did not wait for", seconds)
	}
}

// TestCountsAreMeans: a count of 2.3 is two calls, and a third one in three cases of ten.
func TestCountsAreMeans(t *testing.T) {
	s := open(10, Call(1, 2.3))
	s.Programs = append(s.Programs, []Step{Wait(Constant(0.01), 0)})
	r := simulated(t, s, 10_000)
	holds(t, "mean", 0.023, each(r.All.Batches, mean), 0.01)
	if r.All.Times.Min < 0.0199 || r.All.Times.Max > 0.0301 {
		t.Errorf("from %g s to %g s, want two or three calls of 0.01 s", r.All.Times.Min, r.All.Times.Max)
	}
}
