package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// foreignPlan returns the plan of an explanation of systems of the user.
func (f *explainFlags) foreignPlan(ctx context.Context, args []string) (lab.Plan, error) {
	f.applyDefaults(lab.Explanation{})
	// The default objective is only for the search for the capacity.
	if f.request.objective = f.objective; !f.isSet("objective") && !f.capacity {
		f.request.objective = ""
	}
	if !f.isSet("rate") && !f.isSet("users") {
		return lab.Plan{}, errors.New("give --rate for an open loop, or --users for a closed one")
	}
	load, dir, loadErr := f.load()
	from, to, err := f.ends(args)
	if err := errors.Join(err, loadErr, f.mistakes()); err != nil {
		return lab.Plan{}, err
	}
	stops, steps, err := external.Steps(from, to, f.order, !f.oneOrder)
	if err != nil {
		return lab.Plan{}, err
	}
	var variants []lab.Variant
	for _, d := range stops {
		variants = append(variants, foreignVariant(d, nil))
	}
	info := external.System{}.Describe()
	s := f.study(info, load, variants, steps)
	s.Design.TrialTimeout = trialTimeout(load, stops) + searchTimeout(s)
	info.Metrics = external.Metrics(s.Points)
	s.Metrics = f.metrics(info, nil)
	if err := f.checkSystems(ctx, &s, dir); err != nil {
		return lab.Plan{}, err
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// ends returns the first and the last system of the steps. They are two arguments, or one argument and its
// changes by --to. Each is returned once for each deployment of the steps.
func (f *explainFlags) ends(args []string) (from, to []external.Definition, err error) {
	named := len(args)
	if f.to != "" {
		named++
	}
	switch {
	case named > 2:
		return nil, nil, errors.New("give two systems, or one and what changes in it with --to: see cleave help " +
			"explain")
	case named < 2:
		return nil, nil, fmt.Errorf("say what %s becomes: name a second system, or what changes in it: --to "+
			"\"cart.replicas=2 deployment=docker-host\"", args[0])
	}
	deployments := f.onlyDeployment()
	end := ""
	var settings []string
	for _, setting := range strings.Fields(f.to) {
		if name, is := strings.CutPrefix(setting, "deployment="); is {
			end = name
		} else {
			settings = append(settings, setting)
		}
	}
	second := args[len(args)-1]
	if len(settings) > 0 {
		if _, err := os.Stat(second); err == nil {
			second = shell.Quote(second) // blanks in its path are no changes
		}
		second += " " + strings.Join(settings, " ")
	}
	if end != "" {
		d, err := f.system(args[0])
		if err != nil {
			return nil, nil, err
		}
		first, err := d.In(deployments) // in its own deployment without --deploy
		if err != nil {
			return nil, nil, err
		}
		begin := first[0].Deployment
		if begin == end {
			return nil, nil, fmt.Errorf("--to: %s runs on %s already", args[0], end)
		}
		deployments = append([]string{begin}, deploymentsBetween(begin, end)...)
	}
	if second == args[0] { // only the deployment changes
		from, err = f.systems(args[:1], deployments)
		return from, from, err
	}
	all, err := f.systems([]string{args[0], second}, deployments)
	half := len(all) / 2 // each system is there once for each deployment
	return all[:half:half], all[half:], err
}
