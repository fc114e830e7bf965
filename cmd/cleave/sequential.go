package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/study"
)

// usuallyLooked is how many blocks an experiment plays at most that stops when it is
// decided, unless --blocks says otherwise.
const usuallyLooked = 12

// sequentialFlags make an experiment look at its data after every block.
type sequentialFlags struct {
	until  string
	within time.Duration
}

func (f *sequentialFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.until, "until", "", fmt.Sprintf("\"decided\": look after every block from %d on, play "+
		"what is decided\nno further; --blocks is the most then (default %d)",
		lab.FirstLook, usuallyLooked))
	flags.DurationVar(&f.within, "within", 0,
		"with --until: play no longer than this, e.g. 20m (--resume: again)")
}

// apply makes the plan of an experiment that looks at its data, where that is asked for.
// Its blocks are those of the plan, with the same seeds, and more of them.
func (f *sequentialFlags) apply(command *cobra.Command, plan lab.Plan) (lab.Plan, error) {
	if !command.Flags().Changed("until") {
		if command.Flags().Changed("within") {
			return plan, withCode(exitBadPlan,
				"--within limits an experiment that stops when it is decided: add --until %s", lab.UntilDecided)
		}
		return plan, nil
	}
	design := &plan.Study.Design
	if !command.Flags().Changed("blocks") {
		design.Blocks = usuallyLooked
	}
	switch {
	case f.until != lab.UntilDecided:
		return plan, withCode(exitBadPlan, "--until is %q, expected %s", f.until, lab.UntilDecided)
	case design.Blocks <= lab.FirstLook || design.Blocks > lab.MostLooked:
		return plan, withCode(exitBadPlan, "--until %s looks from block %d on: --blocks is %d, expected a whole "+
			"number from %d to %d", f.until, lab.FirstLook, design.Blocks, lab.FirstLook+1, lab.MostLooked)
	case command.Flags().Changed("within") && (f.within < time.Second || f.within > study.Longest):
		return plan, withCode(exitBadPlan, "--within is %v, expected 1s to %.0fh", f.within, study.Longest.Hours())
	}
	design.Until, design.Within = f.until, f.within.Seconds()
	return study.Expand(plan.Study, plan.Profile, plan.Created)
}

// stopping is the rule by which such a plan stops.
func stopping(plan lab.Plan, system lab.SystemInfo) lab.StoppingRule {
	return analysis.Rule{Input: analysis.Input{Plan: plan, System: system}}
}
