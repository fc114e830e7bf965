//go:build linux

// Command bench holds predictions and rehearsals of placements against what the placements then take. It
// makes a model of the shop in one process, predicts other placements of its components from what that
// process takes and from what a call between two units takes that do next to nothing, and plays them at three
// rates and at their capacity. It says how far off the predictions are, how many of their intervals hold the
// truth, and which of them `cleave predict` would withhold.
//
// It plays through the program cleave, as a user would. Whatever happens, it ends within -within and prints
// the table of what it has by then. Begin at bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-predict:", err)
		os.Exit(1)
	}
}

// effort says how much is played.
type effort struct {
	within     time.Duration
	blocks     int
	seconds    int // of each load
	placements []string
	rehearsed  int // how many of the placements are rehearsed
	gates      []string
}

// efforts returns the usual effort and the quick one. Placements are written as --split takes them; the front
// is a part of the orders.
func efforts() (usual, quick effort) {
	some := []string{"inventory", "payments", "catalog,customers", "inventory,payments",
		"catalog,customers,inventory,payments,shipping"}
	more := []string{"catalog", "customers", "shipping", "catalog+customers", "inventory+payments",
		"payments,shipping", "inventory+shipping,payments"}
	usual = effort{within: 2 * time.Hour, blocks: 8, seconds: 4, rehearsed: 12,
		placements: slices.Concat(some, more)}
	return usual, effort{within: 16 * time.Minute, blocks: 3, seconds: 2, rehearsed: 3, placements: some,
		gates: []string{"--no-gates"}}
}

// bench plays, predicts and prints.
func bench(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("bench-predict", flag.ContinueOnError)
	out := flags.String("out", "results/bench/placements.json", "`file` for the figures as JSON")
	cleave := flags.String("cleave", "bin/cleave", "the `program` that plays")
	quick := flags.Bool("quick", false, "short loads, and all count: to see that all works, not to quote")
	within := flags.Duration("within", 0, "`time` after which it ends with what it has (0: 2h, with -quick 16m)")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	how, fast := efforts()
	if *quick {
		how = fast
	}
	if *within > 0 {
		how.within = *within
	}
	results, err := os.MkdirTemp("", "cleave-placements-")
	if err != nil {
		return fmt.Errorf("make a folder for results: %w", err)
	}
	defer func() { _ = os.RemoveAll(results) }()
	p := player{effort: how, cleave: *cleave, results: results, began: time.Now()}
	rows, err := p.play(ctx)
	if len(rows) == 0 {
		return err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-predict: the table is not complete:", err)
	}
	return errors.Join(ctx.Err(), publish(os.Stdout, *out, rows))
}
