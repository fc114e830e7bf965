// Command bench compares the architectures of Big with each other and with a
// peer: what a round trip (a ping and its pong) costs in CPU time and in elapsed
// time, in rounds in which every contender runs once, in random order, each in a
// fresh deployment whose audit must be valid.
//
// It deploys and meters exactly as the conductor does (deploy/process, meter),
// prints absolute costs and the ratios by round with their 95 % intervals, and
// writes the figures as JSON to the file named by -out. It judges nothing else:
// studies and claims are the matter of cleave itself.
//
// Files: contenders.go says what runs, trial.go plays one trial, peer.go the
// peer written in Rust, figures.go says which ratios are asked for, report.go
// prints and writes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/cleave-lab/cleave/deploy/process"
)

// janitorName makes this program the janitor of a deployment; see deploy/process.
const janitorName = "janitor"

// options are the settings of a run.
type options struct {
	unit   string // path of cleave-unit
	peer   string // folder of the peer's source
	out    string
	rounds int
	seed   uint64
	only   string // names of contenders, comma-separated; empty: all
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == janitorName {
		exitOn(process.Janitor(os.Stdin, os.Args[2]))
		return
	}
	var o options
	flag.StringVar(&o.unit, "unit", "bin/cleave-unit", "`path` of cleave-unit")
	flag.StringVar(&o.peer, "peer", "peers/tokio-big", "`folder` of the peer written in Rust")
	flag.StringVar(&o.out, "out", "results/bench/big.json", "`file` for the figures as JSON")
	flag.IntVar(&o.rounds, "rounds", 8, "rounds; the intervals need at least 2")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of order and jobs")
	flag.StringVar(&o.only, "only", "", "comma-separated `names` of the only contenders to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exitOn(bench(ctx, o))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-big:", err)
		os.Exit(1)
	}
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
	players, missing, err := newPlayers(ctx, o, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d contenders, %d rounds, seed %d\n", len(players), o.rounds, o.seed)
	costs, err := play(ctx, players, o)
	if err != nil {
		return err
	}
	figures, err := derive(costs)
	if err != nil {
		return err
	}
	printReport(os.Stdout, costs, figures, missing)
	return writeFigures(o.out, figures)
}

// play runs every player once per round and returns their costs by name, one
// per round.
func play(ctx context.Context, players []player, o options) (costs, error) {
	random := rand.New(rand.NewPCG(o.seed, 0))
	results := costs{}
	for round := 1; round <= o.rounds; round++ {
		began := time.Now()
		for _, at := range random.Perm(len(players)) {
			p := players[at]
			measured, err := p.play(ctx, random.Uint64())
			if err != nil {
				return nil, errors.Join(fmt.Errorf("round %d (seed %d): %s: %w", round, o.seed, p.contender, err), ctx.Err())
			}
			results.add(p.contender, measured)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d took %.0f s\n", round, o.rounds, time.Since(began).Seconds())
	}
	return results, nil
}
