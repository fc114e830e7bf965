package sim

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// TestMistakesAreNamed: a system that cannot be simulated is refused with what is wrong.
func TestMistakesAreNamed(t *testing.T) {
	fine := func() System {
		s := open(1, Work(0, Constant(1), 0, 1), Acquire(0, 0), Release(0))
		s.Processors = []Processor{{1}}
		s.Units = []Unit{{}}
		s.Pools = []Pool{{1}}
		return s
	}
	for want, change := range map[string]func(*System){
		"no unit 1":               func(s *System) { s.Programs[0][0] = Work(1, Constant(1), 0, 0) },
		"no pool -1":              func(s *System) { s.Programs[0][1] = Acquire(-1, 0) },
		"no program 3":            func(s *System) { s.Programs[0][0] = Call(3, 1) },
		"-1 calls":                func(s *System) { s.Programs[0][0] = Call(0, -1) },
		"calls itself":            func(s *System) { s.Programs[0][0] = Call(0, 1) },
		"mean of -1 s":            func(s *System) { s.Programs[0][0] = Wait(Constant(-1), 0) },
		"parts 8 and 0":           func(s *System) { s.Programs[0][0] = Wait(Constant(1), 8) },
		"does nothing":            func(s *System) { s.Programs[0][0] = Step{} },
		"does not return it":      func(s *System) { s.Programs[0] = s.Programs[0][:2] },
		"not the last":            func(s *System) { s.Programs[0] = s.Programs[0][2:] },
		"0 cores":                 func(s *System) { s.Processors[0].Cores = 0 },
		"no processor 1":          func(s *System) { s.Units[0].Processor = 1 },
		"limit of -1 cores":       func(s *System) { s.Units[0].Limit = -1 },
		"0 places":                func(s *System) { s.Pools[0].Size = 0 },
		"rate of 0/s and 0 users": func(s *System) { s.Loads[0].Rate = 0 },
		"rate of +Inf/s and 1": func(s *System) {
			s.Loads[0].Rate = math.Inf(1)
			s.Loads[0].Users = 1
		},
		"rate of NaN/s and 1": func(s *System) {
			s.Loads[0].Rate = math.NaN()
			s.Loads[0].Users = 1
		},
		"2 weights for 1 operation": func(s *System) { s.Loads[0].Weights = []float64{1, 1} },
		"weight 0 is NaN":           func(s *System) { s.Loads[0].Weights[0] = math.NaN() },
		"a weight above 0":          func(s *System) { s.Loads[0].Weights[0] = 0 },
		"no load":                   func(s *System) { s.Loads = nil },
		"operation 0":               func(s *System) { s.Operations[0].Program = 1 },
	} {
		s := fine()
		change(&s)
		if _, err := Run(t.Context(), s, Options{Batches: 1, PerBatch: 1}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if _, err := Run(t.Context(), fine(), Options{Batches: 1}); err == nil {
		t.Error("batches of nothing are simulated")
	}
}

// TestHopelessSystemsEnd with the reason.
func TestHopelessSystemsEnd(t *testing.T) {
	overloaded := open(200, station(0, Constant(0.01))...)
	overloaded.Pools = []Pool{{1}}
	options := Options{Batches: 1, PerBatch: 1e6, MostInProgress: 1000}
	if r, err := Run(t.Context(), overloaded, options); !errors.Is(err, ErrOverload) || r.Left < 1000 {
		t.Errorf("%v with %d operations left, want an overload", err, r.Left)
	}
	stuck := System{Pools: []Pool{{1}, {1}},
		Programs: [][]Step{
			{Acquire(0, 0), Wait(Constant(1), 0), Call(2, 1), Release(0)},
			{Acquire(1, 0), Wait(Constant(1), 0), Call(3, 1), Release(1)},
			{Acquire(1, 0), Release(1)}, {Acquire(0, 0), Release(0)}},
		Operations: []Operation{{0}, {1}}, Loads: []Load{{Users: 9, Weights: []float64{1, 1}}}}
	if _, err := Run(t.Context(), stuck, options); !errors.Is(err, ErrStuck) {
		t.Errorf("%v, want that it is stuck", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, stuck, options); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}
