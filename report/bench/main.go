//go:build linux

// Command bench compares the answers of Cleave with the truth about servers whose CPU time
// per request, response times, errors, drift and capacity are known, and about services that
// record spans, whose CPU time, self time and critical path are known. It runs
// `cleave compare`, `cleave bottleneck` and `cleave load` as a user would, and counts which
// intervals contain the truth, which verdicts are wrong, and how often equal servers are
// called different. It also measures the cost of recording spans, and whether the receiver of
// spans keeps its limits. `bench watching` measures the cost of watching a run in the browser.
//
// It prints a table and writes the figures as JSON to the file named by -out. Begin at
// experiments, the list of all experiments, and server, a server of known truth.
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

// bench plays the experiments and publishes their figures.
func bench(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("bench-truth", flag.ContinueOnError)
	out := flags.String("out", "results/bench/truth.json", "`file` for the figures as JSON")
	cleave := flags.String("cleave", "bin/cleave", "the `program` to compare with the truth")
	only := flags.String("only", "", "experiments to play, with commas: "+strings.Join(names(), ", ")+
		" (default: all)")
	rounds := flags.Int("rounds", 1, "how often each is played (equal: ten times as often)")
	quick := flags.Bool("quick", false, "few trials, all of which count: only to test this program")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds is %d: give 1 or more", *rounds)
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
		for round := 1; round <= e.repeats(*rounds, *quick); round++ {
			if err := e.play(ctx, p, uint64(round), &found); err != nil {
				return fmt.Errorf("%s, round %d: %w", e.name, round, err)
			}
		}
	}
	return figures.Publish(os.Stdout, *out, found.figures())
}

// names returns the names of all experiments.
func names() []string {
	var all []string
	for _, e := range experiments() {
		all = append(all, e.name)
	}
	return all
}

// choose returns the experiments of a list of names with commas, or all if the list is empty.
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
