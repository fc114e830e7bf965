package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
)

// prepare returns the conductor of a plan, and the plan without the variants and points for which this host
// lacks a part. Standard error names every part, and the report does not repeat it. With --strict or --resume
// a missing part is an error.
func (a app) prepare(
	ctx context.Context, plan lab.Plan, flags *experimentFlags,
) (*run.Conductor, lab.Plan, error) {
	conductor, err := a.ready(plan, flags)
	if err == nil {
		err = askConsent(ctx, plan, conductor.Deployers) // before Lacks contacts hosts of others
	}
	var lacks []lab.Lack
	if err == nil {
		lacks, err = conductor.Lacks(ctx, plan)
	}
	if err != nil || len(lacks) == 0 {
		return conductor, plan, err
	}
	lines := lab.LackLines(lacks, plan.Study.Originals())
	refused := missingParts(lines)
	if flags.strict || flags.resume != "" {
		return nil, plan, refused
	}
	left := study.Without(plan.Study, lacks)
	if err := checkLeft(plan.Study, left); err != nil {
		return nil, plan, withCode(exitMissingPart, "%w:\n%w", err, refused)
	}
	flags.documents.notesShown = lines
	fmt.Fprintf(a.errOut, "Left out, since this host lacks a part (--strict refuses instead):\n  %s\n",
		strings.Join(lines, "\n  "))
	if plan, err = study.Expand(left, plan.Profile, plan.Created); err == nil {
		conductor.Stopping = stopping(plan, conductor.System.Describe())
	}
	return conductor, plan, err
}

// ready returns the conductor of a plan, if this host has what every plan needs.
func (a app) ready(plan lab.Plan, flags *experimentFlags) (*run.Conductor, error) {
	conductor, err := a.conductor(plan, flags)
	if err == nil {
		err = missingPrograms()
	}
	if err == nil {
		if err = leftovers.CheckRoot(leftovers.Root()); err != nil {
			err = withCode(exitMissingPart, "%w", err)
		}
	}
	return conductor, err
}

// noteLacks prints notes about what keeps this host from playing a plan, or parts of it. These are no errors,
// because the plan may be for another host, unless --strict is given.
func (a app) noteLacks(ctx context.Context, plan lab.Plan, flags *experimentFlags) error {
	conductor, err := a.conductor(plan, flags)
	if err != nil {
		return err
	}
	if err := missingPrograms(); err != nil {
		a.note("nothing can be played here: %v", err)
	}
	if err := askConsent(ctx, plan, conductor.Deployers); err != nil {
		a.note("the plan may not be played yet: %v", err)
		return nil // without consent, hosts of others are not contacted
	}
	lacks, err := conductor.Lacks(ctx, plan)
	if err != nil || len(lacks) == 0 {
		return err
	}
	lines := lab.LackLines(lacks, plan.Study.Originals())
	if flags.strict {
		return missingParts(lines)
	}
	a.note("this host lacks parts of the plan and would leave out:\n  %s", strings.Join(lines, "\n  "))
	return nil
}

// missingParts returns the error of a host that lacks parts for a plan. lines name them.
func missingParts(lines []string) error {
	return withCode(exitMissingPart, "%s", strings.Join(lines, "\n"))
}

// checkLeft returns an error if too little of a study is left to answer its question.
func checkLeft(whole, left lab.Study) error {
	has := func(name string) bool {
		_, is := left.Variant(name)
		return is
	}
	n := left.Originals()
	comparesTwo := whole.Name == compareName || whole.Name == rehearseName
	switch {
	case n == 0:
		return errors.New("this host can play nothing of it")
	case comparesTwo && n < 2:
		return fmt.Errorf("this host can play only %s, and a comparison needs two", left.Variants[0].Name)
	case whole.Name == bottleneckName && (n < 2 || !has(whole.Baseline)):
		return errors.New("this host cannot play both the system as it is and one with more of a unit")
	case whole.Factorial != nil:
		for _, run := range whole.Factorial.Runs {
			if !has(run.Variant) {
				return fmt.Errorf("this host cannot play %s, and a factorial design needs all of its runs", run.Variant)
			}
		}
	case whole.Explains():
		shown := slices.DeleteFunc(slices.Clone(whole.Steps),
			func(step lab.PathStep) bool { return step.Order != 1 })
		if len(shown) == 0 {
			return nil
		}
		for _, end := range []string{shown[0].Before, shown[len(shown)-1].Variant} {
			if !has(end) {
				return fmt.Errorf("this host cannot play %s, and an explanation needs its first and its last stop", end)
			}
		}
	}
	return nil
}

// studyLacks is the JSON document that doctor prints about a study.
type studyLacks struct {
	Study    string            `json:"study"`
	Variants int               `json:"variants"` // of the study
	Played   int               `json:"played"`   // variants that this host can play
	Missing  []lab.MissingPart `json:"missing"`
	Install  string            `json:"install,omitempty"` // one command line that installs all parts
}

// doctorStudy shows the variants of a study that this host cannot play, with the missing parts and the
// commands that install them.
func (a app) doctorStudy(ctx context.Context, name string, asJSON bool) error {
	flags := experimentFlags{isSet: func(string) bool { return false }}
	planner := flags.planBuiltIn
	if !slices.Contains(studies.Names(), name) {
		if _, err := os.Stat(name); err != nil {
			return withCode(exitBadPlan, "%q is neither a built-in study (%s) nor a study file: %w", name,
				strings.Join(studies.Names(), ", "), err)
		}
		planner = flags.planFile
	}
	plan, err := planner(name)
	if err != nil {
		return badPlan(err)
	}
	conductor, err := a.ready(plan, &flags)
	if err != nil {
		return err
	}
	if err := refuseWithoutConsent(ctx, plan, conductor.Deployers); err != nil {
		return err
	}
	lacks, err := conductor.Lacks(ctx, plan)
	if err != nil {
		return err
	}
	parts := lab.MissingParts(lacks)
	found := studyLacks{Study: plan.Study.Name, Variants: plan.Study.Originals(),
		Played: study.Without(plan.Study, lacks).Originals(), Missing: parts, Install: lab.InstallParts(parts)}
	if asJSON {
		err = writeJSON(a.out, found)
	} else {
		lines := append([]string{fmt.Sprintf("%s: %d of %s can be played here", found.Study, found.Played,
			lab.Count(found.Variants, "variant"))}, lab.LackLines(lacks, found.Variants)...)
		_, err = fmt.Fprintln(a.out, strings.Join(lines, "\n  "))
	}
	if err == nil && len(parts) > 0 {
		err = withCode(exitMissingPart, "this host lacks %s for %s", lab.Count(len(parts), "part"), found.Study)
	}
	return err
}
