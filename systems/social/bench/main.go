// Command bench compares reading home timelines of social with the least it could cost: over HTTP
// at the monolith against the same documents read by MongoDB's bare driver, or by the client of the
// embedded store, with the same concurrency. And it compares services with the monolith for one
// client that reads one home timeline with cached posts, with the parts that the difference consists of.
//
// All units run in this process, so services pay for calls and their transport, but not for
// switches between processes. Each row is played in rounds; in a round every side runs once, in
// random order. A ratio is the mean of the ratios in the rounds, with its 95 % interval. The command
// prints all figures and writes them as JSON to the file named by -out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/backing/sqlite"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/social/architecture"
)

// settings holds the flags.
type settings struct {
	out                    string
	rounds, reads, clients int
	posts                  int
	seed                   uint64
}

func main() {
	var o settings
	flag.StringVar(&o.out, "out", "results/bench/social.json", "`file` for the figures as JSON")
	flag.IntVar(&o.rounds, "rounds", 6, "rounds; the intervals need at least 2")
	flag.IntVar(&o.reads, "reads", 4000, "home timelines that are read per trial")
	flag.IntVar(&o.clients, "clients", 32, "concurrent clients")
	flag.IntVar(&o.posts, "posts", 500, "posts in the stores")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the order of trials")
	trials.Main("bench-social", func(ctx context.Context) error {
		flag.Parse()
		return bench(ctx, o)
	})
}

// bench plays all rows, prints their figures and writes the file.
func bench(ctx context.Context, o settings) error {
	if o.rounds < 2 || o.reads < 1 || o.clients < 1 || o.posts < 1 {
		return errors.New("give at least 2 -rounds, 1 read, 1 client and 1 post")
	}
	var all []figures.Figure
	for _, store := range []string{architecture.SQLite, architecture.Mongo} {
		rows, err := playStore(ctx, store, o)
		if _, missing := errors.AsType[*lab.MissingError](err); missing {
			fmt.Fprintf(os.Stderr, "%s: skipped: %v\n", store, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s (seed %d): %w", store, o.seed, err)
		}
		all = append(all, rows...)
	}
	return figures.Publish(os.Stdout, o.out, all)
}

// playStore compares the monolith with the bare statements on a store and, on the embedded store, services
// with the monolith.
func playStore(ctx context.Context, store string, o settings) (all []figures.Figure, err error) {
	dir, err := servers.Folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	folder := filepath.Join(dir, "files")
	name := store
	address := sqlite.Address(folder)
	if store == architecture.SQLite {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return nil, err
		}
	} else {
		instance, err := servers.Start(ctx, server.Mongo, filepath.Join(dir, "server"), server.Settings{})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, instance.Stop()) }()
		address = instance.URL()
		name = instance.About()
	}
	w, err := prepare(ctx, o, address, map[string]string{architecture.KnobDocuments: store})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.network.stop()) }()
	statements := w.statements
	if store == architecture.Mongo {
		statements = w.driver
	}
	says := func(rate float64) string { return fmt.Sprintf("%.0f home timelines per second", rate) }
	rounds := figures.Rounds{Count: o.rounds, Seed: o.seed, Story: os.Stderr}
	played, err := figures.Play(ctx, rounds,
		figures.Side[float64]{Name: "monolith on " + name, Play: w.monolith, Says: says},
		figures.Side[float64]{Name: "statements on " + name, Play: statements, Says: says})
	if err != nil {
		return nil, err
	}
	ratio, err := figures.Ratio("monolith / its statements on "+name+", home timelines per second",
		lab.HigherIsBetter, played[0], played[1])
	if err != nil {
		return nil, err
	}
	all = append(all, figures.Median("monolith on "+name, "1/s", lab.HigherIsBetter, played[0]),
		figures.Median("statements on "+name, "1/s", lab.HigherIsBetter, played[1]))
	if store != architecture.SQLite {
		return append(all, ratio.To(figures.Goal{Must: 0.7, Stretch: 0.9})), nil
	}
	all = append(all, ratio) // without a goal: HTTP costs far more than function calls of the embedded store
	split, err := playSplit(ctx, rounds, o, address)
	return append(all, split...), err
}

// playSplit has one client read one home timeline with cached posts from the monolith and from services. It
// returns the median time of each, of its parts, and the ratios.
func playSplit(
	ctx context.Context, rounds figures.Rounds, o settings, address string,
) (all []figures.Figure, err error) {
	var sides []figures.Side[float64]
	says := func(seconds float64) string { return fmt.Sprintf("%.0f us", 1e6*seconds) }
	for _, c := range []struct{ name, architecture, calls string }{
		{"monolith", architecture.Monolith, architecture.GRPC},
		{"services over gRPC", architecture.Services, architecture.GRPC},
		{"services over HTTP", architecture.Services, architecture.HTTP},
	} {
		n, err := start(c.architecture, map[string]string{architecture.KnobCache: architecture.LookAside,
			architecture.KnobCalls: c.calls}, address)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, n.stop()) }()
		sides = append(sides, figures.Side[float64]{Name: c.name + ", p50 of a cached home timeline", Says: says,
			Play: func(ctx context.Context, _ uint64) (float64, error) { return n.median(ctx, o.reads/4) }})
	}
	p, err := openPieces(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for _, one := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"of it: the components themselves, called", p.components},
		{"of that: the store", p.store},
		{"answer of ten posts, to protobuf and back", p.protobuf},
		{"answer of ten posts, to JSON and back", p.json},
	} {
		sides = append(sides, figures.Side[float64]{Name: one.name, Says: says,
			Play: func(ctx context.Context, _ uint64) (float64, error) { return median(ctx, o.reads/4, one.do) }})
	}
	played, err := figures.Play(ctx, rounds, sides...)
	if err != nil {
		return nil, err
	}
	for i, side := range sides {
		all = append(all, figures.Median(side.Name, "s", lab.LowerIsBetter, played[i]))
	}
	for i, calls := range []string{"gRPC", "HTTP"} {
		ratio, err := figures.Ratio("services over "+calls+" / monolith, p50 of a cached home timeline",
			lab.LowerIsBetter, played[i+1], played[0])
		if err != nil {
			return nil, err
		}
		all = append(all, ratio)
	}
	return all, nil
}
