//go:build linux

// Command bench holds the answers of Cleave against servers of which the truth is known:
// their CPU time per request, their response times, their errors, their drift and their
// capacity, and of services that record spans their own CPU, self time and critical path.
// It plays them through `cleave compare`, `cleave bottleneck` and `cleave load`, as a user
// would, and counts which intervals hold the truth, which verdicts are wrong, and how often
// equal servers are called different. It measures what recording spans costs, and whether
// the receiver of spans keeps its bounds. `bench watching` measures what it costs to watch a run in the
// browser.
//
// It prints a table and writes the figures as JSON to the file named by -out. Begin at
// experiments, the list of what is played; server is what a server of known truth does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/cleave-lab/cleave/internal/figures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := bench
	arguments := os.Args[1:]
	if len(arguments) > 0 {
		switch arguments[0] {
		case "serve":
			run, arguments = serve, arguments[1:]
		case "receive":
			run, arguments = receive, arguments[1:]
		case "watching":
			run, arguments = watching, arguments[1:]
		}
	}
	if err := run(ctx, arguments); err != nil {
		fmt.Fprintln(os.Stderr, "bench-truth:", err)
		os.Exit(1)
	}
}

// bench plays the experiments and publishes what was found.
func bench(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("bench-truth", flag.ContinueOnError)
	out := flags.String("out", "results/bench/truth.json", "`file` for the figures as JSON")
	cleave := flags.String("cleave", "bin/cleave", "the `program` that is held against the truth")
	only := flags.String("only", "", "experiments to play, with commas: "+strings.Join(names(), ", ")+
		" (default: all)")
	rounds := flags.Int("rounds", 1, "how often each is played (equal: ten times as often)")
	quick := flags.Bool("quick", false, "few trials, and all count: to see that all works, not to quote")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which is the servers too: %w", err)
	}
	results, err := os.MkdirTemp("", "cleave-truth-")
	if err != nil {
		return fmt.Errorf("make a folder for results: %w", err)
	}
	defer func() { _ = os.RemoveAll(results) }()
	p := player{cleave: *cleave, server: self, results: results, quick: *quick, story: os.Stderr}
	var found tally
	for _, e := range chosen {
		for round := 1; round <= e.times(*rounds, *quick); round++ {
			if err := e.play(ctx, p, uint64(round), &found); err != nil {
				return fmt.Errorf("%s, round %d: %w", e.name, round, err)
			}
		}
	}
	return figures.Publish(os.Stdout, *out, found.figures())
}

func names() []string {
	var all []string
	for _, e := range experiments() {
		all = append(all, e.name)
	}
	return all
}

// choose returns the experiments of a list of names; all of an empty one.
func choose(list string) ([]experiment, error) {
	if list == "" {
		return experiments(), nil
	}
	var chosen []experiment
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names(), name)
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no %q; there are %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, experiments()[i])
	}
	return chosen, nil
}
