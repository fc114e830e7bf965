//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
)

// pattern holds the number of calls between units that an operation makes, and the number of units that
// answer them. The cost of such a call depends on both: the first call of an operation to a unit takes more
// CPU time, because the unit was idle.
type pattern struct{ calls, units int }

// pattern returns the pattern of the calls that a target adds.
func (p player) pattern(m model.Model, to target) (pattern, error) {
	more, err := to.change().Crossings(m)
	if err != nil {
		return pattern{}, err
	}
	units, err := to.change().Apply(m)
	calls := max(1, int(math.Round(more)))
	moreUnits := max(1, len(units)-len(m.Units))
	return pattern{calls, min(calls, moreUnits)}, err
}

// model returns the model with additional components in the front, which do next to nothing. The first call
// of each operation calls them. A rehearsal with these apart costs more by the cost of their calls. All else
// stays as it is, so that the host is used, units fall idle and users wait for commits as in the system
// itself. The model keeps the measurements at the rates, since cleave rehearse plays every rate measured.
func (of pattern) model(m model.Model, rates []float64) model.Model {
	m = m.Rewritten(func(*model.Call) {}) // a deep copy
	m.Name += " pattern"
	m.Units = slices.Clone(m.Units)
	front := m.UnitOf(m.Operations[0].Call.Component)
	m.Units[front].Components = slices.Concat(m.Units[front].Components, of.callees())
	for i := range m.Operations {
		first := &m.Operations[i].Call
		for _, name := range of.callees() {
			first.Calls = append(first.Calls, model.Call{Component: name, Name: "Answer", Source: model.Guess,
				Count: float64(of.calls) / float64(of.units),
				CPU:   model.Distribution{Mean: 50 * time.Microsecond, Source: model.Guess}})
		}
	}
	var measured []model.Measurement
	for _, known := range m.Measured {
		atRate := func(rate float64) bool { return model.SameRate(rate, known.Rate) }
		paced := known.Users == 0
		isPlayed := !paced || slices.ContainsFunc(rates, atRate)
		if known.Placement != "" || !isPlayed {
			continue
		}
		measured = append(measured, known)
		if paced { // so that the callees apart are rehearsed at this rate, too
			known.Placement = of.placement()
			measured = append(measured, known)
		}
	}
	m.Measured = measured
	return m
}

// callees returns the components that an operation calls.
func (of pattern) callees() (all []string) {
	for i := range of.units {
		all = append(all, fmt.Sprintf("callee-%d", i))
	}
	return all
}

// placement returns the placement of the model's components with every callee apart.
func (of pattern) placement() string { return strings.Join(of.callees(), ",") }

// hop measures a call between processes in a system of this model, at some rates and at the capacity.
func (p player) hop(ctx context.Context, m model.Model, of pattern, rates []float64) (*predict.Hop, error) {
	step := fmt.Sprintf("hop-%d-%d-at", of.calls, of.units)
	for _, rate := range rates {
		step += "-" + number(rate)
	}
	path := filepath.Join(p.results, step+".model.yaml")
	if err := writeModel(of.model(m, rates), path); err != nil {
		return nil, err
	}
	folder, err := p.rehearsal(ctx, step, path, target{placement: of.placement()}, rates[0])
	if err != nil {
		return nil, err
	}
	plan, err := folder.Plan()
	if err != nil {
		return nil, err
	}
	trials, err := folder.Trials()
	if err != nil {
		return nil, err
	}
	hop, err := predict.RehearsedHop(plan.Study, changed, trials, "")
	if err != nil {
		return nil, fmt.Errorf("%d calls of %d other processes: %w", of.calls, of.units, err)
	}
	return hop, nil
}
