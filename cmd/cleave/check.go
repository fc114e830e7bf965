package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	shopsystem "github.com/cleave-lab/cleave/systems/shop/system"
)

// checkName is the study of every check.
const checkName = "check"

// checkFlags are the flags of check.
type checkFlags struct {
	experimentFlags
	architectures []string
	orders        int
	faults        []string
}

func (a app) checkCommand() *cobra.Command {
	var flags checkFlags
	command := &cobra.Command{
		Use:   "check SYSTEM",
		Short: "push work through every architecture of a system and audit it",
		Long: `Deploys each architecture afresh, pushes the work through it as fast as it is
answered, waits until all is done, and holds what clients were told against what
the databases hold: nothing lost, nothing doubled, nothing half done, nothing
made up, stock and money conserved. Where nothing was confirmed nothing is known.
The systems that can be checked: shop.

Exit codes: 0 every rule holds in every architecture, 1 failed or unknown, 2 bad
arguments, 3 a backing service is not installed, 5 a rule is broken.`,
		Example: "  cleave check shop --orders 10000\n  cleave check shop --architecture monolith,sync --backing mariadb\n  cleave check shop --orders 5000 --fault kill:every-unit",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if args[0] != shop.Name {
				return withCode(exitBadPlan, "there is no system %q to be checked; there is: %s", args[0], shop.Name)
			}
			plan, err := flags.plan()
			if err != nil {
				return withCode(exitBadPlan, "%w", err)
			}
			return a.check(command, plan, &flags)
		},
	}
	command.Flags().StringSliceVar(&flags.architectures, "architecture", []string{"all"}, "architectures to check, or all")
	command.Flags().IntVar(&flags.orders, "orders", 1000, "orders to push through each")
	command.Flags().StringSliceVar(&flags.backings, "backing", nil, "backing services instead of the embedded ones: mariadb or postgres, rabbitmq, mongo")
	command.Flags().StringArrayVar(&flags.faults, "fault", nil, "kill a part in mid-load and start it again: kill:TARGET[@AFTER][+HEAL];\na unit, database, broker, documents or every-unit; may be repeated")
	flags.registerPlay(command)
	return command
}

// plan has a trial for every architecture.
func (f *checkFlags) plan() (lab.Plan, error) {
	s := lab.Study{
		Schema: lab.StudySchema, Name: checkName, Title: "Check of " + shop.Name, System: shop.Name, Design: study.Defaults(),
		Points: []lab.Point{f.point()},
		Load:   &lab.Load{Duration: 1}, Metrics: shopsystem.System{}.Describe().Metrics,
	}
	s.Design.Blocks, s.Design.MaxRepeats, s.Design.NoiseFloor = 1, 0, nil
	s.Design.Gates = lab.Gates{MaxStealShare: 1, MaxCalibrationDrift: 1e9} // a slow host breaks no rule
	if f.seed > 0 {
		s.Design.Seed = f.seed
	}
	if f.orders < 1 || f.orders > shopsystem.MaxOrders {
		return lab.Plan{}, fmt.Errorf("--orders is %d: use 1 to %d", f.orders, shopsystem.MaxOrders)
	}
	var mistakes []error
	for _, name := range f.names() {
		knobs, err := architecture.Backed(name, nil, f.backings)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		s.Variants = append(s.Variants, lab.Variant{Name: name, System: shop.Name, Architecture: name, Knobs: knobs, Deployment: "process"})
	}
	if err := errors.Join(mistakes...); err != nil {
		return lab.Plan{}, err
	}
	s.Baseline = s.Variants[0].Name
	if err := f.withFaults(&s); err != nil {
		return lab.Plan{}, err
	}
	return study.Expand(s, "full", time.Now())
}

// point is a shop in which everything happens: what is popular sells out, some
// customers cannot pay, some think again. Of few orders most are confirmed, too: a
// shelf holds the largest line, and an account more than most orders cost.
func (f *checkFlags) point() lab.Point {
	orders := float64(f.orders)
	return lab.Point{Name: "orders", Levels: map[string]float64{
		shopsystem.Orders: orders, shopsystem.Cancelled: 5,
		shopsystem.Stock: max(3, math.Ceil(orders/30)), shopsystem.Balance: max(50_000, orders*100),
	}}
}

// names are the architectures that were asked for; all are those that can be built.
func (f *checkFlags) names() []string {
	if !slices.Equal(f.architectures, []string{"all"}) {
		return f.architectures
	}
	var names []string
	for _, a := range architecture.All() {
		if _, err := architecture.New(a.Name, nil); err == nil {
			names = append(names, a.Name)
		}
	}
	return names
}

// check plays the plan and shows what the audits say.
func (a app) check(command *cobra.Command, plan lab.Plan, flags *checkFlags) error {
	if flags.planOnly {
		return writeJSON(a.out, plan)
	}
	conductor, err := a.conductor(plan, &flags.experimentFlags)
	if err != nil {
		return err
	}
	if err := conductor.Preflight(plan); err != nil {
		return err
	}
	folder, plan, err := a.openFolder(plan, &flags.experimentFlags)
	if err != nil {
		return err
	}
	played := a.play(command.Context(), conductor, plan, folder)
	if played != nil && !run.Interrupted(played) {
		return played
	}
	trials, err := folder.Trials()
	if err != nil {
		return errors.Join(played, err)
	}
	if err := a.showChecks(folder, plan, trials, flags); err != nil || played != nil {
		return errors.Join(played, err)
	}
	return checkVerdict(plan, trials)
}

// showChecks writes a line for every architecture, and what is wrong with it.
func (a app) showChecks(folder *store.Folder, plan lab.Plan, trials []lab.Trial, flags *checkFlags) error {
	shown := a.out
	if flags.documents.json == "-" {
		shown = a.story
	}
	table := tabwriter.NewWriter(shown, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "architecture\tverdict\torders\tconfirmed\trejected\tlost\tdoubled\tstuck\torders/s\ton")
	for _, trial := range trials {
		counts := trial.Audit.Counts
		services := slices.Sorted(maps.Values(trial.Services))
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%s\n", trial.Variant, trial.Audit.Verdict, counts["orders"], counts["confirmed"], counts["rejected"],
			counts["lost"], counts["duplicated"], counts["stuck"], trial.Measures["completed_rate"], strings.Join(services, ", "))
	}
	if err := errors.Join(table.Flush(), showFaults(shown, trials)); err != nil {
		return err
	}
	for _, trial := range trials {
		for _, problem := range trial.Audit.Problems {
			fmt.Fprintf(shown, "%s: %s\n", trial.Variant, problem)
		}
	}
	fmt.Fprintf(shown, "\nraw data  %s\n", folder.Dir())
	concluded, err := analyse(folder)
	if err != nil {
		return err
	}
	return a.writeJSONFile(flags.documents.json, concluded)
}

// checkVerdict turns the audits into the command's error.
func checkVerdict(plan lab.Plan, trials []lab.Trial) error {
	for _, trial := range trials {
		if trial.Audit.Verdict == lab.AuditInvalid {
			return withCode(exitInvariant, "architecture %s broke a rule", trial.Variant)
		}
	}
	for _, trial := range trials {
		if !trial.Valid {
			return withCode(exitFailed, "architecture %s: %s", trial.Variant, trial.Reason)
		}
	}
	if len(trials) < len(plan.Trials) {
		return withCode(exitFailed, "%d of %d architectures were checked", len(trials), len(plan.Trials))
	}
	return nil
}
