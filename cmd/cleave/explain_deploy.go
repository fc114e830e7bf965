package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// stepsBetween returns the variants and steps of a system from one variant to another, in one or two orders.
// If the variants have different deployments, and the steps of the system do not change the deployment, that
// is a further step: the last one in the order that is shown, and the first one in the other order.
func stepsBetween(system lab.Explainable, from, to lab.Variant) ([]lab.Variant, []lab.PathStep, error) {
	same := from.Architecture == to.Architecture && maps.Equal(from.Knobs, to.Knobs)
	if same && from.Deployment != to.Deployment {
		from.Name = from.Architecture
		return withDeployment([]lab.Variant{from}, nil, to.Deployment)
	}
	stops, steps, err := system.Steps(from, to)
	isDeployed := func(v lab.Variant) bool { return v.Deployment == to.Deployment }
	if err != nil || slices.ContainsFunc(stops, isDeployed) {
		return stops, steps, err
	}
	return withDeployment(stops, steps, to.Deployment)
}

// withDeployment adds steps that change the deployment. In the order that is shown they come before steps to
// tuned variants, because the cost of the deployment is measured with stock variants.
func withDeployment(
	stops []lab.Variant, steps []lab.PathStep, to string,
) ([]lab.Variant, []lab.PathStep, error) {
	orders := map[int][]lab.PathStep{1: nil}
	for _, step := range steps {
		orders[step.Order] = append(orders[step.Order], step)
	}
	if len(orders) == 1 && len(steps) > 0 {
		orders[2] = orders[1] // it differs by when the deployment changes
	}
	builder := stepBuilder{known: stops, to: to}
	for _, order := range slices.Sorted(maps.Keys(orders)) {
		at := 0
		if order == 1 {
			if at = slices.IndexFunc(orders[1], func(s lab.PathStep) bool { return s.Tunes }); at < 0 {
				at = len(orders[1])
			}
		}
		if err := builder.addOrder(order, orders[order], at); err != nil {
			return nil, nil, err
		}
	}
	return builder.stops, builder.steps, nil
}

// stepBuilder adds the steps that change the deployment to each order.
type stepBuilder struct {
	known []lab.Variant // the variants of the steps without the deployment
	to    string
	stops []lab.Variant
	steps []lab.PathStep
}

// addOrder adds the steps of one order, with the change of the deployment before the step with the index at.
func (b *stepBuilder) addOrder(order int, steps []lab.PathStep, at int) error {
	b.stops = append(b.stops, b.known[0])
	name := b.known[0].Name // without the deployment
	for i := range len(steps) + 1 {
		if i == at {
			b.addDeployment(order, name)
		}
		if i == len(steps) {
			break
		}
		name = steps[i].Variant
		known := slices.IndexFunc(b.known, func(v lab.Variant) bool { return v.Name == name })
		if known < 0 {
			return fmt.Errorf("a step leads to %q, which is none of the variants", name)
		}
		next := b.known[known]
		if i >= at {
			next.Name, next.Deployment = name+"-"+b.to, b.to
		}
		b.add(order, next, steps[i])
	}
	return nil
}

// addDeployment adds the steps that change the deployment.
func (b *stepBuilder) addDeployment(order int, name string) {
	for _, deployment := range deploymentsBetween(b.known[0].Deployment, b.to) {
		next := b.stops[len(b.stops)-1]
		change := lab.KnobChange{Knob: "deployment", From: next.Deployment, To: deployment}
		next.Name, next.Deployment = name+"-"+deployment, deployment
		b.add(order, next, lab.PathStep{Changes: []lab.KnobChange{change}})
	}
}

// add adds a step to the next variant.
func (b *stepBuilder) add(order int, next lab.Variant, step lab.PathStep) {
	step.Order, step.Before, step.Variant = order, b.stops[len(b.stops)-1].Name, next.Name
	b.stops, b.steps = append(b.stops, next), append(b.steps, step)
}

// deploymentsBetween returns the deployments from one to another, without the first. Between processes and
// containers on a bridge network there is a step with containers on the host's network, which have their own
// cost.
func deploymentsBetween(from, to string) []string {
	ends := []string{from, to}
	if slices.Contains(ends, lab.Process) && slices.Contains(ends, lab.DockerBridge) {
		return []string{lab.DockerHost, to}
	}
	return []string{to}
}
