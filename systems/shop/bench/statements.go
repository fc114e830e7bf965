package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
)

// playStatements plays the row "raw" (see rows) on each database of -databases.
func playStatements(ctx context.Context, o options) ([]figures.Figure, error) {
	return onEach(o.drivers, func(driver database.Driver) ([]figures.Figure, error) {
		return againstRaw(ctx, driver, o)
	})
}

// onEach plays on the databases of a list. The error names those that were skipped; the rest has its figures.
func onEach(
	drivers string, play func(database.Driver) ([]figures.Figure, error),
) (all []figures.Figure, skipped error) {
	for name := range strings.SplitSeq(drivers, ",") {
		some, err := play(database.Driver(name))
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		if err != nil && !errors.Is(err, errSkipped) {
			return nil, err
		}
		all = append(all, some...)
		skipped = errors.Join(skipped, err)
	}
	return all, skipped
}

// againstRaw plays all rounds on one kind of database, monolith and statements in
// this process.
func againstRaw(ctx context.Context, driver database.Driver, o options) (all []figures.Figure, err error) {
	place, err := newPlace(ctx, driver)
	if _, missing := errors.AsType[*lab.MissingError](err); missing {
		return nil, fmt.Errorf("%w: %w", errSkipped, err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.close()) }()
	jobs := makeJobs(o.seed, o.orders)
	scripts, err := record(ctx, place, jobs)
	if err != nil {
		return nil, fmt.Errorf("record the statements: %w", err)
	}
	perSecond := func(took time.Duration, err error) (float64, error) {
		return float64(o.orders) / took.Seconds(), err
	}
	says := func(rate float64) string { return fmt.Sprintf("%s %.0f orders/s", driver, rate) }
	results, err := figures.Play(ctx, o.figureRounds(),
		figures.Side[float64]{Name: "monolith", Says: says,
			Play: func(ctx context.Context, _ uint64) (float64, error) {
				return perSecond(playMonolith(ctx, place, jobs, o))
			}},
		figures.Side[float64]{Name: "raw", Says: says, Play: func(ctx context.Context, _ uint64) (float64, error) {
			return perSecond(playRaw(ctx, place, scripts, o))
		}},
	)
	if err != nil {
		return nil, err
	}
	ratio, err := figures.Ratio(fmt.Sprintf("monolith / raw statements, %s", driver), lab.HigherIsBetter,
		results[0], results[1])
	return []figures.Figure{
		figures.Median("monolith over HTTP, "+string(driver), "orders/s", lab.HigherIsBetter, results[0]),
		figures.Median("the same statements raw, "+string(driver), "orders/s", lab.HigherIsBetter, results[1]),
		ratio.To(figures.Goal{Must: 0.7, Stretch: 0.9}),
	}, err
}
