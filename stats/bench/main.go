// Command bench simulates experiments whose truth is known, and counts how often the
// verdicts of Cleave are wrong, and how soon they are right. It simulates the trials of
// randomised blocks on a host that drifts, steps and stalls (see scenes).
//
// It prints a table and writes the figures as JSON to the file named by -out. It
// measures no time: the same seed gives the same figures on every machine.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/stats"
)

// firstLook and mostBlocks are the first and the last number of blocks after which a sequential experiment
// looks. mostBlocks is also the number of blocks of every simulated experiment.
const (
	firstLook  = 3
	mostBlocks = 12
)

func main() {
	out := flag.String("out", "results/bench/stats.json", "`file` for the figures as JSON")
	experiments := flag.Int("experiments", 4000, "number of experiments per scene")
	seed := flag.Uint64("seed", 1, "seed of the random numbers")
	flag.Parse()
	if err := bench(*out, *experiments, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "bench-stats:", err)
		os.Exit(1)
	}
}

// bench plays all scenes, and a tenth as many experiments for steadiness, and publishes the figures.
func bench(out string, experiments int, seed uint64) error {
	if experiments < 20 {
		return fmt.Errorf("-experiments is %d: give 20 or more: a tenth is for steadiness, and an interval "+
			"needs 2", experiments)
	}
	var all []figures.Figure
	for _, s := range append(scenes(), noisyBaseline()) {
		tables := played(s, experiments, seed)
		for _, measure := range []func(scene, []stats.Table) ([]figures.Figure, error){completeDesigns,
			incompleteDesigns} {
			rows, err := measure(s, tables)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all = append(all, rows...)
		}
	}
	rows, err := steadiness(experiments/10, seed)
	if err != nil {
		return err
	}
	return figures.Publish(os.Stdout, out, append(all, rows...))
}

// played returns the tables of simulated experiments, each from its own seed.
func played(s scene, experiments int, seed uint64) []stats.Table {
	all := make([]stats.Table, experiments)
	for i := range all {
		all[i] = s.play(rand.New(rand.NewPCG(seed, uint64(i))))
	}
	return all
}

// each calls f with the index of each of n experiments, on all processors, and returns the first error.
func each(n int, f func(i int) error) error {
	failed := make([]error, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for w := range failed {
		workers.Go(func() {
			for i := w; i < n && failed[w] == nil; i += len(failed) {
				failed[w] = f(i)
			}
		})
	}
	workers.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
