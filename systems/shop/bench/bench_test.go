package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// TestBench plays a tiny run and reads what it writes.
func TestBench(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results", "shop.json")
	o := options{rows: "raw,inprocess", drivers: "sqlite", out: out, rounds: 2, orders: 20, calls: 20, connections: 4, clients: 8, seed: 1}
	if err := bench(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var figures []figure
	if err := json.Unmarshal(text, &figures); err != nil {
		t.Fatal(err)
	}
	if len(figures) != 6 || figures[2].Must == nil || figures[2].N != 2 || figures[0].Value <= 0 {
		t.Errorf("figures = %+v", figures)
	}
}

func TestBenchRefuses(t *testing.T) {
	whole := options{rows: "raw", drivers: "sqlite", rounds: 2, orders: 1, calls: 1, connections: 1, clients: 1}
	for what, spoil := range map[string]func(*options){
		"one round": func(o *options) { o.rounds = 1 }, "no orders": func(o *options) { o.orders = 0 },
		"no calls": func(o *options) { o.calls = 0 }, "an unknown database": func(o *options) { o.drivers = "none" },
		"an unknown row": func(o *options) { o.rows = "raw,cooked" },
	} {
		o := whole
		spoil(&o)
		if err := bench(context.Background(), o); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}

// TestReplayNotices: a replay that finds other rows than were recorded is no replay.
func TestReplayNotices(t *testing.T) {
	ctx := context.Background()
	place, err := newPlace(ctx, database.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := place.close(); err != nil {
			t.Error(err)
		}
	})
	scripts, err := record(ctx, place, makeJobs(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	o := options{connections: 1}
	if _, err := playRaw(ctx, place, scripts, o); err != nil {
		t.Fatal(err)
	}
	if _, err := playRaw(ctx, place, append(scripts, scripts[0]), o); err == nil || !strings.Contains(err.Error(), "recorded") && !strings.Contains(err.Error(), "constraint") {
		t.Errorf("the same order twice: %v", err)
	}
}

// TestGoals: the whole interval decides, whichever way is better.
func TestGoals(t *testing.T) {
	for _, c := range []struct {
		goals     goals
		low, high float64
		want      string
	}{
		{goals{0.7, 0.9, lab.HigherIsBetter}, 0.91, 0.95, "stretch"}, {goals{0.7, 0.9, lab.HigherIsBetter}, 0.75, 0.95, "must"},
		{goals{0.7, 0.9, lab.HigherIsBetter}, 0.6, 0.8, "undecided"}, {goals{0.7, 0.9, lab.HigherIsBetter}, 0.5, 0.6, "missed"},
		{goals{1.1, 0.7, lab.LowerIsBetter}, 0.6, 0.69, "stretch"}, {goals{1.1, 0.7, lab.LowerIsBetter}, 0.6, 1, "must"},
		{goals{1.1, 0.7, lab.LowerIsBetter}, 1, 1.2, "undecided"}, {goals{1.1, 0.7, lab.LowerIsBetter}, 1.2, 1.3, "missed"},
		{goals{better: lab.HigherIsBetter}, 1, 2, ""},
	} {
		f := c.goals.of(figure{Low: c.low, High: c.high, Better: c.goals.better})
		if got := f.reached(); got != c.want {
			t.Errorf("%v..%v of %+v: %q, want %q", c.low, c.high, c.goals, got, c.want)
		}
	}
}

// TestTransports: every binding brings the same quote.
func TestTransports(t *testing.T) {
	for name, begin := range transports() {
		quoted, stop, err := begin(2)
		if err != nil {
			t.Fatal(err)
		}
		if err := callAll(quoted, 2, 10); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		answer, err := quoted.Quote(t.Context(), &shoppb.QuoteRequest{ProductIds: []int64{7}})
		if err != nil || answer.GetProducts()[0].GetPriceCents() != 2006 {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkMonolith is for profiles: one iteration is one order over HTTP.
func BenchmarkMonolith(b *testing.B) {
	ctx := context.Background()
	place, err := newPlace(ctx, database.SQLite)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = place.close() }()
	jobs := makeJobs(1, b.N)
	b.ResetTimer()
	if _, err := playMonolith(ctx, place, jobs, options{connections: 16, clients: 32}); err != nil {
		b.Fatal(err)
	}
}
