package predict

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/model"
)

// of returns a constant distribution that was metered often.
func of(mean time.Duration) model.Distribution {
	return model.Distribution{Mean: mean, Source: model.Meter, N: 1000}
}

// smallShop returns a monolith whose orders ask the stock twice and store once: 1.6 ms of CPU and 2 ms of
// waiting. It was measured at 100 operations a second.
func smallShop() model.Model {
	stock := model.Call{Component: "stock", Name: "Reserve", Count: 2, Source: model.Trace, N: 2000,
		CPU: of(300 * time.Microsecond)}
	order := model.Call{Component: "orders", Name: "Create", Count: 1, Source: model.Trace, N: 1000,
		CPU: of(500 * time.Microsecond), Calls: []model.Call{stock},
		Visits: []model.Visit{{Store: "db", Commits: 1, Wait: of(2 * time.Millisecond)}}}
	front := model.Call{Component: "front", Name: "POST /orders", Count: 1, Source: model.Trace, N: 1000,
		CPU: of(500 * time.Microsecond), Calls: []model.Call{order}}
	return model.Model{
		Name:       "small shop",
		Units:      []model.Unit{{Name: "shop", Components: []string{"front", "orders", "stock"}, Replicas: 1}},
		Stores:     []model.Store{{Name: "db", Kind: "sqlite", Workers: 1}},
		Operations: []model.Operation{{Name: "order", Weight: 1, Source: model.Trace, N: 1000, Call: front}},
		Measured: []model.Measurement{{Rate: 100, CPU: of(1600 * time.Microsecond),
			Time: model.Distribution{Mean: 3900 * time.Microsecond, Source: model.Meter, N: 1000}}},
	}
}

// splitStock asks what it takes to have the stock apart, at 200 operations a second on four cores.
func splitStock() Question {
	return Question{Model: smallShop(), Change: Change{Split: ParseGroups("stock")}, Rate: 200, Cores: 4,
		MeasuredCores: 4, Hop: &Hop{CPU: 100e-6, Wait: 50e-6, Source: "a test"}, Seed: 1, Operations: 8000}
}

func predicted(t *testing.T, q Question) Answer {
	t.Helper()
	a, err := Predict(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func near(t *testing.T, what string, got, want, margin float64) {
	t.Helper()
	if math.Abs(got-want) > margin*math.Abs(want) {
		t.Errorf("%s: %g, want %g within %g of it", what, got, want, margin)
	}
}

// TestSplitAddsItsHops: two calls that cross take 0.2 ms of CPU and 0.1 ms on the way; the rest stays.
func TestSplitAddsItsHops(t *testing.T) {
	a := predicted(t, splitStock())
	if len(a.Withheld) > 0 {
		t.Fatalf("withheld: %q", a.Withheld)
	}
	near(t, "CPU as it is", a.AsIs.CPU.Value, 1.6e-3, 1e-3)
	near(t, "CPU apart", a.Changed.CPU.Value, 1.8e-3, 1e-3)
	near(t, "cores", a.Changed.Cores.Value, 0.36, 0.05)
	near(t, "calls between units", a.Changed.Hops, 2, 1e-9)
	near(t, "the change of the mean", a.Changed.mean-a.AsIs.mean, 0.3e-3, 0.15)
	// One commit at a time takes 2 ms: 500/s, before and after; the cores would do 2,500/s and 2,222/s.
	near(t, "capacity", a.Changed.Capacity.Value, 500, 0.02)
	if a.Changed.CapacityBy != "the workers of db" {
		t.Errorf("the capacity is limited by %s", a.Changed.CapacityBy)
	}
	for _, e := range []struct{ low, value, high float64 }{{a.CPU.Low, a.CPU.Value, a.CPU.High},
		{a.Median.Low, a.Median.Value, a.Median.High}, {a.P99.Low, a.P99.Value, a.P99.High}} {
		if !(e.low < e.value && e.value < e.high) {
			t.Errorf("%+v is no interval around a value", e)
		}
	}
	hops := 0.0
	sum := 0.0
	for _, c := range a.Causes {
		sum += c.Change
		if strings.HasPrefix(c.What, "hops") {
			hops += c.Change
		}
	}
	near(t, "hops in the waterfall", hops, 0.3e-3, 0.01)
	near(t, "the waterfall", sum, a.Changed.mean-a.AsIs.mean, 1e-6)
}

// TestMergeRemovesHops: it leads back to where the split came from.
func TestMergeRemovesHops(t *testing.T) {
	q := splitStock()
	apart := q.Model
	apart.Units = []model.Unit{{Name: "shop", Components: []string{"front", "orders"}, Replicas: 1},
		{Name: "stock", Components: []string{"stock"}, Replicas: 1}}
	apart.Measured = []model.Measurement{{Rate: 100, CPU: of(1800 * time.Microsecond),
		Time: of(4200 * time.Microsecond)}}
	stock := &apart.Operations[0].Call.Calls[0].Calls[0]
	stock.Hop = &model.Hop{CPU: of(100 * time.Microsecond), Wait: of(50 * time.Microsecond)}
	q.Model = apart
	q.Hop = nil
	q.Change = Change{Merge: []string{"shop", "stock"}}
	a := predicted(t, q)
	near(t, "CPU as it is", a.AsIs.CPU.Value, 1.8e-3, 1e-3)
	near(t, "CPU together", a.Changed.CPU.Value, 1.6e-3, 1e-3)
	if a.Hop == nil || math.Abs(a.Hop.CPU-100e-6) > 1e-12 {
		t.Errorf("the model's own hops take %+v, want 100 us of CPU", a.Hop)
	}
}

// TestTreesBecomePrograms: parallel calls, calls that nobody waits for, servers and workers take the time
// that they should when nobody else is there.
func TestTreesBecomePrograms(t *testing.T) {
	ms := func(n int) model.Distribution { return of(time.Duration(n) * time.Millisecond) }
	waits := func(n int) model.Call { return model.Call{Component: "b", Count: 1, Wait: ms(n)} }
	parallel := func(c model.Call) model.Call { c.Parallel = true; return c }
	async := func(c model.Call) model.Call { c.Async = true; return c }
	repeated := func(c model.Call, n float64) model.Call { c.Count = n; return c }
	far := model.Call{Component: "far"}
	visit := model.Visit{Store: "db", Wait: ms(10), CPU: ms(4)}
	for name, c := range map[string]struct {
		call model.Call
		want float64 // of the response time, in ms
		cpu  float64 // per operation, in ms
	}{
		"own":                 {model.Call{CPU: ms(2), Wait: ms(3), Background: ms(5)}, 5, 7},
		"in sequence":         {model.Call{Calls: []model.Call{waits(2), repeated(waits(3), 2)}}, 8, 0},
		"with the one before": {model.Call{Calls: []model.Call{waits(2), parallel(waits(3)), waits(4)}}, 7, 0},
		"its executions":      {model.Call{Calls: []model.Call{parallel(repeated(waits(3), 4))}}, 3, 0},
		"beside a sequence":   {model.Call{Calls: []model.Call{repeated(waits(2), 3), parallel(waits(5))}}, 6, 0},
		"not waited for":      {model.Call{Calls: []model.Call{waits(2), async(waits(50))}}, 2, 0},
		"a server":            {model.Call{Visits: []model.Visit{visit}}, 10, 4},
		"a hop":               {model.Call{Calls: []model.Call{repeated(far, 2)}}, 2 * 5, 2 * 2},
	} {
		c.call.Component = "a"
		c.call.Count = 1
		m := model.Model{Units: []model.Unit{{Name: "u", Components: []string{"a", "b"}, Replicas: 1},
			{Name: "v", Components: []string{"far"}, Replicas: 2, Workers: 1}},
			Stores:     []model.Store{{Name: "db", Server: true, Workers: 2}},
			Operations: []model.Operation{{Weight: 1, Call: c.call}}}
		p, err := place(m, m.Units, site{cores: 4, defaultHop: &Hop{CPU: 0.002, Wait: 0.003}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := p.play(t.Context(), 0.01, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(1000*f.mean-c.want) > 1e-6 || math.Abs(1000*f.cpu-c.cpu) > 1e-6 {
			t.Errorf("%s: %g ms with %g ms of CPU, want %g and %g", name, 1000*f.mean, 1000*f.cpu, c.want, c.cpu)
		}
	}
}

// TestStoresOfTheirOwn: two components each commit for 2 ms to a store with one worker. They share 250
// operations a second, or have 500 with a store each.
func TestStoresOfTheirOwn(t *testing.T) {
	commits := []model.Visit{{Store: "db", Commits: 1, Wait: of(2 * time.Millisecond)}}
	for server, more := range map[bool]time.Duration{false: 0, true: time.Millisecond} {
		first := model.Call{Component: "a", Count: 1, Visits: slices.Clone(commits),
			Calls: []model.Call{{Component: "b", Count: 1, Visits: slices.Clone(commits)}}}
		first.Visits[0].CPU = of(more)
		first.Calls[0].Visits[0].CPU = of(more)
		m := model.Model{Units: []model.Unit{{Name: "u", Components: []string{"a", "b"}, Replicas: 1}},
			Stores:     []model.Store{{Name: "db", Server: server, Workers: 1}},
			Operations: []model.Operation{{Weight: 1, Call: first}}}
		for _, c := range []struct {
			change Change
			want   float64
		}{
			{Change{}, 250}, {Change{Stores: StorePerUnit}, 250}, {Change{Stores: StorePerComponent}, 500},
			{Change{Split: ParseGroups("b")}, 250}, {Change{Split: ParseGroups("b"), Stores: SharedStores}, 250},
			{Change{Split: ParseGroups("b"), Stores: StorePerUnit}, 500},
			{Change{Split: ParseGroups("b"), Stores: StorePerComponent}, 500},
		} {
			units, err := c.change.Apply(m)
			if err != nil {
				t.Fatal(err)
			}
			p, err := place(m, units, site{cores: 16, stores: c.change.Stores, defaultHop: &Hop{}})
			if err != nil {
				t.Fatal(err)
			}
			most, err := p.capacity(t.Context(), 2000, 1)
			if err != nil || !strings.HasPrefix(most.by, "the workers of db") {
				t.Fatalf("%s: limited by %s, %v", c.change, most.by, err)
			}
			near(t, c.change.String()+": capacity", most.rate, c.want, 0.02)
		}
	}
}

// TestAnswersAreWithheld where nothing bears them, with the reason.
func TestAnswersAreWithheld(t *testing.T) {
	for want, change := range map[string]func(*Question){
		"nothing that was measured": func(q *Question) { q.Model.Measured = nil },
		"CPU per operation at 100/s is predicted -20 % off": func(q *Question) {
			q.Model.Measured[0].CPU = of(2 * time.Millisecond)
		},
		"the mean response time at 100/s": func(q *Question) {
			q.Model.Measured[0].Time = of(2 * time.Millisecond)
		},
		"5000/s, which was measured, is predicted to overload": func(q *Question) {
			q.Model.Measured[0].Rate = 5000
		},
		"at its capacity: nothing can go on": func(q *Question) {
			// Orders are called by the front and call it back: when all workers of the front wait, nobody serves that.
			orders := &q.Model.Operations[0].Call.Calls[0]
			back := model.Call{Component: "front", Name: "Back", Count: 1, Source: model.Trace, N: 1000,
				CPU: of(time.Microsecond)}
			orders.Calls = append(orders.Calls, back)
			q.Model.Units[0].Workers = 64
			q.Change = Change{Split: ParseGroups("orders")}
		},
		"no CPU time of stock": func(q *Question) {
			q.Model.Operations[0].Call.Calls[0].Calls[0].CPU = model.Distribution{}
			q.Model.Measured[0].CPU = of(time.Millisecond)
		},
		"CPU time of front is the self time": func(q *Question) {
			q.Model.Operations[0].Call.CPU.Source = model.Trace
		},
		"would be used to": func(q *Question) { q.Rate = 450 },
		"cannot keep up":   func(q *Question) { q.Rate = 5000 },
	} {
		q := splitStock()
		change(&q)
		a := predicted(t, q)
		var text strings.Builder
		if err := a.Write(&text); err != nil {
			t.Fatal(err)
		}
		reasons := strings.Join(a.Withheld, "\n")
		if !strings.Contains(reasons, want) || !strings.Contains(text.String(), "withheld") ||
			strings.Contains(text.String(), "median response time ") {
			t.Errorf("withheld: %q, want %q, and no answer in\n%s", reasons, want, text.String())
		}
	}
	q := splitStock()
	q.Model.Measured[0].Time.Quantiles = model.Quantiles{"p50": 3700 * time.Microsecond, "p99": time.Second}
	if a := predicted(t, q); !a.TailWithheld || len(a.Withheld) > 0 {
		t.Errorf("a wrong 99th percentile: withheld %v, and of the tail %v", a.Withheld, a.TailWithheld)
	}
}

// TestUnknownHopsAreRefused: nobody guesses what a call between units costs. They are refused before any
// simulation, which would end with the error of the context.
func TestUnknownHopsAreRefused(t *testing.T) {
	q := splitStock()
	q.Hop = nil
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Predict(over, q); err == nil || !strings.Contains(err.Error(), "--hop") {
		t.Errorf("%v, want that the cost of a hop is missing", err)
	}
}

// TestIntervalsHoldTheTruth: models are made from samples of 50 values; nine in ten of their intervals must
// hold the CPU time that the samples were drawn around.
func TestIntervalsHoldTheTruth(t *testing.T) {
	const truth, experiments, n = 1e-3, 80, 50
	random := rand.New(rand.NewPCG(11, 0))
	held := 0
	for i := range experiments {
		values := make([]float64, n)
		for j := range values {
			values[j] = truth * random.ExpFloat64()
		}
		q := Question{Rate: 100, Cores: 4, Seed: uint64(1000 * i), Operations: 4000}
		q.Model = model.Model{Units: []model.Unit{{Name: "a", Components: []string{"a"}, Replicas: 1}},
			Operations: []model.Operation{{Weight: 1, Call: model.Call{Component: "a", Count: 1,
				CPU: model.Summarise(values, model.Meter)}}}}
		replicates, err := (&Answer{Question: q, Units: q.Model.Units, StoreFactor: 1}).replicated(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mean := q.Model.Operations[0].Call.CPU.Seconds()
		if replicates.around(mean, func(p pair) float64 { return p.changed.cpu }, 0).Contains(truth) {
			held++
		}
	}
	if share := float64(held) / experiments; share < 0.85 || share > 0.99 {
		t.Errorf("%d of %d intervals hold the truth, want nine in ten", held, experiments)
	}
}

// TestAFigureOfZeroIsAnError: it has no logarithm, so its interval is unknown. A model without CPU time has
// one if an answer is asked for always.
func TestAFigureOfZeroIsAnError(t *testing.T) {
	m := model.Model{Units: []model.Unit{{Name: "a", Components: []string{"a", "b"}, Replicas: 1, Workers: 4}},
		Operations: []model.Operation{{Weight: 1, Call: model.Call{Component: "a", Count: 1,
			Wait: model.Distribution{Mean: time.Millisecond}}}}}
	a, err := Predict(t.Context(), Question{Model: m, Change: Change{Split: ParseGroups("b")}, Rate: 10,
		Cores: 1, MeasuredCores: 1, Hop: &Hop{}, Operations: 4000, Always: true,
		Objective: Objective{"a test", []Limit{{Share: 0.5, Seconds: 1}}}})
	if err == nil || !strings.Contains(err.Error(), "interval of the predicted 0: ") {
		t.Errorf("the CPU time is %+v, error %v", a.Changed.CPU, err)
	}
	if a.AsIs.Held != (Held{}) {
		t.Errorf("a rate was searched in spite of the error: %+v", a.AsIs.Held)
	}
}
