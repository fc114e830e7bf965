package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/external"
)

// foreignPlan returns the plan of the search in a system of the user.
func (f *bottleneckFlags) foreignPlan(ctx context.Context, args []string) (lab.Plan, error) {
	f.applyQuick(2*time.Second, f.warmUp.least) // the warm-up is not shortened
	definitions, err := f.systems(args, f.onlyDeployment())
	load, dir, loadErr := f.load()
	point, pointErr := f.point(external.System{}.Describe())
	if err := errors.Join(err, loadErr, pointErr, f.mistakes()); err != nil {
		return lab.Plan{}, err
	}
	d := definitions[0]
	s := lab.Study{
		Schema: lab.StudySchema, Name: bottleneckName, System: external.Name, Baseline: "base",
		Title:    "which service of " + d.Name + " to scale",
		Question: "Which service holds the system back?", Points: []lab.Point{point}, Design: f.design("base"),
		Metrics: external.Metrics([]lab.Point{point}), Load: &load,
	}
	s.Design.TrialTimeout = trialTimeout(load, definitions)
	base := foreignVariant(d, nil)
	base.Name = "base"
	base.Limits = f.withCPULimit(d.Limits)
	base.Summary = strings.Trim(base.Summary+"; "+base.Scaling(), "; ")
	s.Variants = []lab.Variant{base}
	if err := f.checkSystems(ctx, &s, dir); err != nil {
		return lab.Plan{}, err
	}
	units, err := f.services(s, d)
	if err == nil {
		units, err = f.selectUnits(units)
	}
	if err != nil {
		return lab.Plan{}, err
	}
	return f.scaledPlan(s, base, units)
}

// withCPULimit returns the limits of a file, with --cpu for units without a CPU limit in it. Units
// with a memory limit get --cpu one by one, because a unit's own limits replace those of AllUnits.
func (f *bottleneckFlags) withCPULimit(own map[string]lab.Limits) map[string]lab.Limits {
	if f.cpu == 0 {
		return own
	}
	all := map[string]lab.Limits{}
	for name, limits := range own {
		limits.CPU = cmp.Or(limits.CPU, f.cpu)
		all[name] = limits
	}
	all[lab.AllUnits] = lab.Limits{CPU: f.cpu}
	return all
}

// services returns the services that the search scales, one at a time. It adds a note that says why the
// others are not scaled.
func (f *bottleneckFlags) services(s lab.Study, d external.Definition) ([]string, error) {
	if d.RunsAlready() || d.Compose != nil {
		return nil, fmt.Errorf("system %s: Cleave does not run its parts one by one: give a compose file whose "+
			"services are units, an image, or a command with {port}", d.Name)
	}
	all, err := f.scalable(s, s.Variants[0])
	if err != nil || f.resource == resourceCPU {
		return all, err
	}
	single := d.Single()
	reasons := []string{}
	for _, name := range slices.Sorted(maps.Keys(single)) {
		reasons = append(reasons, name+", which "+single[name])
	}
	all = slices.DeleteFunc(all, func(name string) bool { return single[name] != "" })
	why := strings.Join(reasons, "; ")
	if len(all) == 0 {
		return nil, fmt.Errorf("system %s: none of its services can be doubled (%s): raise limits instead "+
			"(--resource cpu)", d.Name, why)
	}
	if why != "" {
		f.notes = append(f.notes, fmt.Sprintf("system %s: not doubled: %s (--resource cpu raises its limit)",
			d.Name, why))
	}
	return all, nil
}
