package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// Capacity is taken as the throughput of a closed loop that saturates the host:
// so many clients order at once, each as soon as its last order was answered. Its
// clock stops when every order is final, in every architecture alike.

// playSync compares synchronous services with the monolith.
func playSync(ctx context.Context, o options) ([]figures.Figure, error) {
	knobs := map[string]string{architecture.KnobDatabase: "mariadb"}
	monolith := lab.Variant{Architecture: architecture.Monolith, Knobs: knobs}
	return playCapacity(ctx, o,
		contest{lab.Variant{Architecture: architecture.SyncGRPCTuned, Knobs: knobs}, monolith,
			figures.Goal{Must: 0.6, Stretch: 0.8}},
		contest{variant: lab.Variant{Architecture: architecture.SyncGRPC, Knobs: knobs}, baseline: monolith})
}

// playAsync compares events with calls.
func playAsync(ctx context.Context, o options) ([]figures.Figure, error) {
	knobs := map[string]string{architecture.KnobDatabase: "mariadb"}
	withBroker := map[string]string{architecture.KnobDatabase: "mariadb",
		architecture.KnobBroker: architecture.BrokerQuorum}
	return playCapacity(ctx, o,
		contest{lab.Variant{Architecture: architecture.AsyncTuned, Knobs: withBroker},
			lab.Variant{Architecture: architecture.SyncTuned, Knobs: knobs}, figures.Goal{Must: 0.4, Stretch: 0.8}},
		contest{variant: lab.Variant{Architecture: architecture.Async, Knobs: withBroker},
			baseline: lab.Variant{Architecture: architecture.Sync, Knobs: knobs}})
}

// contest holds the two sides of a comparison. Only those of tuned variants have a goal.
type contest struct {
	variant, baseline lab.Variant
	goal              figures.Goal
}

// playCapacity saturates all variants in turn.
func playCapacity(ctx context.Context, o options, contests ...contest) (all []figures.Figure, err error) {
	f, err := newFleet(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	var sides []figures.Side[saturated]
	var lacking []error
	number := map[string]int{} // of a side, by its architecture
	for _, c := range contests {
		for _, v := range []lab.Variant{c.variant, c.baseline} {
			if _, known := number[v.Architecture]; !known {
				number[v.Architecture] = len(sides)
				sides = append(sides, f.side(v))
				lacking = append(lacking, f.missing(v))
			}
		}
	}
	if err := errors.Join(lacking...); err != nil {
		return nil, fmt.Errorf("%w: %w", errSkipped, err)
	}
	results, err := figures.Play(ctx, o.figureRounds(), sides...)
	if err != nil {
		return nil, err
	}
	for i, side := range sides {
		all = append(all, describe(side.Name, results[i])...)
	}
	for _, c := range contests {
		ratios, err := c.ratios(results[number[c.variant.Architecture]], results[number[c.baseline.Architecture]])
		if err != nil {
			return nil, err
		}
		all = append(all, ratios...)
	}
	return all, nil
}

// ratios returns the ratios of rates and of CPU per order.
func (c contest) ratios(variant, baseline []saturated) ([]figures.Figure, error) {
	name := c.variant.Architecture + " / " + c.baseline.Architecture
	perSecond := func(s saturated) float64 { return s.Rate }
	rate, err := figures.Ratio(name+", final orders per second", lab.HigherIsBetter,
		figures.Each(variant, perSecond), figures.Each(baseline, perSecond))
	if err != nil {
		return nil, err
	}
	if c.goal != (figures.Goal{}) {
		rate = rate.To(c.goal)
	}
	cpu, err := figures.Ratio(name+", CPU per order", lab.LowerIsBetter, figures.Each(variant, saturated.system),
		figures.Each(baseline, saturated.system))
	return []figures.Figure{rate, cpu}, err
}

// side returns a variant as a side of a row.
func (f *fleet) side(v lab.Variant) figures.Side[saturated] {
	return figures.Side[saturated]{
		Name: v.Architecture, Says: saturated.String,
		Play: func(ctx context.Context, _ uint64) (saturated, error) { return f.play(ctx, v) },
	}
}

// describe returns the figures of one variant by itself.
func describe(name string, trials []saturated) []figures.Figure {
	number := func(what, unit string, better lab.Direction, of func(saturated) float64) figures.Figure {
		return figures.Median(name+", "+what, unit, better, figures.Each(trials, of))
	}
	all := []figures.Figure{
		number("final orders", "orders/s", lab.HigherIsBetter, func(s saturated) float64 { return s.Rate }),
		number("statements per order", "1", lab.LowerIsBetter, func(s saturated) float64 { return s.Statements }),
		number("transactions per order", "1", lab.LowerIsBetter, func(s saturated) float64 { return s.Commits }),
	}
	for _, role := range slices.Sorted(maps.Keys(trials[0].CPU)) {
		all = append(all, number("CPU per order, "+role, "s", lab.LowerIsBetter,
			func(s saturated) float64 { return s.CPU[role] }))
	}
	return all
}

// system returns the CPU of an order without that of the clients, in seconds.
func (s saturated) system() (total float64) {
	for role, used := range s.CPU {
		if role != lab.RoleGenerator {
			total += used
		}
	}
	return total
}

// String returns the trial in one line.
func (s saturated) String() string {
	text := fmt.Sprintf("%.0f orders/s, per order %.1f statements in %.1f transactions, CPU", s.Rate,
		s.Statements, s.Commits)
	for _, role := range slices.Sorted(maps.Keys(s.CPU)) {
		text += fmt.Sprintf(" %s %.0f us", role, 1e6*s.CPU[role])
	}
	return text
}

// missing returns an error if this host lacks a program for the backings of a variant.
func (f *fleet) missing(v lab.Variant) error {
	layout, err := f.layout(v)
	if err != nil {
		return err
	}
	var errs []error
	for _, spec := range layout.Services {
		if preflight := f.backings[spec.Kind].Preflight; preflight != nil {
			errs = append(errs, preflight())
		}
	}
	return errors.Join(errs...)
}
