package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
)

// explainName is the name of the study of every explanation.
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
--from and --to take an architecture, and knobs to be turned in it. The deployment is
among them if it has to change, too:
  --to "sync binding=grpc replicas=2 deployment=docker-bridge"

Both are stock by default, as a good team deploys them. --tuned goes on from the last
stock stop to the tuned architecture beside it, which has what we can do better.

Of two systems of yours, A and B (compose files, or what cleave compare takes), it changes
A into B, service by service: images, variables, commands, replicas, limits, services that
come and go. Of one FILE, --to says what changes: "cart.replicas=2 deployment=docker-host".

--factors combines knobs of --from instead of turning them one after the other: a two-level
factorial design. It shows what each changes, and which pairs do not act alone. A knob with
several other values is given with the second one: --factors logging,security=mtls,binding=grpc

All stops get the same rate of operations, which each must hold; --capacity also
searches the highest rate of each that meets the objective, and --users is a closed
loop instead. docs/explaining.md says how to read the answer.` + exitCodesHelp(measuredCodes()...),
		Example: `  cleave explain shop --quick
  cleave explain shop --from monolith --to async --backing mariadb,rabbitmq,mongo --capacity
  cleave explain shop --tuned --backing mariadb,rabbitmq,mongo
  cleave explain shop --from sync --to "sync binding=grpc" --rate 100
  cleave explain shop --from sync --factors logging,security=mtls,binding=grpc
  cleave explain old/compose.yaml new/compose.yaml --rate 50 --path /cart --order cart.image`,
		Args: arguments(orResumed(cobra.MinimumNArgs(1))),
		RunE: func(command *cobra.Command, args []string) error { return a.explain(command, args, &flags) },
	}
	flags.register(command)
	return command
}

// explain explains a system of Cleave, or the differences between two systems of the user.
func (a app) explain(command *cobra.Command, args []string, flags *explainFlags) error {
	if slices.Equal(args, []string{explainedStudy}) {
		return a.explainStudy(command, args, flags)
	}
	ours := []string{"from", "tuned", factorsFlag, "level", backingFlag}
	return a.playEither(command, args, &flags.foreignFlags, ours, planners{flags.plan, flags.foreignPlan},
		a.reportAnalysis)
}

// explainedStudy is the built-in study that explain can play although it is no system.
const explainedStudy = "network"

// explainStudy plays explainedStudy. It refuses flags that reproduce does not have.
func (a app) explainStudy(command *cobra.Command, args []string, flags *explainFlags) error {
	plays := a.reproduceCommand().Flags()
	wrong := changedFlags(command, func(f *pflag.Flag) bool { return plays.Lookup(f.Name) == nil })
	if len(wrong) > 0 {
		return withCode(exitBadPlan, "explain %s takes no %s: it is a built-in study (cleave reproduce %s --help)",
			explainedStudy, strings.Join(wrong, ", "), explainedStudy)
	}
	return a.planAndPlay(command, args, &flags.experimentFlags, flags.planBuiltIn, a.reportAnalysis)
}

// explanations returns a line for each system that can be explained, with the default
// architectures and rate.
func explanations() (lines string) {
	for _, name := range systemsThat[lab.Explainable]() {
		system, _ := systemNamed[lab.Explainable](name, systemSettings{})
		e := system.Explanation()
		lines += fmt.Sprintf("  %-10s from %s to %s, at %g %ss per second\n", name, e.From, e.To, e.Rate,
			system.Describe().Operation)
	}
	return lines
}
