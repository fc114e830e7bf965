package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// checkName is the name of the study of every check.
const checkName = "check"

type checkFlags struct {
	foreignFlags
	architectures []string
	operations    int
	knobs         map[string]string
	faults        []string
	replicas      map[string]int
}

func (a app) checkCommand() *cobra.Command {
	var flags checkFlags
	command := &cobra.Command{
		Use:   "check SYSTEM | FILE...",
		Short: "push work through every architecture of a system and audit it",
		Long: `Deploys each architecture afresh, pushes the work through it as fast as it is
answered, waits until all is done, and compares what clients and units report with
each other and with what the databases hold: nothing may be lost, doubled, half done
or made up. If no operation was confirmed, the verdict is unknown.
The systems that can be checked: ` + strings.Join(systemsThat[lab.Checkable](), ", ") + `.

FILE is a system of yours: a compose file, a system file, or anything else that cleave
compare takes. Its answers are judged by --expect-... or the scenario, and the data that
it holds after the load by --audit, or by audit in its system file (docs/faults.md).
If that audit is undecided, the exit code is 6.` +
			exitCodesHelp(exitFine, exitFailed, exitBadPlan, exitMissingPart, exitInvariant, exitInterrupted),
		Example: `  cleave check shop --operations 10000
  cleave check shop --architecture monolith,sync --backing mariadb
  cleave check shop --operations 5000 --fault kill:every-unit
  cleave check compose.yaml --scenario order.yaml --fault kill:cart --audit './audit.sh {history} {url}'`,
		Args: arguments(orResumed(cobra.MinimumNArgs(1))),
		RunE: func(command *cobra.Command, args []string) error {
			flags.strict = flags.strict || !flags.all() // an architecture that was asked for is not left out
			ours := []string{"architecture", "knob", "replicas", "level", backingFlag}
			return a.playEither(command, args, &flags.foreignFlags, ours, planners{flags.plan, flags.foreignPlan},
				a.reportCheck)
		},
	}
	flags.register(command)
	return command
}

func (f *checkFlags) register(command *cobra.Command) {
	f.isSet = command.Flags().Changed
	addGroup(command, "What is checked", func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&f.architectures, "architecture", []string{"all"}, "`architectures` to check, or all")
		flags.StringToStringVar(&f.knobs, "knob", nil,
			"`knob=value` of every architecture, e.g. runtime=java; repeatable")
		flags.StringToIntVar(&f.replicas, "replicas", nil,
			"number of replicas of a unit in every architecture, `UNIT=NUMBER`, e.g. gateway=2; repeatable")
	}, f.addBackings)
	addGroup(command, "Load", func(flags *pflag.FlagSet) {
		flags.IntVar(&f.operations, "operations", 1000, "`number` of operations to push through each architecture")
		f.addLevels(flags)
		flags.StringArrayVar(&f.faults, "fault", nil, "fault in mid-load, and its end: "+
			"`KIND:TARGET[@AFTER][+HEAL]`; KIND is kill, restart, pause, cut, slow, fill, update, or drain of a "+
			"node, TARGET a unit, database, broker, documents, a node or every-unit; repeatable")
		flags.Uint64Var(&f.seed, "seed", 0, "seed of the operations (default 1)")
	})
	addGroup(command, "Deployment", f.addDeployment)
	f.addForeign(command)
	addGroup(command, foreignGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.audit, "audit", "", "`command` that judges each system after its load: it ends with 0, "+
			"5 (a rule is broken) or 6 (undecided); {history} and {url} stand for the file of what the generator "+
			"did, and for the address")
	})
	addGroup(command, "Experiment", f.addPlay)
	addGroup(command, "Output", f.addOutput)
}

// plan makes a plan with a trial for every architecture.
func (f *checkFlags) plan(name string) (lab.Plan, error) {
	system, err := systemFor[lab.Checkable](name, "checked")
	if err != nil {
		return lab.Plan{}, err
	}
	info := system.Describe()
	s, err := f.study(system)
	if err != nil {
		return lab.Plan{}, err
	}
	s.Title = "Check of " + info.Name
	if len(info.Metrics) > 0 { // the system is under load
		s.Load = &lab.Load{} // lasts until its operations are done, and until the faults are over
	}
	if err := f.useBackings(info.Name); err != nil {
		return lab.Plan{}, err
	}
	var wrong mistakes
	names, refused := f.names(info)
	for _, name := range names {
		v := lab.Variant{Name: name, System: info.Name, Architecture: name, Deployment: f.deployment(),
			Replicas: f.replicas, Knobs: map[string]string{}}
		maps.Copy(v.Knobs, f.knobs)
		wrong.add(f.putOnBackings(info, &v))
		s.Variants = append(s.Variants, v)
	}
	if err := wrong.err(); err != nil {
		return lab.Plan{}, err
	}
	if len(s.Variants) == 0 {
		return lab.Plan{}, fmt.Errorf("no architecture of %s can be deployed with %s: %w", info.Name,
			f.deployment(), refused)
	}
	s.Baseline = s.Variants[0].Name
	if err := f.addFaultPoints(system, &s); err != nil {
		return lab.Plan{}, err
	}
	if err := f.setLevels(info, s.Points...); err != nil {
		return lab.Plan{}, err
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// study returns the study of a check, still without variants.
func (f *checkFlags) study(system lab.Checkable) (lab.Study, error) {
	if most := system.CheckTable().Most; f.operations < 1 || f.operations > most {
		return lab.Study{}, fmt.Errorf("--operations is %d: use 1 to %d", f.operations, most)
	}
	info := system.Describe()
	const atOnce = 0 // operations are sent as fast as they are answered
	s := lab.Study{
		Schema: lab.StudySchema, Name: checkName, System: info.Name, Model: info.Model, Design: study.Defaults(),
		Points: []lab.Point{system.CheckPoint(f.operations, atOnce)}, Metrics: info.Metrics,
	}
	s.Design.Blocks = 1
	s.Design.MaxRepeats = 0
	s.Design.NoiseFloor = nil
	s.Design.Gates = lab.Gates{MaxStealShare: 1, MaxCalibrationDrift: 1e9} // a slow host breaks no rule
	return s, nil
}

// foreignPlan returns a plan with one trial for every system of the user.
func (f *checkFlags) foreignPlan(ctx context.Context, args []string) (lab.Plan, error) {
	definitions, err := f.systems(args, f.onlyDeployment())
	s, studyErr := f.study(external.System{})
	load, dir, loadErr := f.load()
	if err := errors.Join(err, studyErr, loadErr); err != nil {
		return lab.Plan{}, err
	}
	s.Load = &load
	s.Metrics = external.Metrics(s.Points)
	s.Design.TrialTimeout = trialTimeout(load, definitions) + loaded.Longest
	for _, d := range definitions {
		s.Variants = append(s.Variants, foreignVariant(d, nil))
	}
	isAudited := func(d external.Definition) bool { return d.Audit != nil }
	if !slices.ContainsFunc(definitions, isAudited) {
		f.notes = append(f.notes, "only the answers are judged: --audit, or audit in a system file, judges what a "+
			"system holds (docs/faults.md)")
	}
	names := systemNames(definitions)
	s.Title = "Check of " + strings.Join(names, ", ")
	s.Baseline = names[0]
	if err := f.checkSystems(ctx, &s, dir); err != nil {
		return lab.Plan{}, err
	}
	if err := f.addFaultPoints(external.System{}, &s); err != nil {
		return lab.Plan{}, err
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// all reports whether all architectures are checked.
func (f *checkFlags) all() bool { return slices.Equal(f.architectures, []string{"all"}) }

// names returns the architectures to check: those of --architecture, or all that can be deployed with the
// deployment of the flags. refused is why the last of the others cannot.
func (f *checkFlags) names(info lab.SystemInfo) (names []string, refused error) {
	if !f.all() {
		return f.architectures, nil
	}
	for _, a := range info.Architectures {
		v := lab.Variant{System: info.Name, Architecture: a.Name, Deployment: f.deployment()}
		if err := errors.Join(checkVariant(info, v), checkDeployment(v)); err != nil {
			refused = err
		} else {
			names = append(names, a.Name)
		}
	}
	return names, refused
}

// reportCheck is the reporter of check: it prints a line for every architecture, and the problems of the
// audits.
func (a app) reportCheck(folder *store.Folder, plan lab.Plan, flags *experimentFlags) (failure, err error) {
	system, err := systemOf(plan, a.secrets, "")
	if err != nil {
		return nil, err
	}
	checkable, can := system.(lab.Checkable)
	if !can {
		return nil, withCode(exitBadPlan, "%s is of the system %s, which cannot be checked", folder.Dir(),
			plan.Study.System)
	}
	columns := checkable.CheckTable()
	trials, err := folder.Trials()
	if err != nil {
		return nil, err
	}
	shown := a.textStream(flags.documents.takesOutput())
	kind := "architecture"
	if plan.Study.System == external.Name {
		kind = "system"
	}
	rows := [][]string{slices.Concat([]string{kind, "verdict"}, titlesOf(columns.Columns), []string{"on"})}
	for _, trial := range trials {
		services := strings.Join(slices.Sorted(maps.Values(trial.Services)), ", ")
		rows = append(rows, slices.Concat([]string{trial.Variant, string(trial.Audit.Verdict)},
			valuesOf(columns.Columns, trial), []string{services}))
	}
	for _, v := range plan.Study.Absent {
		rows = append(rows, []string{v.Name, "untestable here"})
	}
	if err := errors.Join(writeTable(shown, rows), showFaults(shown, kind, columns.Faults, trials)); err != nil {
		return nil, err
	}
	for _, trial := range trials {
		for _, problem := range trial.Audit.Problems {
			fmt.Fprintf(shown, "%s: %s\n", trial.Variant, problem)
		}
		for _, line := range trial.Audit.Said {
			fmt.Fprintf(shown, "%s: its audit: %s\n", trial.Variant, line)
		}
	}
	for _, note := range plan.Study.Notes {
		if !slices.Contains(flags.documents.notesShown, note) {
			fmt.Fprintln(shown, note)
		}
	}
	fmt.Fprintf(shown, "\nraw data  %s\n", folder.Dir())
	concluded, err := analyse(folder, "")
	if err != nil {
		return nil, err
	}
	return checkAudits(folder, plan.Study, concluded, exitFailed),
		errors.Join(a.writeJSONFile(flags.documents.json, concluded),
			a.writeFormat(folder, flags.documents, ci.Run{Analysis: concluded}))
}

// writeTable writes rows of cells as columns.
func writeTable(w io.Writer, rows [][]string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}

// titlesOf returns the titles of columns.
func titlesOf(columns []lab.CheckColumn) []string {
	return study.NamesOf(columns, func(c lab.CheckColumn) string { return c.Title })
}

// valuesOf returns the values of a trial in columns.
func valuesOf(columns []lab.CheckColumn, trial lab.Trial) (cells []string) {
	for _, c := range columns {
		value, measured := trial.Values()[c.Metric]
		switch {
		case c.Metric == "":
			cells = append(cells, fmt.Sprint(trial.Audit.Counts[c.Count]))
		case measured:
			cells = append(cells, fmt.Sprintf("%.*f", c.Digits, value))
		default:
			cells = append(cells, figure.Absent)
		}
	}
	return cells
}
