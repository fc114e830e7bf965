// Command bench compares the architectures of Big with each other and with a
// peer by the CPU time and the elapsed time of a round trip (a ping and its
// pong). In each round every contender runs once, in random order, in a fresh
// deployment whose audit must be valid.
//
// It deploys and meters as the conductor does (internal/trials), prints absolute
// costs and the ratios by round with their 95 % intervals, and writes the figures
// as JSON to the file named by -out (internal/figures).
//
// Files: contenders.go has the contenders, trial.go plays one trial, peer.go runs
// the peer written in Rust, figures.go has the ratios.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/trials"
)

// options holds the flags.
type options struct {
	units  string // folder of the unit programs
	peer   string // folder of the peer's source
	out    string
	rounds int
	seed   uint64
	only   string // names of contenders, comma-separated; empty: all
}

func main() {
	var o options
	flag.StringVar(&o.units, "units", "bin/unit", "`folder` of the unit programs")
	flag.StringVar(&o.peer, "peer", "peers/tokio-big", "`folder` of the peer written in Rust")
	flag.StringVar(&o.out, "out", "results/bench/big.json", "`file` for the figures as JSON")
	flag.IntVar(&o.rounds, "rounds", 8, "rounds; the intervals need at least 2")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of order and jobs")
	flag.StringVar(&o.only, "only", "", "comma-separated `names` of the only contenders to run")
	trials.Main("bench-big", func(ctx context.Context) error {
		flag.Parse()
		return bench(ctx, o)
	})
}

// bench plays all rounds, prints the results and writes the file.
func bench(ctx context.Context, o options) error {
	if o.rounds < 2 {
		return fmt.Errorf("-rounds %d: give at least 2, the intervals need them", o.rounds)
	}
	chosen, err := choose(contenders(), o.only)
	if err != nil {
		return err
	}
	sides, missing, err := newSides(ctx, o, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d contenders, %d rounds, seed %d\n", len(sides), o.rounds, o.seed)
	results, err := figures.Play(ctx, figures.Rounds{Count: o.rounds, Seed: o.seed, Story: os.Stderr}, sides...)
	if err != nil {
		return fmt.Errorf("seed %d: %w", o.seed, err)
	}
	measured := costs{}
	for i, side := range sides {
		measured[side.Name] = results[i]
	}
	all, err := derive(measured)
	if err != nil {
		return err
	}
	if missing != nil { // why the peer could not take part
		fmt.Fprintln(os.Stderr, missing)
	}
	return figures.Publish(os.Stdout, o.out, all)
}
