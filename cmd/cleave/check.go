package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/study"
)

// checkName is the study of every check.
const checkName = "check"

// checkFlags are the flags of check.
type checkFlags struct {
	experimentFlags
	architectures []string
	operations    int
	knobs         map[string]string
	faults        []string
	replicas      map[string]int
	levels        map[string]string
}

func (a app) checkCommand() *cobra.Command {
	var flags checkFlags
	command := &cobra.Command{
		Use:   "check SYSTEM",
		Short: "push work through every architecture of a system and audit it",
		Long: `Deploys each architecture afresh, pushes the work through it as fast as it is
answered, waits until all is done, and holds what clients and units say against
each other and against what the databases hold: nothing lost, nothing doubled,
nothing half done, nothing made up. Where nothing was confirmed nothing is known.
The systems that can be checked: ` + strings.Join(systemsThat[lab.Checkable](), ", ") + `.

Exit codes: 0 every rule holds in every architecture, 1 failed or unknown, 2 bad
arguments, 3 a backing service is not installed, 5 a rule is broken.`,
		Example: `  cleave check shop --operations 10000
  cleave check shop --architecture monolith,sync --backing mariadb
  cleave check shop --operations 5000 --fault kill:every-unit`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			system, err := askedFor[lab.Checkable](args[0], "checked")
			if err != nil {
				return err
			}
			flags.strict = flags.strict || !flags.all()
			plan, err := flags.plan(system)
			if err != nil {
				return withCode(exitBadPlan, "%w", err)
			}
			return a.check(command, plan, system.CheckTable(), &flags)
		},
	}
	command.Flags().StringSliceVar(&flags.architectures, "architecture", []string{"all"},
		"architectures to check, or all")
	command.Flags().IntVar(&flags.operations, "operations", 1000, "operations to push through each")
	registerBackings(command, &flags.backings)
	command.Flags().StringToStringVar(&flags.knobs, "knob", nil,
		"turn a `knob=value` in each, for example runtime=java; may be repeated")
	command.Flags().StringArrayVar(&flags.faults, "fault", nil,
		"do a fault to a part in mid-load, and heal it: KIND:TARGET[@AFTER][+HEAL];\nKIND is kill, restart, "+
			"pause, cut, slow, fill, update, or drain of a node, TARGET a unit,\ndatabase, broker, documents, a "+
			"node or every-unit; may be repeated")
	command.Flags().StringToIntVar(&flags.replicas, "replicas", nil,
		"have a unit run several times in each: `UNIT=NUMBER`, for example gateway=2; may be repeated")
	command.Flags().StringToStringVar(&flags.levels, "level", nil,
		"`NAME=VALUE` of a parameter of the system (cleave list); may be repeated")
	registerDeploy(command, &flags.deploy)
	flags.registerPlay(command)
	return command
}

// plan has a trial for every architecture.
func (f *checkFlags) plan(system lab.Checkable) (lab.Plan, error) {
	info := system.Describe()
	if most := system.CheckTable().Most; f.operations < 1 || f.operations > most {
		return lab.Plan{}, fmt.Errorf("--operations is %d: use 1 to %d", f.operations, most)
	}
	s := lab.Study{
		Schema: lab.StudySchema, Name: checkName, Title: "Check of " + info.Name, System: info.Name,
		Design: study.Defaults(), Points: []lab.Point{system.CheckPoint(f.operations, 0)}, Metrics: info.Metrics,
	}
	if len(info.Metrics) > 0 { // it is under load
		s.Load = &lab.Load{} // it lasts until its operations are done, or as long as the faults do
	}
	s.Design.Blocks, s.Design.MaxRepeats, s.Design.NoiseFloor = 1, 0, nil
	s.Design.Gates = lab.Gates{MaxStealShare: 1, MaxCalibrationDrift: 1e9} // a slow host breaks no rule
	if f.seed > 0 {
		s.Design.Seed = f.seed
	}
	knobs, err := backed(info.Name, f.backings)
	if err != nil {
		return lab.Plan{}, err
	}
	var mistakes []error
	for _, name := range f.names(info) {
		v := lab.Variant{Name: name, System: info.Name, Architecture: name, Deployment: f.deployment(),
			Replicas: f.replicas}
		var err error
		v.Knobs = maps.Clone(f.knobs)
		if knobs != nil {
			var more map[string]string
			more, err = knobs(v)
			if v.Knobs == nil {
				v.Knobs = map[string]string{}
			}
			maps.Copy(v.Knobs, more)
		}
		if err == nil {
			err = possible(info, v)
		}
		mistakes, s.Variants = append(mistakes, err), append(s.Variants, v)
	}
	if err := errors.Join(mistakes...); err != nil {
		return lab.Plan{}, err
	}
	if len(s.Variants) == 0 {
		return lab.Plan{}, fmt.Errorf("no architecture of %s can be deployed with %s", info.Name, f.deployment())
	}
	s.Baseline = s.Variants[0].Name
	if err := f.withFaults(system, &s); err != nil {
		return lab.Plan{}, err
	}
	for _, p := range s.Points {
		if err := setLevels(p, info, f.levels); err != nil {
			return lab.Plan{}, err
		}
	}
	return study.Expand(s, "full", time.Now())
}

// all reports whether no architectures were named.
func (f *checkFlags) all() bool { return slices.Equal(f.architectures, []string{"all"}) }

// names are the architectures that were asked for; all are those that can be built and deployed so.
func (f *checkFlags) names(info lab.SystemInfo) []string {
	if !f.all() {
		return f.architectures
	}
	var names []string
	for _, a := range info.Architectures {
		v := lab.Variant{System: info.Name, Architecture: a.Name, Deployment: f.deployment()}
		if possible(info, v) == nil && refuses(v) == nil {
			names = append(names, a.Name)
		}
	}
	return names
}

// possible says why a variant of a system cannot be; nil where it can.
func possible(info lab.SystemInfo, v lab.Variant) error {
	if info.Check != nil {
		return info.Check(v)
	}
	if a, known := info.Architecture(v.Architecture); known {
		for _, knob := range slices.Sorted(maps.Keys(v.Knobs)) {
			if a.KnobValue(lab.Variant{}, knob) == "" {
				return fmt.Errorf("the architecture %s of %s has no knob %q", a.Name, info.Name, knob)
			}
		}
		return nil
	}
	var names []string
	for _, a := range info.Architectures {
		names = append(names, a.Name)
	}
	return fmt.Errorf("the system %s has no architecture %q: use one of %s", info.Name, v.Architecture,
		strings.Join(names, ", "))
}

// check plays the plan and shows what the audits say.
func (a app) check(command *cobra.Command, plan lab.Plan, shown lab.CheckTable, flags *checkFlags) error {
	if flags.planOnly && flags.resume == "" {
		_, plan, err := a.prepared(plan, &flags.experimentFlags)
		if err != nil {
			return err
		}
		return a.showPlan(plan, &flags.experimentFlags)
	}
	conductor, folder, plan, err := a.begin(command, plan, &flags.experimentFlags)
	if err != nil {
		return err
	}
	defer folder.Unlock()
	played := a.play(command.Context(), conductor, plan, folder)
	if played != nil && !run.Interrupted(played) {
		return played
	}
	trials, err := folder.Trials()
	if err != nil {
		return errors.Join(played, err)
	}
	if err := a.showChecks(folder, plan, shown, trials, flags); err != nil || played != nil {
		return errors.Join(played, err)
	}
	return checkVerdict(plan, trials)
}

// showChecks writes a line for every architecture, and what is wrong with it.
func (a app) showChecks(
	folder *store.Folder, plan lab.Plan, asked lab.CheckTable, trials []lab.Trial, flags *checkFlags,
) error {
	shown := a.shown(flags.documents.takeOutput())
	table := tabwriter.NewWriter(shown, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "architecture\tverdict\t%son\n", headings(asked.Columns))
	for _, trial := range trials {
		services := slices.Sorted(maps.Values(trial.Services))
		fmt.Fprintf(table, "%s\t%s\t%s%s\n", trial.Variant, trial.Audit.Verdict, cells(asked.Columns, trial),
			strings.Join(services, ", "))
	}
	if err := errors.Join(table.Flush(), showFaults(shown, asked.Faults, trials)); err != nil {
		return err
	}
	for _, trial := range trials {
		for _, problem := range trial.Audit.Problems {
			fmt.Fprintf(shown, "%s: %s\n", trial.Variant, problem)
		}
	}
	for _, v := range plan.Study.Absent {
		fmt.Fprintf(shown, "%s: untestable here: %s\n", v.Name, v.Reason)
	}
	fmt.Fprintf(shown, "\nraw data  %s\n", folder.Dir())
	concluded, err := analyse(folder)
	if err != nil {
		return err
	}
	return errors.Join(a.writeJSONFile(flags.documents.json, concluded),
		a.writeFormat(folder, flags.documents, concluded, nil, false))
}

// headings are the titles of columns, each with a tab behind it.
func headings(columns []lab.CheckColumn) (row string) {
	for _, c := range columns {
		row += c.Title + "\t"
	}
	return row
}

// cells are the values of columns, each with a tab behind it.
func cells(columns []lab.CheckColumn, trial lab.Trial) (row string) {
	for _, c := range columns {
		if c.Metric != "" {
			row += fmt.Sprintf("%.*f\t", c.Digits, trial.Values()[c.Metric])
		} else {
			row += fmt.Sprintf("%d\t", trial.Audit.Counts[c.Count])
		}
	}
	return row
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
