package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sharing returns a simulation in which units with these limits share one processor. tasks are the numbers of
// tasks of 1 s that use it, by unit.
func sharing(t *testing.T, cores float64, limits []float64, tasks []int) (*simulation, []int32) {
	t.Helper()
	s := &simulation{}
	system := System{Processors: []Processor{{cores}}}
	for _, limit := range limits {
		system.Units = append(system.Units, Unit{Limit: limit})
	}
	shares, err := s.newProcessors(system)
	if err != nil {
		t.Fatal(err)
	}
	for unit, n := range tasks {
		for range n {
			s.use(0, shares[unit], 1)
		}
	}
	return s, shares
}

// TestProcessorIsSharedEvenly: every task gets the same, one core at most, and what a limit keeps from
// some goes to the others.
func TestProcessorIsSharedEvenly(t *testing.T) {
	for _, c := range []struct {
		cores  float64
		limits []float64
		tasks  []int
		rates  []float64 // per task of each unit
	}{
		{4, []float64{0}, []int{3}, []float64{1}},
		{4, []float64{0}, []int{8}, []float64{0.5}},
		{4, []float64{0, 0}, []int{6, 2}, []float64{0.5, 0.5}},
		{4, []float64{0.5}, []int{2}, []float64{0.25}},
		{4, []float64{0, 0.5}, []int{3, 1}, []float64{1, 0.5}},
		{4, []float64{0, 0.5}, []int{7, 1}, []float64{0.5, 0.5}},
		{4, []float64{0, 0.5}, []int{14, 2}, []float64{0.25, 0.25}},
		{4, []float64{0, 1}, []int{4, 4}, []float64{0.75, 0.25}},
		{4, []float64{0, 1, 2}, []int{2, 10, 4}, []float64{0.5, 0.1, 0.5}},
		{1, []float64{0.25, 0.9}, []int{1, 1}, []float64{0.25, 0.75}},
		{4, []float64{0, 9}, []int{4, 4}, []float64{0.5, 0.5}}, // a limit above the cores is none
	} {
		s, shares := sharing(t, c.cores, c.limits, c.tasks)
		for unit, want := range c.rates {
			if got := s.shares[shares[unit]].rate; math.Abs(got-want) > 1e-12 {
				t.Errorf("%g cores, limits %v, tasks %v: a task of unit %d gets %g, want %g", c.cores, c.limits,
					c.tasks, unit, got, want)
			}
		}
	}
}

// TestRatesAreGivenBack: four tasks that share a core evenly end at the same time, one after the other. Of
// two tasks the longer one gets the whole core after the end of the other. Then the processor is idle.
func TestRatesAreGivenBack(t *testing.T) {
	alike, _ := sharing(t, 1, []float64{0, 0.25}, []int{3, 1})
	differing, shares := sharing(t, 1, []float64{0, 0}, []int{1, 0})
	differing.use(0, shares[1], 2)
	for _, c := range []struct {
		s    *simulation
		want []float64
	}{{alike, []float64{4, 4, 4, 4}}, {differing, []float64{2, 3}}} {
		var ends []float64
		for s := c.s; len(s.busy.entries) > 0; ends = append(ends, s.now) {
			s.now = s.busy.entries[0].at
			s.finish(s.busy.entries[0].id)
		}
		if !slices.Equal(ends, c.want) {
			t.Errorf("tasks on one core end at %v, want %v", ends, c.want)
		}
		if p := c.s.processors[0]; p.wanted != 0 || p.saturated {
			t.Errorf("an idle processor: %+v", p)
		}
	}
}

// TestLimitedUnitIsASlowServer: half a core is a server at half the speed, whoever else is on the processor.
func TestLimitedUnitIsASlowServer(t *testing.T) {
	s := open(30, Work(0, Exponential(0.01), 0, 1))
	s.Programs = append(s.Programs, []Step{Work(1, Exponential(0.01), 0, 1)})
	s.Operations = append(s.Operations, Operation{1})
	s.Processors = []Processor{{8}}
	s.Units = []Unit{{Limit: 0.5}, {}}
	s.Loads[0].Weights = []float64{1, 0}
	s.Loads = append(s.Loads, Load{Rate: 100, Weights: []float64{0, 1}})
	r := simulated(t, s, 100_000)
	holds(t, "limited", 0.02/(1-0.6), each(r.Operations[0].Batches, mean), 0.03)
	holds(t, "unlimited", 0.01, each(r.Operations[1].Batches, mean), 0.01)
}

// TestHeapIsInOrder against a sorted list, with entries that move and go.
func TestHeapIsInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := indexedHeap(100)
	due := map[int32]float64{}
	for range 20_000 {
		id := int32(random.IntN(100))
		switch random.IntN(4) {
		case 0:
			h.remove(id)
			delete(due, id)
		case 1:
			if len(due) == 0 {
				continue
			}
			top := h.pop()
			for _, at := range due {
				if at < top.at {
					t.Fatalf("%v came before %g", top, at)
				}
			}
			if due[top.id] != top.at {
				t.Fatalf("%d was due at %g, not at %g", top.id, due[top.id], top.at)
			}
			delete(due, top.id)
		default:
			at := float64(random.IntN(50))
			h.set(id, at)
			due[id] = at
		}
		if len(h.entries) != len(due) {
			t.Fatalf("%d entries, want %d", len(h.entries), len(due))
		}
	}
}
