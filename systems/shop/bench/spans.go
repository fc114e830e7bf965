package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// The goals for the share of the CPU of an order that spans take.
const (
	mostForSpans  = 0.03
	idealForSpans = 0.01
)

// playSpans says what the traces of orders cost: CPU per order with the share that
// is traced by default, and with every order traced, against none.
func playSpans(ctx context.Context, o options) ([]figure, error) {
	var all []figure
	for _, name := range []string{architecture.Monolith, architecture.Sync, architecture.Async} {
		figures, err := playSpansOf(ctx, o, name)
		if err != nil {
			return all, err
		}
		all = append(all, figures...)
	}
	return all, nil
}

// playSpansOf plays one architecture on embedded services, where nothing but the
// shop's own processes uses the processors.
func playSpansOf(ctx context.Context, o options, name string) (figures []figure, err error) {
	design, err := architecture.New(name, nil)
	if err != nil {
		return nil, err
	}
	f, err := newFleet(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	var sides []side[saturated]
	for _, spans := range []string{"off", "on", "1"} {
		s := f.side(lab.Variant{Architecture: name, Knobs: map[string]string{architecture.KnobSpans: spans}})
		s.name = fmt.Sprintf("%s, spans %s", name, spans)
		sides = append(sides, s)
	}
	results, err := playRounds(ctx, o, sides...)
	if err != nil {
		return nil, err
	}
	off, on, every := each(results[0], saturated.system), each(results[1], saturated.system), each(results[2], saturated.system)
	lower := goals{better: lab.LowerIsBetter}
	usual, err := lower.ratio(name+" with / without spans, CPU per order", on, off)
	if err != nil {
		return nil, err
	}
	worst, err := lower.ratio(name+" with every order traced / without spans, CPU per order", every, off)
	return []figure{plain(name+" without spans, CPU per order", "s", lab.LowerIsBetter, off), usual, worst, taken(name, worst, design.Spans)}, err
}

// taken is the share of the CPU of an order that spans take when some orders are
// traced, from what they take when all are: that is so much more that it stands out
// from what differs from trial to trial.
func taken(name string, every figure, share float64) figure {
	of := func(ratio float64) float64 { return (ratio - 1) * share }
	return goals{must: mostForSpans, stretch: idealForSpans, better: lab.LowerIsBetter}.of(figure{
		Figure: fmt.Sprintf("%s, share of CPU for spans of 1 order in %.0f", name, 1/share),
		Value:  of(every.Value), Low: of(every.Low), High: of(every.High), Unit: "1", N: every.N, Better: lab.LowerIsBetter,
	})
}
