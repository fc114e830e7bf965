package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/fault"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/profiler"
	"github.com/cleave-lab/cleave/report/analysis"
	"github.com/cleave-lab/cleave/report/ci"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/report/progress"
	"github.com/cleave-lab/cleave/report/telemetry"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/traces"
)

// experimentFlags are the flags of every command that plays an experiment.
type experimentFlags struct {
	isSet       func(flag string) bool // whether the command line has the flag
	quick       bool
	scale       float64
	blocks      int
	points      []string
	backings    []string
	onBackings  func(lab.Variant) (map[string]string, error) // returns the knobs for backings; nil: none are set
	runtimes    []string
	deploy      string // deployment of every variant; empty: each keeps its own
	seed        uint64
	results     string
	resume      string
	progress    string
	out         outFlag
	serve       string // address; empty: the run is not shown in the browser
	planOnly    bool
	trust       bool
	noGates     bool
	needVerdict bool // an undecided claim or headline ends the command with exitUndecided
	documents   documentFlags
	sequential  sequentialFlags
	strict      bool // a part that this host lacks is an error; otherwise what needs it is left out
	profiled    int  // blocks in which every variant is profiled
}

// register adds the flags of commands that play a study file.
func (f *experimentFlags) register(command *cobra.Command) {
	f.isSet = command.Flags().Changed
	addGroup(command, "What is played", func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.quick, "quick", false, "play the quick profile of the study")
		flags.Float64Var(&f.scale, "scale", 0,
			"`factor` for the work of each trial, or the length of its load (1: full)")
		flags.IntVar(&f.blocks, "blocks", 0, "`number` of blocks (default: the study's)")
		flags.StringSliceVar(&f.points, "points", nil, "play these `points` only, e.g. s1,s5")
		flags.StringSliceVar(&f.runtimes, "runtime", nil,
			"leave out the variants of other `runtimes` than these, e.g. go,node")
	}, f.addBackings)
	addGroup(command, "Deployment", f.addDeployment)
	addGroup(command, "Experiment", f.addDesign, f.addPlay)
	addGroup(command, "Output", f.addOutput, f.addVerdict)
}

func (a app) reproduceCommand() *cobra.Command {
	var flags experimentFlags
	command := &cobra.Command{
		Use:   "reproduce STUDY",
		Short: "run a built-in study and say which published claims hold here",
		Long: `Plays a built-in study on this host, puts every published figure beside the
measured one, and says of each published claim whether the data support it.` +
			exitCodesHelp(measuredCodes()...),
		Example: "  cleave reproduce rego2021 --quick --json out.json\n  cleave reproduce costa2022 " +
			"--quick --backing mariadb,rabbitmq,mongo",
		Args:              arguments(orResumed(cobra.ExactArgs(1))),
		ValidArgsFunction: cobra.FixedCompletions(studies.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(command *cobra.Command, args []string) error {
			return a.planAndPlay(command, args, &flags, flags.planBuiltIn, a.reportAnalysis)
		},
	}
	flags.register(command)
	return command
}

func (a app) runCommand() *cobra.Command {
	var flags experimentFlags
	command := &cobra.Command{
		Use:   "run FILE | RUN",
		Short: "run your own study file, or a result folder's plan again",
		Long: `Plays the study in a YAML file. docs/study-files.md describes the format;
docs/schema/study.schema.json makes editors check it while you type.

Given a result folder, plays its plan once more: the same trials in the same
order with the same seeds, into a new folder.` + exitCodesHelp(measuredCodes()...),
		Example: "  cleave run my-study.yaml --blocks 10\n  cleave run results/rego2021/latest",
		Args:    arguments(orResumed(cobra.ExactArgs(1))),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				if folder, err := store.Open(args[0]); err == nil {
					return a.repeat(command, folder, &flags)
				}
			}
			return a.planAndPlay(command, args, &flags, flags.planFile, a.reportAnalysis)
		},
	}
	flags.register(command)
	addGroup(command, "Experiment", flags.addTrust)
	return command
}

// repeat plays the plan of a result folder again.
func (a app) repeat(command *cobra.Command, folder *store.Folder, flags *experimentFlags) error {
	for _, name := range []string{"quick", "scale", "blocks", "points", "seed", "until", "within", "resume",
		"runtime", "no-gates", profileFlag, backingFlag, deployFlagName} {
		if flags.isSet(name) {
			return withCode(exitBadPlan, "--%s would change the plan of %s: repeat it as it is, or run the study file",
				name, folder.Dir())
		}
	}
	plan, err := a.planToPlay(folder, flags.trust || flags.planOnly)
	if err != nil {
		return err
	}
	plan.Created = time.Now().UTC()
	return a.experiment(command, plan, flags, a.reportAnalysis)
}

// orResumed returns a check that accepts what wanted accepts, or no arguments with --resume, whose folder has
// the plan.
func orResumed(wanted cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == 0 && command.Flags().Changed("resume") {
			return nil
		}
		return wanted(command, args)
	}
}

// planAndPlay plays the plan that the planner makes of the only argument: a study, a system of Cleave or a
// model. Without an argument it continues the plan in the folder of --resume.
func (a app) planAndPlay(
	command *cobra.Command, args []string, flags *experimentFlags, planner func(name string) (lab.Plan, error),
	report reporter,
) error {
	if len(args) == 0 {
		return a.playRest(command, flags, report)
	}
	if err := arguments(cobra.ExactArgs(1))(command, args); err != nil {
		return err
	}
	plan, err := planner(args[0])
	if err != nil {
		return badPlan(err)
	}
	return a.experiment(command, plan, flags, report)
}

// playRest plays the rest of the plan in the folder of --resume.
func (a app) playRest(command *cobra.Command, flags *experimentFlags, report reporter) error {
	var plan lab.Plan
	folder, err := store.Open(flags.resume)
	if err == nil {
		plan, err = folder.Plan()
	}
	if err != nil {
		return badPlan(err)
	}
	if !canContinue(command.Name(), plan.Study.Name) {
		return withCode(exitBadPlan, "%s holds the study %q of %s, which is not of cleave %s: go on with cleave "+
			"run --resume %s", folder.Dir(), plan.Study.Name, plan.Study.System, command.Name(),
			shell.Quote(folder.Dir()))
	}
	return a.experiment(command, plan, flags, report)
}

// canContinue reports whether a command can continue a study with that name. run can continue any.
func canContinue(command, study string) bool {
	switch command {
	case "run":
		return true
	case "reproduce":
		return slices.Contains(studies.Names(), study)
	case explainName:
		return study == explainName || study == explainedStudy
	}
	return study == command
}

// reporter shows the results of an experiment. failure is the error with which the command ends because of
// the results; err says why they could not be shown.
type reporter func(folder *store.Folder, plan lab.Plan, flags *experimentFlags) (failure, err error)

// experiment plays a plan and reports the results. With --plan it only shows the plan.
func (a app) experiment(
	command *cobra.Command, plan lab.Plan, flags *experimentFlags, report reporter,
) error {
	if err := flags.documents.check(); err != nil {
		return err
	}
	if flags.resume == "" { // otherwise openResumed checks the plan of the folder
		if err := checkClusters(command.Flags(), plan.Study.Variants); err != nil {
			return err
		}
	}
	if flags.planOnly && flags.resume == "" {
		return a.showPlan(command.Context(), plan, flags)
	}
	page, err := a.openPage(flags.serve)
	if err != nil {
		return err
	}
	defer page.close()
	conductor, folder, plan, err := a.begin(command, plan, flags)
	if err != nil {
		return err
	}
	defer folder.Unlock()
	if err := page.show(command.Context(), folder.Dir(), plan.Study.Name); err != nil {
		return err
	}
	played := a.play(command.Context(), conductor, plan, folder, flags.out)
	var failure error
	if played == nil || run.Interrupted(played) {
		failure, err = report(folder, plan, flags)
	}
	if played != nil {
		return errors.Join(played, err, a.adviseResume(command, folder))
	}
	if err != nil {
		return err
	}
	return failure
}

// reportAnalysis is the reporter of most commands. It shows the analysis of a study.
func (a app) reportAnalysis(
	folder *store.Folder, plan lab.Plan, flags *experimentFlags,
) (failure, err error) {
	concluded, err := a.conclude(folder, flags.documents)
	if err == nil {
		err = a.writeFormat(folder, flags.documents, ci.Run{Analysis: concluded})
	}
	if err != nil {
		return nil, err
	}
	return verdict(folder, plan.Study, concluded, flags.needVerdict), nil
}

// begin returns the conductor of a plan, the locked folder for its results, and the plan: with --resume that
// of the folder.
func (a app) begin(
	command *cobra.Command, plan lab.Plan, flags *experimentFlags,
) (*run.Conductor, *store.Folder, lab.Plan, error) {
	var folder *store.Folder
	if flags.resume != "" {
		var err error
		if folder, plan, err = a.openResumed(command, plan, flags); err != nil {
			return nil, nil, plan, err
		}
	}
	conductor, plan, err := a.prepare(command.Context(), plan, flags)
	if err == nil && folder == nil {
		folder, err = store.Create(flags.results, plan, meter.NewHost(version).Environment())
	}
	if err == nil {
		err = folder.Lock()
	}
	return conductor, folder, plan, err
}

// openResumed returns the folder of an interrupted experiment and its plan. It refuses flags that would
// change the plan, and flags for clusters on which the plan deploys nothing.
func (a app) openResumed(
	command *cobra.Command, plan lab.Plan, flags *experimentFlags,
) (*store.Folder, lab.Plan, error) {
	forbidden := changedFlags(command, func(f *pflag.Flag) bool {
		return !slices.Contains([]string{"resume", "progress", "out", serveName, "json", "format", "full",
			"require-verdict", "trust", "context", "kubeconfig", "swarm", "hosts", "registry"}, f.Name)
	})
	slices.Sort(forbidden)
	if len(forbidden) > 0 {
		return nil, plan, withCode(exitBadPlan, "--resume goes on with the plan of %s, which %s cannot change: "+
			"leave that out, or begin anew without --resume",
			flags.resume, strings.Join(forbidden, ", "))
	}
	folder, err := store.Open(flags.resume)
	if err != nil {
		return nil, plan, badPlan(err)
	}
	begun, err := a.planToPlay(folder, flags.trust)
	if err != nil {
		return nil, plan, err
	}
	if begun.Study.Name != plan.Study.Name || begun.Study.System != plan.Study.System {
		return nil, plan, withCode(exitBadPlan, "%s holds the study %s of %s, not %s of %s", folder.Dir(),
			begun.Study.Name, begun.Study.System, plan.Study.Name, plan.Study.System)
	}
	return folder, begun, checkClusters(command.Flags(), begun.Study.Variants)
}

// conductor returns the conductor that plays the plan, without its store.
func (a app) conductor(plan lab.Plan, flags *experimentFlags) (*run.Conductor, error) {
	label, err := launch.Own()
	if err != nil {
		return nil, withCode(exitMissingPart, "%w", err)
	}
	scratch := filepath.Join(leftovers.Root(), label.String())
	own, units, err := programs()
	if err != nil {
		return nil, err
	}
	spans := os.Getenv(spansVariable)
	if spans == "" && slices.ContainsFunc(flags.out, telemetry.Target.TakesSpans) {
		spans = filepath.Join(scratch, outgoingSpans)
	}
	system, err := systemOf(plan, a.secrets, spans)
	if err != nil {
		return nil, err
	}
	services, err := backings(scratch)
	if err != nil {
		return nil, err
	}
	available, err := deployers(own, units, label.String())
	if err != nil {
		return nil, err
	}
	shown := progress.New(plain.Raw(a.errOut), a.progressForm(flags.progress), time.Now)
	return &run.Conductor{
		System: system, Deployers: available, Backings: services, Meter: meter.New(), Profiler: profiler.Profiler{},
		Tracer:   traces.Collector{},
		Injector: fault.Injector{}, Host: meter.NewHost(version),
		Stopping: stopping(plan, system.Describe()), Progress: shown, Scratch: scratch,
		Conceal: a.secrets.Conceal,
	}, nil
}

// stopping returns the rule that stops an experiment when it is decided.
func stopping(plan lab.Plan, system lab.SystemInfo) lab.StoppingRule {
	return analysis.NewRule(analysis.Input{Plan: plan, System: system})
}

// play plays the plan into the folder, exports its progress to out, and removes the scratch folder.
func (a app) play(
	ctx context.Context, conductor *run.Conductor, plan lab.Plan, folder *store.Folder, out outFlag,
) error {
	if found, err := leftovers.Find(leftovers.Root()); err == nil && len(found.Left) > 0 {
		a.note("an earlier cleave has left something on this host (%d in all); remove it with: cleave clean",
			len(found.Left))
	}
	own, _, err := programs()
	if err != nil {
		return err
	}
	root, label := filepath.Split(conductor.Scratch)
	// The sweeper is a process of its own: it removes the leftovers if this one is killed.
	scratch, err := leftovers.Claim(filepath.Clean(root), label, []string{own, sweeperName})
	if err != nil {
		return err
	}
	outs, endOuts, err := a.openOuts(out)
	if err != nil {
		return errors.Join(err, scratch.Release())
	}
	defer endOuts()
	endJournals, err := keepJournals(conductor, folder)
	if err != nil {
		return errors.Join(err, scratch.Release())
	}
	defer endJournals()
	conductor.Store = folder
	conductor.Progress = telemetry.Follow(conductor.Progress, outs,
		spansIn(filepath.Join(conductor.Scratch, outgoingSpans)))
	return errors.Join(conductor.Play(ctx, plan), scratch.Release())
}

// progressForm returns the form that --progress names; auto depends on whether errOut is a terminal.
func (a app) progressForm(name string) progress.Form {
	switch {
	case name == "json":
		return progress.JSON
	case name == "none":
		return progress.None
	case name == "terminal", name == "auto" && isTerminal(a.errOut):
		return progress.Terminal
	}
	return progress.Plain
}

// adviseResume prints the number of kept trials and the command that continues the experiment.
func (a app) adviseResume(command *cobra.Command, folder *store.Folder) error {
	trials, err := folder.Trials()
	if err != nil {
		return err
	}
	next := shell.Quote("cleave", command.Name(), "--resume", folder.Dir())
	fmt.Fprintf(a.errOut, "%s kept in %s\ngo on with: %s\n", lab.Count(len(trials), "trial"), folder.Dir(), next)
	return nil
}
