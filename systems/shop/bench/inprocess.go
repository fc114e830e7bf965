package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/catalog"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// inside is the cost of calls within a process, per call.
type inside struct{ seconds, allocations float64 }

// playInProcess measures calls between components in one process: through the interface, compared with a
// direct call of the method.
func playInProcess(ctx context.Context, o options) ([]figures.Figure, error) {
	if err := nothingBetween(ctx); err != nil {
		return nil, err
	}
	idle := &idle{answer: &shoppb.QuoteResponse{}}
	in := &shoppb.QuoteRequest{}
	calls := 1000 * o.calls
	says := func(c inside) string {
		return fmt.Sprintf("%.2f ns, %.3g allocations", 1e9*c.seconds, c.allocations)
	}
	results, err := figures.Play(ctx, o.figureRounds(),
		figures.Side[inside]{Name: "in-process binding", Says: says,
			Play: func(ctx context.Context, _ uint64) (inside, error) {
				return throughBinding(ctx, idle, in, calls)
			}},
		figures.Side[inside]{Name: "direct call", Says: says,
			Play: func(ctx context.Context, _ uint64) (inside, error) {
				return direct(ctx, idle, in, calls)
			}})
	if err != nil {
		return nil, err
	}
	seconds := func(c inside) float64 { return c.seconds }
	directCall := figures.Median("direct call, CPU", "s", lab.LowerIsBetter, figures.Each(results[1], seconds))
	return []figures.Figure{
		directCall,
		figures.Median("in-process binding, CPU per call", "s", lab.LowerIsBetter,
			figures.Each(results[0], seconds)).
			To(figures.Goal{Must: 50e-9, Stretch: directCall.High}),
		figures.Median("in-process binding, allocations per call", "1", lab.LowerIsBetter,
			figures.Each(results[0], func(c inside) float64 { return c.allocations })).
			To(figures.Goal{}), // none
	}, nil
}

// nothingBetween returns an error unless a monolith's components call each other directly.
func nothingBetween(ctx context.Context) (err error) {
	place, err := newPlace(ctx, database.SQLite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.close()) }()
	config, err := place.fresh(ctx)
	if err != nil {
		return err
	}
	db, err := database.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	monolith, err := assembly.Monolith(db)
	if _, itself := monolith.Catalog.(*catalog.Catalog); err == nil && !itself {
		err = fmt.Errorf("a monolith's catalog is a %T: something is between, which this row does not measure",
			monolith.Catalog)
	}
	return err
}

// idle is a component that does nothing.
type idle struct {
	shop.Catalog
	answer *shoppb.QuoteResponse
}

// Quote implements shop.Catalog.
//
//go:noinline
func (c *idle) Quote(context.Context, *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	return c.answer, nil
}

// throughBinding measures calls through the interface, as components call each other.
func throughBinding(
	ctx context.Context, component shop.Catalog, in *shoppb.QuoteRequest, calls int,
) (inside, error) {
	return measureInside(calls, func() (err error) {
		for range calls {
			if _, err = component.Quote(ctx, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// direct measures the same calls of the concrete type, which the compiler makes without an interface.
func direct(ctx context.Context, component *idle, in *shoppb.QuoteRequest, calls int) (inside, error) {
	return measureInside(calls, func() (err error) {
		for range calls {
			if _, err = component.Quote(ctx, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// measureInside times a loop of calls and counts what it allocates per call: whole
// allocations, since the runtime itself makes a few in so many calls.
func measureInside(calls int, loop func() error) (inside, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	used := figures.OwnCPU() // not the clock, which includes the time of other processes
	err := loop()
	took := (figures.OwnCPU() - used).Seconds()
	runtime.ReadMemStats(&after)
	return inside{seconds: took / float64(calls),
		allocations: float64((after.Mallocs - before.Mallocs) / uint64(calls))}, err
}
