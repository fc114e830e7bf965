//go:build linux

// Command bench measures the errors of predictions and rehearsals of placements. It makes a model of a system
// in one placement and measures a call between two units that do next to nothing. From both it predicts other
// placements of the system's components; then it measures these at three rates and at their capacity. It
// prints the errors of the predictions, how many of their intervals hold the truth, and which of them `cleave
// predict` would withhold. The systems are a list: subjects.
//
// It plays through the program cleave, as a user would. Each system has a time limit (subject.within); when
// it is over, bench prints the table of what it has by then. Begin at bench.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/predict"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-predict:", err)
		os.Exit(1)
	}
}

// effort is the number and the length of trials.
type effort struct {
	blocks    int
	seconds   int      // of each load
	rehearsed int      // how many of the targets of a subject are rehearsed
	gates     []string // options of cleave on the gates of loads; none: loads must pass them
}

// chosen returns the subjects of systems, or all subjects if systems is empty, and the effort for them.
func chosen(systems string, long bool) (all []subject, how effort, err error) {
	how = effort{blocks: 3, seconds: 2, rehearsed: 3, gates: []string{"--no-gates"}}
	if long {
		how = effort{blocks: 8, seconds: 4, rehearsed: 12}
	}
	known := map[string]bool{}
	for _, s := range subjects() {
		known[s.system] = true
		if systems != "" && !slices.Contains(strings.Split(systems, ","), s.system) {
			continue
		}
		if long {
			s.within *= 3
		}
		all = append(all, s)
	}
	for system := range strings.SplitSeq(systems, ",") {
		if systems != "" && !known[system] {
			return nil, how, fmt.Errorf("there is no system %q for -systems; there are: %s", system,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return all, how, nil
}

// bench plays, predicts and prints.
func bench(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("bench-predict", flag.ContinueOnError)
	out := flags.String("out", "results/bench/placements.json", "`file` for the figures as JSON")
	cleave := flags.String("cleave", "bin/cleave", "the `program` that plays")
	long := flags.Bool("long", false, "longer loads, more of them, and gates that they must pass (6 hours)")
	results := flags.String("results", "", "the `folder` that keeps what is measured; what it has by the "+
		"same commands is not measured again, and its rates are kept (default: a temporary one)")
	systems := flags.String("systems", "", "the `systems` to play, as in shop,people (default: all)")
	pastFile := flags.String("past", "", "the `file` to write with the errors of these predictions and the "+
		"known ones of the systems that are not played: predict/past.json, from which cleave predict learns")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	all, how, err := chosen(*systems, *long)
	if err != nil {
		return err
	}
	if *results == "" {
		if *results, err = os.MkdirTemp("", "cleave-placements-"); err != nil {
			return fmt.Errorf("make a folder for results: %w", err)
		}
		defer func() { _ = os.RemoveAll(*results) }()
	}
	var rows []row
	complete := true
	for _, s := range all {
		p := player{subject: s, effort: how, cleave: *cleave, results: filepath.Join(*results, s.name()),
			began: time.Now()}
		played, err := p.play(ctx)
		rows = append(rows, played...)
		if err != nil {
			complete = false
			fmt.Fprintf(os.Stderr, "bench-predict: the table of %s is not complete: %v\n", s.name(), err)
		}
	}
	if len(rows) == 0 {
		return errors.New("nothing was measured")
	}
	past, err := pastWith(rows)
	if err != nil {
		return err
	}
	switch {
	case *pastFile == "":
	case !complete || ctx.Err() != nil:
		err = fmt.Errorf("%s stays as it was: not all that was to be measured is known", *pastFile)
	default:
		err = writePast(*pastFile, past)
	}
	return errors.Join(ctx.Err(), err, publish(os.Stdout, *out, rows, past))
}

// pastWith returns the known past predictions, with those of rows in place of the known ones of their
// systems.
func pastWith(rows []row) (predict.Past, error) {
	known, err := predict.KnownPast()
	for _, r := range rows {
		known = known.Without(r.of.system)
	}
	return append(known, pastPredictions(rows)...), err
}

// writePast writes a line for each placement at a rate.
func writePast(path string, past predict.Past) error {
	var lines []string
	for _, m := range past {
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	return os.WriteFile(path, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o600)
}
