// Command bench says how much of a database's speed the monolith leaves to its
// orders: completed orders per second over HTTP, against the same SQL statements
// replayed straight at the same kind of database by the bare driver, with the same
// connections. Both run in rounds, in random order, each on a fresh database of a
// private server; every monolith's databases are audited.
//
// It prints absolute rates and the ratio by round with its 95 % interval, and
// writes the figures as JSON to the file named by -out. Files: monolith.go and
// raw.go play the two sides, record.go learns the statements, client.go sends
// orders, place.go makes databases, figures.go adds up.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
)

// options are the settings of a run.
type options struct {
	drivers     string
	out         string
	rounds      int
	orders      int
	connections int
	clients     int
	seed        uint64
}

func main() {
	var o options
	flag.StringVar(&o.drivers, "databases", "sqlite,mariadb,postgres", "comma-separated `names`")
	flag.StringVar(&o.out, "out", "results/bench/shop.json", "`file` for the figures as JSON")
	flag.IntVar(&o.rounds, "rounds", 6, "rounds; the intervals need at least 2")
	flag.IntVar(&o.orders, "orders", 4000, "orders per trial")
	flag.IntVar(&o.connections, "connections", 16, "to the database, on both sides")
	flag.IntVar(&o.clients, "clients", 32, "who order at the same time, each with a connection")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of orders and of the order of trials")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-shop:", err)
		os.Exit(1)
	}
}

// bench measures one database after the other.
func bench(ctx context.Context, o options) error {
	if o.rounds < 2 || o.orders < 1 || o.connections < 1 || o.clients < 1 {
		return errors.New("give at least 2 -rounds, 1 order, 1 connection and 1 client")
	}
	var all []figure
	for name := range strings.SplitSeq(o.drivers, ",") {
		rates, err := measure(ctx, database.Driver(name), o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		figures, err := derive(name, rates)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, figures...)
	}
	printFigures(os.Stdout, all)
	return writeFigures(o.out, all)
}

// rates are completed orders per second, one per round.
type rates struct{ monolith, raw []float64 }

// measure plays all rounds on one kind of database.
func measure(ctx context.Context, driver database.Driver, o options) (r rates, err error) {
	place, err := newPlace(ctx, driver)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, place.close()) }()
	random := rand.New(rand.NewPCG(o.seed, 0))
	jobs := makeJobs(random, o.orders)
	scripts, err := record(ctx, place, jobs)
	if err != nil {
		return r, fmt.Errorf("record the statements: %w", err)
	}
	sides := []struct {
		name string
		into *[]float64
		play func() (time.Duration, error)
	}{
		{"monolith", &r.monolith, func() (time.Duration, error) { return playMonolith(ctx, place, jobs, o) }},
		{"raw", &r.raw, func() (time.Duration, error) { return playRaw(ctx, place, scripts, o) }},
	}
	for round := 1; round <= o.rounds; round++ {
		for _, at := range random.Perm(len(sides)) {
			side := sides[at]
			took, err := side.play()
			if err != nil {
				return r, fmt.Errorf("round %d (seed %d), %s: %w", round, o.seed, side.name, err)
			}
			*side.into = append(*side.into, float64(o.orders)/took.Seconds())
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s %.0f orders/s\n", driver, round, o.rounds, side.name, float64(o.orders)/took.Seconds())
		}
	}
	return r, nil
}
