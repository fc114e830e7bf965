package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/systems/shop"
)

// explainName is the study of every explanation.
const explainName = "explain"

func (a app) explainCommand() *cobra.Command {
	var flags explainFlags
	command := &cobra.Command{
		Use:   "explain SYSTEM",
		Short: "change one knob at a time from one architecture to another: where the cost comes from",
		Long: `Goes from one architecture of a system to another and turns one knob at a time;
cleave list names architectures and knobs. Every stop is a variant in the same
randomised blocks, and every step is measured against the one before it: the
ratios of the steps multiply to the ratio of the whole. Without --quick the same
knobs are also turned in another order, which shows where the order of the steps
changes the answer. The systems that can be explained: shop.

--from and --to take an architecture, and knobs to be turned in it:
  --to "sync binding=grpc replicas=2"

All stops get the same rate of orders, which each must hold; --capacity also
searches the highest rate of each that meets the objective. docs/explaining.md
says how to read the answer.

Exit codes: 0 explained, 1 failed, 2 bad arguments, 3 a backing service is not
here, 4 no load was achieved, 5 a rule of the system was broken, 6 undecided
(with --require-verdict), 130 interrupted.`,
		Example: `  cleave explain shop --quick
  cleave explain shop --from monolith --to async --backing mariadb,rabbitmq,mongo --capacity
  cleave explain shop --from sync --to "sync binding=grpc" --rate 100`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if args[0] != shop.Name {
				return withCode(exitBadPlan, "there is no system %q to be explained; there is: %s", args[0], shop.Name)
			}
			plan, err := flags.plan(command.Flags().Changed)
			if err != nil {
				return withCode(exitBadPlan, "%w", err)
			}
			return a.experiment(command, plan, &flags.experimentFlags)
		},
	}
	flags.register(command)
	return command
}

// explainVerdict turns what an explanation found into the command's error.
func explainVerdict(folder *store.Folder, analysis lab.Analysis, mustKnow bool) error {
	if err := verdict(folder, analysis, mustKnow); err != nil {
		return err
	}
	if len(analysis.Waterfalls) == 0 {
		return withCode(exitFailed, "no block holds every step of the way; the reasons are in the report")
	}
	var undecided []string
	headline := analysis.Waterfalls[0]
	for _, s := range headline.Steps {
		if s.Verdict == lab.Undecided {
			undecided = append(undecided, s.Title()+" is "+s.Words)
		}
	}
	if mustKnow && len(undecided) > 0 {
		return withCode(exitUndecided, "%s at %s: %s", headline.Metric, headline.Point.Name, strings.Join(undecided, "; "))
	}
	return nil
}
