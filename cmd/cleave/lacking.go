package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// prepared returns what plays a plan, and the plan without what this host lacks a part for: the
// story names every part once. A plan of a folder is played as it is (--resume), or not at all. With
// --plan it stays whole, too: it may be for another host.
func (a app) prepared(plan lab.Plan, flags *experimentFlags) (*run.Conductor, lab.Plan, error) {
	conductor, err := a.conductor(plan, flags)
	if flags.planOnly && exitCode(err) == exitMissingPart {
		return nil, plan, nil // nothing can be played here, but planned
	}
	if err == nil {
		// Before this host looks at theirs. What may not be played may be planned.
		if err = askConsent(plan, conductor.Deployers); err != nil && flags.planOnly {
			return nil, plan, nil
		}
	}
	if err != nil {
		return nil, plan, err
	}
	lacks, err := conductor.Lacks(plan)
	if err != nil || len(lacks) == 0 {
		return conductor, plan, err
	}
	refused := &run.MissingPartError{Lacks: lacks}
	if flags.strict || flags.resume != "" {
		return nil, plan, refused
	}
	lines := strings.Join(lab.LackLines(lacks), "\n  ")
	if flags.planOnly {
		fmt.Fprintf(a.story, "This host lacks parts of the plan and would leave out:\n  %s\n", lines)
		return conductor, plan, nil
	}
	s := study.Without(plan.Study, lacks)
	if err := enough(plan.Study, s); err != nil {
		return nil, plan, withCode(exitMissingPart, "%w:\n%w", err, refused)
	}
	fmt.Fprintf(a.story, "Left out, since this host lacks a part (--strict refuses instead):\n  %s\n", lines)
	if plan, err = study.Expand(s, plan.Profile, plan.Created); err == nil {
		conductor.Stopping = stopping(plan, conductor.System.Describe())
	}
	return conductor, plan, err
}

// enough says why too little of a study is left to answer its question; nil: it is enough.
func enough(whole, left lab.Study) error {
	has := func(name string) bool {
		_, is := left.Variant(name)
		return is
	}
	n := originals(left)
	switch {
	case n == 0:
		return errors.New("this host can play nothing of it")
	case whole.System == external.Name && n < 2:
		return fmt.Errorf("this host can play %s only, and nothing that it could be compared with",
			left.Variants[0].Name)
	case whole.Name == bottleneckName && !(has(whole.Baseline) && n > 1):
		return errors.New("this host cannot play the system both as it is and with more of a unit")
	case whole.Explains():
		for _, end := range wayEnds(whole) {
			if !has(end) {
				return fmt.Errorf("this host cannot play %s, an end of the way that is explained", end)
			}
		}
	}
	return nil
}

// wayEnds are the variants between which the steps of a study lead.
func wayEnds(s lab.Study) []string {
	shown := slices.DeleteFunc(slices.Clone(s.Steps), func(step lab.PathStep) bool { return step.Order != 1 })
	if len(shown) == 0 {
		return nil
	}
	return []string{shown[0].Before, shown[len(shown)-1].Variant}
}

// studyLacks is what doctor finds out about a study.
type studyLacks struct {
	Study    string            `json:"study"`
	Variants int               `json:"variants"` // that the study asks for
	Played   int               `json:"played"`   // of them, here
	Missing  []lab.MissingPart `json:"missing"`
	Install  string            `json:"install,omitempty"` // one line that brings all parts
}

// doctorStudy says what of a study this host would leave out, and how to get it.
func (a app) doctorStudy(name string, asJSON bool) error {
	path := name + ".yaml"
	data, err := studies.Read(name)
	if err != nil {
		path = name
		if data, err = inputfile.Read(path, study.MaxBytes); err != nil {
			return withCode(exitBadPlan, "%s is neither a study (%s) nor a study file: %w", name,
				strings.Join(studies.Names(), ", "), err)
		}
	}
	var flags experimentFlags
	plan, err := planOf(path, data, &flags, study.Options{})
	if err != nil {
		return err
	}
	conductor, err := a.conductor(plan, &flags)
	if err != nil {
		return err
	}
	lacks, err := conductor.Lacks(plan)
	if err != nil {
		return err
	}
	parts := lab.MissingParts(lacks)
	found := studyLacks{Study: plan.Study.Name, Variants: originals(plan.Study),
		Played: originals(study.Without(plan.Study, lacks)), Missing: parts, Install: lab.InstallParts(parts)}
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
		fmt.Fprintf(a.out, "  missing  %s (%s)\n", part.What, strings.Join(part.Variants, ", "))
	}
	if found.Install != "" {
		fmt.Fprintf(a.out, "  install  %s\n", found.Install)
	}
}

// originals counts the variants of a study that are no twins.
func originals(s lab.Study) int {
	n := 0
	for _, v := range s.Variants {
		if v.TwinOf == "" {
			n++
		}
	}
	return n
}

// counted writes a number of things.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
