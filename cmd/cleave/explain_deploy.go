package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// ways returns the ways of a system from one variant to another. A system whose ways stay in one
// deployment, though their ends are in two, has the deployment turned for it: last, so that it
// shows what the new one costs at the end of the way, and in the other orders first.
func ways(system lab.Explainable, from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	same := from.Architecture == to.Architecture && maps.Equal(from.Knobs, to.Knobs)
	if same && from.Deployment != to.Deployment {
		from.Name = from.Architecture
		return deployed([]lab.Variant{from}, nil, to.Deployment)
	}
	stops, steps, err := system.Ways(from, to)
	arrived := func(v lab.Variant) bool { return v.Deployment == to.Deployment }
	if err != nil || slices.ContainsFunc(stops, arrived) {
		return stops, steps, err
	}
	return deployed(stops, steps, to.Deployment)
}

// deployed are ways that lead to a deployment. Steps to what is tuned come after it: what the
// deployment costs is a matter of the stock variants.
func deployed(stops []lab.Variant, steps []lab.PathStep, to string) ([]lab.Variant, []lab.PathStep, error) {
	orders := map[int][]lab.PathStep{1: nil}
	for _, step := range steps {
		orders[step.Order] = append(orders[step.Order], step)
	}
	if len(orders) == 1 && len(steps) > 0 {
		orders[2] = orders[1]
	}
	way := deployedWay{known: stops, to: to}
	for _, order := range slices.Sorted(maps.Keys(orders)) {
		at := 0
		if order == 1 {
			if at = slices.IndexFunc(orders[1], func(s lab.PathStep) bool { return s.Tunes }); at < 0 {
				at = len(orders[1])
			}
		}
		if err := way.lead(order, orders[order], at); err != nil {
			return nil, nil, err
		}
	}
	return way.stops, way.steps, nil
}

// deployedWay is a way that is being led to a deployment.
type deployedWay struct {
	known []lab.Variant // its stops before that
	to    string
	stops []lab.Variant
	steps []lab.PathStep
}

// lead takes the steps of one order, and the deployment before the step of a number.
func (w *deployedWay) lead(order int, steps []lab.PathStep, at int) error {
	w.stops = append(w.stops, w.known[0])
	name := w.known[0].Name // without a deployment in it
	for i := range len(steps) + 1 {
		if i == at {
			w.deploy(order, name)
		}
		if i == len(steps) {
			break
		}
		name = steps[i].Variant
		known := slices.IndexFunc(w.known, func(v lab.Variant) bool { return v.Name == name })
		if known < 0 {
			return fmt.Errorf("a step leads to %q, which is no stop of the way", name)
		}
		next := w.known[known]
		if i >= at {
			next.Name, next.Deployment = name+"-"+w.to, w.to
		}
		w.take(order, next, steps[i])
	}
	return nil
}

// deploy turns the deployment.
func (w *deployedWay) deploy(order int, name string) {
	for _, deployment := range through(w.known[0].Deployment, w.to) {
		next := w.stops[len(w.stops)-1]
		change := lab.KnobChange{Knob: "deployment", From: next.Deployment, To: deployment}
		next.Name, next.Deployment = name+"-"+deployment, deployment
		w.take(order, next, lab.PathStep{Changes: []lab.KnobChange{change}})
	}
}

// take goes on to the next stop.
func (w *deployedWay) take(order int, next lab.Variant, step lab.PathStep) {
	step.Order, step.Before, step.Variant = order, w.stops[len(w.stops)-1].Name, next.Name
	w.stops, w.steps = append(w.stops, next), append(w.steps, step)
}

// through returns the deployments on the way from one to another: between processes and a bridge
// network lies the container, which has a price of its own.
func through(from, to string) []string {
	ends := []string{from, to}
	if slices.Contains(ends, lab.Process) && slices.Contains(ends, lab.DockerBridge) {
		return []string{lab.DockerHost, to}
	}
	return []string{to}
}
