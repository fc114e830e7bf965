package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cleave-lab/cleave/stats"
)

// anySystem returns a random system that can keep up: programs that call later ones, each in a pool of its
// own, on processors of which none is used more than to 60 %.
func anySystem(random *rand.Rand) System {
	s := System{}
	for range 1 + random.IntN(3) {
		s.Processors = append(s.Processors, Processor{float64(1 + random.IntN(4))})
	}
	for range 1 + random.IntN(5) {
		u := Unit{Processor: random.IntN(len(s.Processors))}
		if random.IntN(3) == 0 {
			u.Limit = 0.5
		}
		s.Units = append(s.Units, u)
	}
	programs := 2 + random.IntN(8)
	demands := []Dist{Constant(0.001), Exponential(0.002), Hyperexponential(0.9, 0.0005, 0.01)}
	for i := range programs {
		steps := []Step{Acquire(i, 4), Work(random.IntN(len(s.Units)), demands[random.IntN(len(demands))], 0, 1)}
		for later := i + 1; later < programs; later++ {
			branch := Branch{later, random.Float64() * 2}
			switch random.IntN(8) {
			case 0:
				steps = append(steps, Call(branch.Program, branch.Count))
			case 1:
				steps = append(steps, Fork(branch, branch))
			case 2:
				steps = append(steps, Spawn(branch))
			}
		}
		s.Programs = append(s.Programs, append(steps, Wait(demands[random.IntN(3)], 2), Release(i)))
		s.Pools = append(s.Pools, Pool{64})
	}
	s.Operations = []Operation{{0}, {1}}
	weights := []float64{1, 2}
	s.Loads = []Load{{Rate: 0.5 * rateOf(s, weights), Weights: weights},
		{Users: 3, Think: Exponential(200 / rateOf(s, weights)), Weights: weights}}
	return s
}

// rateOf returns the operations per second at which the busiest processor, unit or pool has 60 % of all it
// can do.
func rateOf(s System, weights []float64) float64 {
	calls := make([]float64, len(s.Programs))
	for i, o := range s.Operations {
		calls[o.Program] += weights[i] / 3
	}
	used := make([]float64, len(s.Units))
	cores := make([]float64, len(s.Processors))
	for i, program := range s.Programs { // callers come first
		for _, st := range program {
			if st.action == work {
				used[st.target] += calls[i] * st.duration.Mean()
			}
			for _, b := range st.branches {
				calls[b.Program] += calls[i] * b.Count
			}
		}
	}
	rate := math.Inf(1)
	for i, u := range s.Units {
		cores[u.Processor] += used[i]
		if u.Limit > 0 {
			rate = min(rate, 0.6*u.Limit/used[i])
		}
	}
	for i, p := range s.Processors {
		rate = min(rate, 0.6*p.Cores/cores[i])
	}
	return rate
}

// TestRandomSystems: whatever the system, operations are neither lost nor doubled, their number is their rate
// times their time (Little 1961), their parts add up to their time, and processors are as busy as units
// have asked.
func TestRandomSystems(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := anySystem(rand.New(rand.NewPCG(seed, 1)))
			r := simulated(t, s, 2000)
			if r.Started != r.Completed+uint64(r.Left) {
				t.Errorf("%d started, %d completed, %d left", r.Started, r.Completed, r.Left)
			}
			area := 0.0
			time := 0.0
			demand := 0.0
			busy := 0.0
			for i, b := range r.All.Batches {
				area += r.InProgress[i] * r.BatchSeconds[i]
				time += b.Mean * float64(b.Completed)
				sum := 0.0
				for _, part := range b.Parts {
					sum += part
				}
				if math.Abs(sum/b.Mean-1) > 1e-6 {
					t.Errorf("parts of %g s add up to %g s", b.Mean, sum)
				}
			}
			if math.Abs(area/time-1) > 0.01 {
				t.Errorf("operations were %g s in progress, their times add up to %g s", area, time)
			}
			for _, u := range r.Units {
				demand += stats.Mean(u.Cores)
			}
			for _, p := range r.Processors {
				busy += stats.Mean(p.Busy)
			}
			if math.Abs(busy/demand-1) > 0.01 {
				t.Errorf("%g cores were busy, units have asked for %g", busy, demand)
			}
		})
	}
}

// TestSeedDecides: the same seed gives the same result to the last bit, and another one another.
func TestSeedDecides(t *testing.T) {
	s := anySystem(rand.New(rand.NewPCG(3, 1)))
	play := func(seed uint64) Result {
		r, err := Run(t.Context(), s, Options{Seed: seed, WarmUp: 10, Batches: 3, PerBatch: 500})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if !reflect.DeepEqual(play(1), play(1)) {
		t.Error("the same seed gives two results")
	}
	if reflect.DeepEqual(play(1), play(2)) {
		t.Error("two seeds give the same result")
	}
}

// TestArrivalsAreTheSame in two systems with the same seed, however many random numbers their programs draw.
func TestArrivalsAreTheSame(t *testing.T) {
	batches := func(seed uint64, program ...Step) []float64 {
		s := open(10, program...)
		s.Programs = append(s.Programs, []Step{Wait(Constant(0), 0)})
		r, err := Run(t.Context(), s, Options{Seed: seed, Batches: 5, PerBatch: 20})
		if err != nil {
			t.Fatal(err)
		}
		return r.BatchSeconds
	}
	one := batches(1, Wait(Constant(0), 0))
	if other := batches(1, Call(1, 0.5), Call(1, 2.5)); !reflect.DeepEqual(one, other) {
		t.Errorf("with one seed arrivals of two systems take %v and %v", one, other)
	}
	if other := batches(2, Wait(Constant(0), 0)); reflect.DeepEqual(one, other) {
		t.Errorf("with two seeds arrivals take %v both times", one)
	}
}

// TestMemoryDoesNotGrow with simulated time: tasks are used again.
func TestMemoryDoesNotGrow(t *testing.T) {
	s, err := newSimulation(anySystem(rand.New(rand.NewPCG(3, 1))),
		Options{Batches: 1, PerBatch: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	size := func(events int) int {
		for range events {
			s.event()
		}
		all := len(s.tasks) + cap(s.ready) + cap(s.timers.entries) + cap(s.busy.entries)
		for _, sh := range s.shares {
			all += cap(sh.tasks.entries)
		}
		return all
	}
	early := size(100_000)
	if late := size(2_000_000); late > 2*early {
		t.Errorf("the simulation holds %d entries after 100,000 events and %d after 2.1 million", early, late)
	}
	if allocated := testing.AllocsPerRun(100_000, func() { s.event() }); allocated > 0 {
		t.Errorf("%g allocations per event", allocated)
	}
}
