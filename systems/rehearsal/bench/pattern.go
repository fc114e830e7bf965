//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
)

// pattern is what the price of a call between units depends on: the calls of an operation, and how many units
// answer them. One that is called for the first time has fallen idle, and takes more than it does then.
type pattern struct{ calls, units int }

// pattern returns the pattern of the calls that a target adds.
func (p player) pattern(m model.Model, to target) (pattern, error) {
	more, err := to.change().Crossings(m)
	if err != nil {
		return pattern{}, err
	}
	units, err := to.change().Apply(m)
	calls := max(1, int(math.Round(more)))
	return pattern{calls, min(calls, max(1, len(units)-len(m.Units)))}, err
}

// model writes a model of components that do next to nothing: what its rehearsal takes more if they are apart
// is the price of their calls. It is to be rehearsed at these rates.
func (of pattern) model(rates []float64) string {
	var callees, calls, measured []string
	for i := range of.units {
		name := fmt.Sprintf("callee-%d", i)
		callees = append(callees, name)
		calls = append(calls, fmt.Sprintf("{component: %s, call: Answer, count: %g, source: guess, "+
			"cpu: {mean: 50us, source: guess}}", name, float64(of.calls)/float64(of.units)))
	}
	for _, rate := range rates { // with the CPU time of the calls, so that this stays as it is
		for _, placement := range []string{"", of.placement()} {
			measured = append(measured, fmt.Sprintf("{rate: %g, placement: %q, time: {mean: 1ms, source: guess}, "+
				"cpu: {mean: %dus, source: guess}}", rate, placement, 100+50*of.calls))
		}
	}
	return fmt.Sprintf("schema: cleave-model/1\nname: pattern\nunits: [{name: all, components: [caller, %s]}]\n"+
		"operations: [{name: call, weight: 1, source: guess, call: {component: caller, call: Call, source: guess, "+
		"cpu: {mean: 100us, source: guess}, calls: [%s]}}]\nmeasured: [%s]\n", strings.Join(callees, ", "),
		strings.Join(calls, ", "), strings.Join(measured, ", "))
}

// placement returns the placement of the model's components with every callee apart.
func (of pattern) placement() string {
	var callees []string
	for i := range of.units {
		callees = append(callees, fmt.Sprintf("callee-%d", i))
	}
	return strings.Join(callees, ",")
}

// hop measures a call between processes at some rates, and at the capacity.
func (p player) hop(ctx context.Context, of pattern, rates []float64) (*predict.Hop, error) {
	step := fmt.Sprintf("hop-%d-%d-at", of.calls, of.units)
	for _, rate := range rates {
		step += "-" + number(rate)
	}
	path := filepath.Join(p.results, step+".model.yaml")
	if err := os.WriteFile(path, []byte(of.model(rates)), 0o600); err != nil {
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
