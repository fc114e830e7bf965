// Command bench measures the cost of the designs of the shop, each against a baseline: the monolith against
// the same SQL statements replayed by the bare driver, our bindings against net/http and grpc-go with the
// same messages, services against the monolith, events against calls. Only comparisons of tuned variants have
// goals.
//
// In each round every side runs once, in random order; a ratio is that of the rounds, with its 95 % interval.
// Every shop's databases are audited after every trial. The command prints all figures and writes them as
// JSON to the file named by -out. A row whose server is missing here is left out, with the reason.
//
// Files: main.go lists the rows; statements.go, calls.go, security.go, encoding.go, inprocess.go, capacity.go
// and spans.go play them; the other files hold what they share.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/unit"
)

// First arguments with which this program starts itself: as the clients of a deployed shop, or for a trial of
// a binding. See also trials.Part.
const (
	clientsName = "clients"
	callsName   = "calls"
)

// options are the settings of a run.
type options struct {
	rows        string
	drivers     string
	units       string // folder of the unit programs
	out         string
	rounds      int
	orders      int
	calls       int
	connections int
	clients     int
	seed        uint64
}

// figureRounds returns the number and the order of the rounds.
func (o options) figureRounds() figures.Rounds {
	return figures.Rounds{Count: o.rounds, Seed: o.seed, Story: os.Stderr}
}

// row is one comparison.
type row struct {
	name, about string
	play        func(ctx context.Context, o options) ([]figures.Figure, error)
}

// rows returns all comparisons.
func rows() []row {
	return []row{
		{"raw", "monolith / the same statements replayed raw, each database of -databases", playStatements},
		{"http", "our HTTP+JSON binding / net/http with encoding/json, CPU per call", playHTTP},
		{"grpc", "our gRPC binding / grpc-go, CPU per call", playGRPC},
		{"security", "calls without protection, over TLS and over mutual TLS, kept connections and new ones",
			playSecurity},
		{"encoding", "calls in JSON, Protocol Buffers and MessagePack, CPU and bytes per call", playEncodings},
		{"inprocess", "a call within a process", playInProcess},
		{"sync", "sync-grpc-tuned and sync-grpc / monolith, final orders per second on MariaDB", playSync},
		{"async", "async-tuned / sync-tuned and async / sync, final orders per second on MariaDB and RabbitMQ",
			playAsync},
		{"spans", "orders with spans / without, CPU per order, each architecture on embedded services", playSpans},
	}
}

// errSkipped is the error of a row that cannot be played on this host.
var errSkipped = errors.New("skipped")

func main() {
	trials.Main("bench-shop", func(ctx context.Context) error { return bench(ctx, parse(os.Args[1:])) }, part)
}

// part returns the work of a process that this program has started itself; nil if a user has started it.
func part(args []string) func() error {
	switch {
	case len(args) == 2 && args[0] == clientsName:
		return func() error { return runClients(unit.NewChannel(os.Stdin, os.Stdout), args[1]) }
	case len(args) == 2 && args[0] == callsName:
		return func() error { return runCalls(args[1]) }
	}
	return nil
}

// parse reads the flags.
func parse(args []string) (o options) {
	flags := flag.NewFlagSet("bench-shop", flag.ExitOnError)
	flags.StringVar(&o.rows, "rows", rowNames(), "comma-separated `names` of the rows to play")
	flags.StringVar(&o.drivers, "databases", "sqlite,mariadb,postgres",
		"comma-separated `names`, for the row raw")
	flags.StringVar(&o.units, "units", "bin/unit", "`folder` of the unit programs")
	flags.StringVar(&o.out, "out", "results/bench/shop.json", "`file` for the figures as JSON")
	flags.IntVar(&o.rounds, "rounds", 6, "rounds; the intervals need at least 2")
	flags.IntVar(&o.orders, "orders", 4000, "orders per trial")
	flags.IntVar(&o.calls, "calls", 40_000, "calls per trial of a binding")
	flags.IntVar(&o.connections, "connections", 16, "connections to the database, on both sides of the row raw")
	flags.IntVar(&o.clients, "clients", 32, "clients that order at the same time, each with a connection")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of orders and of the order of trials")
	_ = flags.Parse(args) // it exits on errors
	return o
}

// bench plays the chosen rows, prints their figures and writes the file.
func bench(ctx context.Context, o options) error {
	if o.rounds < 2 || o.orders < 1 || o.calls < 1 || o.connections < 1 || o.clients < 1 {
		return errors.New("give at least 2 -rounds, 1 order, 1 call, 1 connection and 1 client")
	}
	chosen, err := choose(o.rows)
	if err != nil {
		return err
	}
	var all []figures.Figure
	for _, r := range chosen {
		fmt.Fprintf(os.Stderr, "%s: %s\n", r.name, r.about)
		some, err := r.play(ctx, o)
		switch {
		case errors.Is(err, errSkipped):
			fmt.Fprintf(os.Stderr, "%s: %v\n", r.name, err)
		case err != nil:
			return fmt.Errorf("row %s (seed %d): %w", r.name, o.seed, err)
		}
		all = append(all, some...)
	}
	return figures.Publish(os.Stdout, o.out, all)
}

// rowNames returns the names of all rows, comma-separated.
func rowNames() string {
	var names []string
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return strings.Join(names, ",")
}

// choose returns the rows of these names.
func choose(names string) ([]row, error) {
	var chosen []row
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(rows(), func(r row) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q: give some of %s", name, rowNames())
		}
		chosen = append(chosen, rows()[i])
	}
	return chosen, nil
}
