package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies"
)

// explainName is the study of every explanation.
const explainName = "explain"

func (a app) explainCommand() *cobra.Command {
	var flags explainFlags
	command := &cobra.Command{
		Use:   "explain SYSTEM | A B | FILE",
		Short: "change one knob at a time from one architecture to another: where the cost comes from",
		Long: `Goes from one architecture of a system to another and turns one knob at a time;
cleave list names architectures and knobs. Every stop is a variant in the same
randomised blocks, and every step is measured against the one before it: the
ratios of the steps multiply to the ratio of the whole. Without --quick the same
knobs are also turned in another order, which shows where the order of the steps
changes the answer. The systems that can be explained:
` + explanations() + `  network    no system: what a call costs over loopback, in containers, on clusters,
             through proxies (a built-in study, played as reproduce does)
--from and --to take an architecture, and knobs to be turned in it, the deployment
among them where it is to change on the way:
  --to "sync binding=grpc replicas=2 deployment=docker-bridge"

Both are stock by default, as a good team deploys them. --tuned goes on from the last
stock stop to the tuned architecture beside it, which has what we can do better.

Of two systems of yours, A and B (compose files, or what cleave compare takes), it changes
A into B, service by service: images, variables, commands, replicas, limits, services that
come and go. Of one FILE, --to says what changes: "cart.replicas=2 deployment=docker-host".

All stops get the same rate of operations, which each must hold; --capacity also
searches the highest rate of each that meets the objective, and --users is a closed
loop instead. docs/explaining.md
says how to read the answer.

Exit codes: 0 explained, 1 failed, 2 bad arguments, 3 a backing service is not
here, 4 no load was achieved, 5 a rule of the system was broken, 6 undecided
(with --require-verdict), 130 interrupted.`,
		Example: `  cleave explain shop --quick
  cleave explain shop --from monolith --to async --backing mariadb,rabbitmq,mongo --capacity
  cleave explain shop --tuned --backing mariadb,rabbitmq,mongo
  cleave explain shop --from sync --to "sync binding=grpc" --rate 100
  cleave explain old/compose.yaml new/compose.yaml --rate 50 --path /cart --order cart.image`,
		Args: arguments(orResumed(cobra.MinimumNArgs(1))),
		RunE: func(command *cobra.Command, args []string) error { return a.explain(command, args, &flags) },
	}
	flags.register(command)
	return command
}

// explain explains a system of Cleave, or what is between two of the user's.
func (a app) explain(command *cobra.Command, args []string, flags *explainFlags) error {
	foreign := len(args) == 0 || isForeign(args)
	if err := misplaced(command, foreign, "from", "tuned", backingFlag); err != nil {
		return err
	}
	if foreign {
		return a.playForeign(command, args, &flags.foreignFlags, flags.foreignPlan, a.reported)
	}
	if err := cobra.ExactArgs(1)(command, args); err != nil {
		return withCode(exitBadPlan, "%w: see cleave help explain", err)
	}
	if args[0] == explainedStudy {
		return a.explainStudy(command, flags)
	}
	system, err := askedFor[lab.Explainable](args[0], "explained")
	if err != nil {
		return err
	}
	plan, err := flags.plan(system)
	if err != nil {
		return withCode(exitBadPlan, "%w", err)
	}
	return a.experiment(command, plan, &flags.experimentFlags, a.reported)
}

// explainedStudy is a built-in study that explains something beside the systems.
const explainedStudy = "network"

// explainStudy plays that study. What only ways from one architecture to another have is
// refused.
func (a app) explainStudy(command *cobra.Command, flags *explainFlags) error {
	var wrong []string
	plays := a.reproduceCommand().Flags()
	command.Flags().Visit(func(f *pflag.Flag) {
		if plays.Lookup(f.Name) == nil {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	if len(wrong) > 0 {
		return withCode(exitBadPlan, "explain %s takes no %s: it is a built-in study (cleave reproduce %s --help)",
			explainedStudy, strings.Join(wrong, ", "), explainedStudy)
	}
	data, err := studies.Read(explainedStudy)
	if err != nil {
		return err
	}
	return a.study(command, explainedStudy+".yaml", data, &flags.experimentFlags)
}

// explanations returns the systems that can be explained, and what is explained of each
// unless flags say otherwise.
func explanations() (lines string) {
	for _, name := range systemsThat[lab.Explainable]() {
		system, _ := systemNamed[lab.Explainable](name, conditions{})
		e := system.Explanation()
		lines += fmt.Sprintf("  %-10s from %s to %s, at %g %ss per second\n", name, e.From, e.To, e.Rate,
			system.Describe().Operation)
	}
	return lines
}
