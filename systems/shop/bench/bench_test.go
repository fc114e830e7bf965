package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
)

// TestBench plays a tiny run and reads what it writes.
func TestBench(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results", "shop.json")
	o := options{drivers: "sqlite", out: out, rounds: 2, orders: 20, connections: 4, clients: 8, seed: 1}
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
	if len(figures) != 3 || figures[2].Must == nil || figures[2].N != 2 || figures[0].Value <= 0 {
		t.Errorf("figures = %+v", figures)
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, o := range []options{
		{drivers: "sqlite", rounds: 1, orders: 1, connections: 1, clients: 1},
		{drivers: "sqlite", rounds: 2, connections: 1, clients: 1},
		{drivers: "none", rounds: 2, orders: 1, connections: 1, clients: 1},
	} {
		if err := bench(context.Background(), o); err == nil {
			t.Errorf("%+v was taken", o)
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
	scripts, err := record(ctx, place, makeJobs(rand.New(rand.NewPCG(1, 1)), 3))
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

// TestGoals: the whole interval decides.
func TestGoals(t *testing.T) {
	must, stretch := mustRatio, stretchRatio
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0.91, 0.95, "stretch"}, {0.75, 0.95, "must"}, {0.6, 0.8, "undecided"}, {0.5, 0.6, "missed"}} {
		f := figure{Low: c.low, High: c.high, Must: &must, Stretch: &stretch}
		if got := f.reached(); got != c.want {
			t.Errorf("%v..%v: %s, want %s", c.low, c.high, got, c.want)
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
	jobs := makeJobs(rand.New(rand.NewPCG(1, 1)), b.N)
	b.ResetTimer()
	if _, err := playMonolith(ctx, place, jobs, options{connections: 16, clients: 32}); err != nil {
		b.Fatal(err)
	}
}
