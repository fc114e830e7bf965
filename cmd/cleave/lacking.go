package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
)

// prepared returns the conductor of a plan, and the plan without the variants and points for which this host
// lacks a part. The story names every part once. With --strict or --resume a missing part is an error.
func (a app) prepared(
	ctx context.Context, plan lab.Plan, flags *experimentFlags,
) (*run.Conductor, lab.Plan, error) {
	conductor, err := a.conductor(plan, flags)
	if err == nil {
		err = unitPrograms()
	}
	if err == nil {
		err = leftovers.CheckRoot(leftovers.Root())
		if err != nil {
			err = withCode(exitMissingPart, "%w", err)
		}
	}
	if err == nil {
		err = askConsent(ctx, plan, conductor.Deployers) // before the hosts of others are looked at
	}
	if err != nil {
		return nil, plan, err
	}
	lacks, err := conductor.Lacks(ctx, plan)
	if err != nil || len(lacks) == 0 {
		return conductor, plan, err
	}
	refused := &run.MissingPartError{Lacks: lacks, Variants: plan.Study.Originals()}
	if flags.strict || flags.resume != "" {
		return nil, plan, refused
	}
	left := study.Without(plan.Study, lacks)
	if err := checkLeft(plan.Study, left); err != nil {
		return nil, plan, withCode(exitMissingPart, "%w:\n%w", err, refused)
	}
	fmt.Fprintf(a.story, "Left out, since this host lacks a part (--strict refuses instead):\n  %s\n",
		strings.Join(lab.LackLines(lacks, plan.Study.Originals()), "\n  "))
	if plan, err = study.Expand(left, plan.Profile, plan.Created); err == nil {
		conductor.Stopping = stopping(plan, conductor.System.Describe())
	}
	return conductor, plan, err
}

// noteLacks tells in the story why this host could not play a plan as it is. The plan may be for another
// host.
func (a app) noteLacks(ctx context.Context, plan lab.Plan, flags *experimentFlags) error {
	conductor, err := a.conductor(plan, flags)
	if err != nil {
		return err
	}
	note := func(format string, args ...any) { fmt.Fprintf(a.story, "note: "+format+"\n", args...) }
	if err := unitPrograms(); err != nil {
		note("nothing can be played here: %v", err)
	}
	if err := askConsent(ctx, plan, conductor.Deployers); err != nil {
		note("the plan may not be played yet: %v", err)
		return nil // without consent, the hosts of others are not looked at
	}
	lacks, err := conductor.Lacks(ctx, plan)
	if err != nil || len(lacks) == 0 {
		return err
	}
	if flags.strict {
		return &run.MissingPartError{Lacks: lacks, Variants: plan.Study.Originals()}
	}
	note("this host lacks parts of the plan and would leave out:\n  %s",
		strings.Join(lab.LackLines(lacks, plan.Study.Originals()), "\n  "))
	return nil
}

// checkLeft returns an error if too little of a study is left to answer its question.
func checkLeft(whole, left lab.Study) error {
	has := func(name string) bool {
		_, is := left.Variant(name)
		return is
	}
	n := left.Originals()
	switch {
	case n == 0:
		return errors.New("this host can play nothing of it")
	case whole.Name == compareName && n < 2:
		return fmt.Errorf("this host can play %s only, and nothing that it could be compared with",
			left.Variants[0].Name)
	case whole.Name == bottleneckName && !(has(whole.Baseline) && n > 1):
		return errors.New("this host cannot play the system both as it is and with more of a unit")
	case whole.Explains():
		shown := slices.DeleteFunc(slices.Clone(whole.Steps),
			func(step lab.PathStep) bool { return step.Order != 1 })
		if len(shown) == 0 {
			return nil
		}
		for _, end := range []string{shown[0].Before, shown[len(shown)-1].Variant} {
			if !has(end) {
				return fmt.Errorf("this host cannot play %s, an end of the way that is explained", end)
			}
		}
	}
	return nil
}

// studyLacks is the document of doctor about a study.
type studyLacks struct {
	Study    string            `json:"study"`
	Variants int               `json:"variants"` // of the study
	Played   int               `json:"played"`   // variants that this host can play
	Missing  []lab.MissingPart `json:"missing"`
	Install  string            `json:"install,omitempty"` // one line for a shell that installs all parts
}

// doctorStudy shows what this host would leave out of a study, and what installs it.
func (a app) doctorStudy(ctx context.Context, name string, asJSON bool) error {
	path := name + ".yaml"
	data, err := studies.Read(name)
	if err != nil {
		path = name
		if data, err = inputfile.Read(path, study.MaxBytes); err != nil {
			return withCode(exitBadPlan, "%s is neither a study (%s) nor a study file: %w", name,
				strings.Join(studies.Names(), ", "), err)
		}
	}
	flags := experimentFlags{given: func(string) bool { return false }}
	plan, err := flags.ofStudy(path, data)
	if err != nil {
		return err
	}
	conductor, err := a.conductor(plan, &flags)
	if err == nil {
		err = unitPrograms()
	}
	if err != nil {
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
		a.showStudyLacks(found)
	}
	if err == nil && len(parts) > 0 {
		err = withCode(exitMissingPart, "this host lacks %s for %s", counted(len(parts), "part"), found.Study)
	}
	return err
}

func (a app) showStudyLacks(found studyLacks) {
	fmt.Fprintf(a.out, "%s: %d of %s can be played here\n", found.Study, found.Played,
		counted(found.Variants, "variant"))
	for _, part := range found.Missing {
		fmt.Fprintf(a.out, "  missing  %s (%s)\n", part.What, part.Lacking(found.Variants))
	}
	if found.Install != "" {
		fmt.Fprintf(a.out, "  install  %s\n", found.Install)
	}
}

// counted returns a number with its noun, "2 parts".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
