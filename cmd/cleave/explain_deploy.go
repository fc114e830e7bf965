package main

import (
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
		stops, steps := withDeployment([]lab.Variant{from}, nil, to.Deployment)
		return stops, steps, nil
	}
	stops, steps, err := system.Steps(from, to)
	if err == nil && !anyDeployed(stops, to.Deployment) {
		stops, steps = withDeployment(stops, steps, to.Deployment)
	}
	return stops, steps, err
}

// withDeployment adds steps that change the deployment, to steps between known variants. In the order that is
// shown they come before steps to tuned variants, because the cost of the deployment is measured with stock
// variants.
func withDeployment(
	known []lab.Variant, steps []lab.PathStep, to string,
) (stops []lab.Variant, all []lab.PathStep) {
	orders := map[int][]lab.PathStep{1: nil}
	for _, step := range steps {
		orders[step.Order] = append(orders[step.Order], step)
	}
	if len(orders) == 1 && len(steps) > 0 {
		orders[2] = orders[1] // it differs by when the deployment changes
	}
	for _, order := range slices.Sorted(maps.Keys(orders)) {
		stops = append(stops, known[0])
		name := known[0].Name // of the last stop, without the deployment
		add := func(next lab.Variant, step lab.PathStep) {
			step.Order = order
			step.Before = stops[len(stops)-1].Name
			step.Variant = next.Name
			stops = append(stops, next)
			all = append(all, step)
		}
		follow := func(steps []lab.PathStep, deployed bool) {
			for _, step := range steps {
				name = step.Variant
				next := known[slices.IndexFunc(known, func(v lab.Variant) bool { return v.Name == name })]
				if deployed {
					next.Name = name + "-" + to
					next.Deployment = to
				}
				add(next, step)
			}
		}
		at := 0
		if order == 1 {
			if at = slices.IndexFunc(orders[1], func(s lab.PathStep) bool { return s.Tunes }); at < 0 {
				at = len(orders[1])
			}
		}
		follow(orders[order][:at], false)
		for _, deployment := range deploymentsBetween(known[0].Deployment, to) {
			next := stops[len(stops)-1]
			change := lab.KnobChange{Knob: "deployment", From: next.Deployment, To: deployment}
			next.Name = name + "-" + deployment
			next.Deployment = deployment
			add(next, lab.PathStep{Changes: []lab.KnobChange{change}})
		}
		follow(orders[order][at:], true)
	}
	return stops, all
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
