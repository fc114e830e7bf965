// Command bench measures the overhead of people over its database: clients create and fetch persons over HTTP
// at the monolith, with net/http in front and with our own binding; the baseline runs the same statements
// with the same concurrency and no HTTP: by the store's client on SQLite, and by Apache's driver alone on
// Cassandra, if that is installed. It also measures the cost of sealing a profile.
//
// In each round every side runs once, in random order. A ratio is the mean of the ratios in the rounds, with
// its 95 % interval. Warm-up rounds, which do not count, precede them: the JVM of Cassandra compiles
// meanwhile. The command prints all figures and writes them as JSON to the file named by -out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/backing/sqlite"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/seal"
)

// options are the settings of a run.
type options struct {
	out, only                        string
	warmUp, rounds, records, clients int
	seed                             uint64
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "results/bench/people.json", "`file` for the figures as JSON")
	flag.StringVar(&o.only, "only", "", "the only `store` to play; empty: all")
	flag.IntVar(&o.warmUp, "warmup", 10, "rounds of each store before those that count")
	flag.IntVar(&o.rounds, "rounds", 100, "rounds; the intervals need at least 2")
	flag.IntVar(&o.records, "records", 3000, "persons that are created and fetched per trial")
	flag.IntVar(&o.clients, "clients", 32, "concurrent clients")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the order of trials")
	trials.Main("bench-people", func(ctx context.Context) error {
		flag.Parse()
		return bench(ctx, o)
	})
}

// bench measures sealing and each store, prints the figures and writes the file.
func bench(ctx context.Context, o options) error {
	if o.warmUp < 0 || o.rounds < 2 || o.records < 1 || o.clients < 1 {
		return errors.New("give at least 2 -rounds, 1 record and 1 client, and no negative -warmup")
	}
	stores := []string{architecture.SQLite, architecture.Cassandra}
	if o.only != "" && !slices.Contains(stores, o.only) {
		return fmt.Errorf("there is no store %q for -only; there are: %s", o.only, strings.Join(stores, ", "))
	}
	all, err := playSeal()
	if err != nil {
		return err
	}
	for _, store := range stores {
		if o.only != "" && o.only != store {
			continue
		}
		some, err := playStore(ctx, store, o)
		if _, missing := errors.AsType[*lab.MissingError](err); missing {
			fmt.Fprintf(os.Stderr, "%s: skipped: %v\n", store, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s (seed %d): %w", store, o.seed, err)
		}
		all = append(all, some...)
	}
	return figures.Publish(os.Stdout, o.out, all)
}

// sealRounds is the number of measurements of a mode, each of a second. Nothing else runs, so few are enough.
const sealRounds = 8

// playSeal measures the time of hashing and encrypting a profile.
func playSeal() ([]figures.Figure, error) {
	about := []byte("profiles 0123456789abcdef")
	text := []byte(strings.Repeat("a property of thirty-two bytes, ", len(people.Profiles.Properties())))
	var all []figures.Figure
	for _, mode := range []string{seal.GCM, seal.ECB} {
		sealer, err := seal.New(mode, make([]byte, seal.KeySize))
		if err != nil {
			return nil, err
		}
		var seconds []float64
		for range sealRounds {
			result := testing.Benchmark(func(b *testing.B) {
				for b.Loop() {
					sealer.Seal(about, text)
				}
			})
			seconds = append(seconds, result.T.Seconds()/float64(result.N))
		}
		figure := figures.Median("seal a profile of 320 bytes, "+mode, "s", lab.LowerIsBetter, seconds)
		if mode == seal.GCM {
			figure = figure.To(figures.Goal{Must: 3e-6, Stretch: 1.5e-6})
		}
		all = append(all, figure)
	}
	return all, nil
}

// playStore compares the monolith with its statements alone, over one store.
func playStore(ctx context.Context, store string, o options) (all []figures.Figure, err error) {
	dir, err := servers.Folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	address := sqlite.Address(filepath.Join(dir, "files"))
	if store != architecture.SQLite {
		instance, failed := servers.Start(ctx, server.Kind(store), filepath.Join(dir, "server"), server.Settings{})
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, instance.Stop()) }()
		address = instance.URL()
	}
	w := work{options: o, address: address}
	statements := w.statements
	if store == architecture.Cassandra {
		statements = w.driver
	}
	says := func(m measure) string { return fmt.Sprintf("%.0f requests per second", m.rate) }
	stock, lean := "monolith on "+store, "monolith with a lean front on "+store
	played, err := figures.Play(ctx, figures.Rounds{Count: o.warmUp + o.rounds, Seed: o.seed, Story: os.Stderr},
		figures.Side[measure]{Name: stock, Play: w.stock, Says: says},
		figures.Side[measure]{Name: lean, Play: w.lean, Says: says},
		figures.Side[measure]{Name: "statements on " + store, Play: statements, Says: says})
	if err != nil {
		return nil, err
	}
	rates := make([][]float64, len(played))
	for i, name := range []string{stock, lean, "statements on " + store} {
		var cpu []float64
		for _, m := range played[i][o.warmUp:] {
			rates[i] = append(rates[i], m.rate)
			cpu = append(cpu, m.cpu)
		}
		all = append(all, figures.Median(name, "1/s", lab.HigherIsBetter, rates[i]),
			figures.Median(name+", processor time per request", "s", lab.LowerIsBetter, cpu))
	}
	for i, name := range []string{stock, lean} {
		ratio, err := figures.Ratio(name+" / its statements, requests per second", lab.HigherIsBetter, rates[i],
			rates[2])
		if err != nil {
			return nil, err
		}
		if name == lean { // the goal is not one for net/http
			ratio = ratio.To(figures.Goal{Must: 0.8, Stretch: 0.9})
		}
		all = append(all, ratio)
	}
	return all, nil
}
