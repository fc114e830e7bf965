package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// playSpans measures the cost of tracing orders: CPU per order with the default share of traced orders, and
// with every order traced, against none.
func playSpans(ctx context.Context, o options) ([]figures.Figure, error) {
	var all []figures.Figure
	for _, name := range []string{architecture.Monolith, architecture.Sync, architecture.Async} {
		some, err := playSpansOf(ctx, o, name)
		if err != nil {
			return all, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// playSpansOf plays one architecture on embedded services, where nothing but the
// shop's own processes uses the processors.
func playSpansOf(ctx context.Context, o options, name string) (all []figures.Figure, err error) {
	design, err := architecture.New(name, nil)
	if err != nil {
		return nil, err
	}
	f, err := newFleet(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	var sides []figures.Side[saturated]
	for _, spans := range []string{"off", "on", "1"} {
		s := f.side(lab.Variant{Architecture: name, Knobs: map[string]string{kit.KnobSpans: spans}})
		s.Name = fmt.Sprintf("%s, spans %s", name, spans)
		sides = append(sides, s)
	}
	results, err := figures.Play(ctx, o.figureRounds(), sides...)
	if err != nil {
		return nil, err
	}
	off := figures.Each(results[0], saturated.system)
	on := figures.Each(results[1], saturated.system)
	every := figures.Each(results[2], saturated.system)
	usual, err := figures.Ratio(name+" with / without spans, CPU per order", lab.LowerIsBetter, on, off)
	if err != nil {
		return nil, err
	}
	worst, err := figures.Ratio(name+" with every order traced / without spans, CPU per order",
		lab.LowerIsBetter, every, off)
	return []figures.Figure{
		figures.Median(name+" without spans, CPU per order", "s", lab.LowerIsBetter, off),
		usual, worst, taken(name, worst, design.Spans),
	}, err
}

// taken returns the share of an order's CPU for spans if only some orders are traced. It is derived from the
// cost with every order traced, since that stands out from the noise between trials.
func taken(name string, every figures.Figure, share float64) figures.Figure {
	of := func(ratio float64) float64 { return (ratio - 1) * share }
	return figures.Figure{
		Figure: fmt.Sprintf("%s, share of CPU for spans of 1 order in %.0f", name, 1/share),
		Value:  of(every.Value), Low: of(every.Low), High: of(every.High), Unit: "1", N: every.N,
		Better: lab.LowerIsBetter,
	}.To(figures.Goal{Must: 0.03, Stretch: 0.01})
}
