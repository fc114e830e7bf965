package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/fault"
	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/profiler"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/report/progress"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
)

// experimentFlags are the flags of reproduce and run, and in part of compare.
type experimentFlags struct {
	quick     bool
	scale     float64
	blocks    int
	points    []string
	backings  []string
	runtimes  []string
	deploy    deployFlag
	seed      uint64
	results   string
	resume    string
	progress  progressFlag
	planOnly  bool
	trust     bool
	noGates   bool
	mustKnow  bool
	documents documentFlags
	looks     sequentialFlags
	strict    bool
	profiled  profiledFlag
}

func (f *experimentFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVar(&f.quick, "quick", false, "play the study's quick profile")
	flags.Float64Var(&f.scale, "scale", 0,
		"multiply the amount of work per trial, or the length of its load (1 is full)")
	flags.IntVar(&f.blocks, "blocks", 0, "number of blocks (default: the study's)")
	flags.StringSliceVar(&f.points, "points", nil, "play only these points, for example s1,s5")
	flags.StringSliceVar(&f.runtimes, "runtime", nil,
		"leave out the variants of other runtimes than these, for example go,node")
	flags.BoolVar(&f.noGates, "no-gates", false, "count trials also when host or generator were disturbed")
	registerBackings(command, &f.backings)
	registerDeploy(command, &f.deploy)
	f.looks.register(flags)
	f.registerPlay(command)
	f.registerVerdict(command)
}

// registerPlay makes the flags that say how an experiment is played and shown.
func (f *experimentFlags) registerPlay(command *cobra.Command) {
	flags := command.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "seed of order and random choices (default: the study's)")
	flags.StringVar(&f.results, "results", "results", "folder for results")
	flags.StringVar(&f.resume, "resume", "", "go on with an interrupted experiment in this result folder")
	flags.BoolVar(&f.strict, "strict", false,
		"refuse (exit code 3) where this host lacks a part, instead of leaving out what needs it")
	f.progress = "auto"
	flags.Var(&f.progress, "progress",
		"how progress is shown: auto, terminal, plain (a line each trial), json (an object) or none")
	flags.BoolVar(&f.trust, "trust", false, "play what a result folder of somebody else starts, without asking")
	flags.BoolVar(&f.planOnly, "plan", false, "say what would be played, how long that takes and what it "+
		"keeps, and play nothing; with --json the plan itself")
	f.documents.register(command)
}

// registerVerdict makes the flags of experiments that compare variants.
func (f *experimentFlags) registerVerdict(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVar(&f.mustKnow, "require-verdict", false,
		"exit with code 6 when a claim or the headline stays undecided")
	f.profiled.register(flags)
	f.documents.registerFull(command)
}

// options are what the flags change in the study: numbers only when given.
func (f *experimentFlags) options(command *cobra.Command) study.Options {
	o := study.Options{Profiled: f.profiled.blocks(command.Flags()), Quick: f.quick, Points: f.points,
		Runtimes: f.runtimes, NoGates: f.noGates, Deployment: string(f.deploy)}
	if command.Flags().Changed("scale") {
		o.Scale = &f.scale
	}
	if command.Flags().Changed("blocks") {
		o.Blocks = &f.blocks
	}
	if command.Flags().Changed("seed") {
		o.Seed = &f.seed
	}
	return o
}

// checkDesign finds mistakes in the numbers of an experiment without a study file.
func (f *experimentFlags) checkDesign(margin float64, duration time.Duration, w warmUp) error {
	var mistakes []error
	if f.blocks < 1 || f.blocks > study.MaxBlocks {
		mistakes = append(mistakes, fmt.Errorf("--blocks is %d, expected a whole number from 1 to %d", f.blocks,
			study.MaxBlocks))
	}
	if !(margin >= 0 && margin < 1) {
		mistakes = append(mistakes, fmt.Errorf("--margin is %g, expected a share from 0 to below 1", margin))
	}
	if duration < time.Second || duration > study.Longest {
		mistakes = append(mistakes, fmt.Errorf("--duration is %v, expected 1s to %.0fh", duration,
			study.Longest.Hours()))
	}
	if w.least < 0 || w.least > study.Longest {
		mistakes = append(mistakes, fmt.Errorf("--warm-up is %v, expected 0s to %.0fh, or %s", w.least,
			study.Longest.Hours(), study.Steady))
	}
	if lowest := max(w.least.Seconds(), lab.LeastWarmUpLimit); w.limit != 0 &&
		!(w.limit.Seconds() >= lowest && w.limit.Seconds() <= lab.LongestWarmUpLimit) {
		mistakes = append(mistakes, fmt.Errorf("--warm-up-limit is %v, expected %gs to %gs: in less, no load "+
			"shows that it is steady", w.limit, lowest, lab.LongestWarmUpLimit))
	}
	return errors.Join(mistakes...)
}

func (a app) reproduceCommand() *cobra.Command {
	var flags experimentFlags
	command := &cobra.Command{
		Use:   "reproduce STUDY",
		Short: "run a built-in study and say which published claims hold here",
		Long: `Plays a built-in study on this host, puts every published figure beside the
measured one, and says of each published claim whether the data support it.`,
		Example: "  cleave reproduce rego2021 --quick --json out.json\n  cleave reproduce costa2022 " +
			"--quick --backing mariadb,rabbitmq,mongo",
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions(studies.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(command *cobra.Command, args []string) error {
			data, err := studies.Read(args[0])
			if err != nil {
				return withCode(exitBadPlan, "%w", err)
			}
			return a.study(command, args[0]+".yaml", data, &flags)
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
order with the same seeds, into a new folder.`,
		Example: "  cleave run my-study.yaml --blocks 10\n  cleave run results/rego2021/latest",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if folder, err := store.Open(args[0]); err == nil {
				return a.repeat(command, folder, &flags)
			}
			data, err := inputfile.Read(args[0], study.MaxBytes)
			if err != nil {
				return withCode(exitBadPlan, "read the study file: %w", err)
			}
			return a.study(command, args[0], data, &flags)
		},
	}
	flags.register(command)
	return command
}

// repeat plays the plan of a result folder again.
func (a app) repeat(command *cobra.Command, folder *store.Folder, flags *experimentFlags) error {
	for _, name := range []string{"quick", "scale", "blocks", "points", "seed", "until", "within", "resume",
		"runtime", "no-gates", profileFlag, backingFlag, deployFlagName} {
		if command.Flags().Changed(name) {
			return withCode(exitBadPlan, "--%s would change the plan of %s: repeat it as it is, or run the study file",
				name, folder.Dir())
		}
	}
	plan, err := a.planToPlay(folder, flags.trust || flags.planOnly)
	if err != nil {
		return err
	}
	plan.Created = time.Now().UTC()
	return a.experiment(command, plan, flags)
}

// study plans, plays and reports a study file.
func (a app) study(command *cobra.Command, path string, data []byte, flags *experimentFlags) error {
	plan, err := planOf(path, data, flags, flags.options(command))
	if err != nil {
		return err
	}
	return a.experiment(command, plan, flags)
}

// experiment plays a plan and reports what came out.
func (a app) experiment(command *cobra.Command, plan lab.Plan, flags *experimentFlags) error {
	if flags.resume == "" {
		var err error
		if plan, err = flags.looks.apply(command, plan); err != nil {
			return err
		}
		if flags.planOnly {
			if _, plan, err = a.prepared(plan, flags); err != nil {
				return err
			}
			return a.showPlan(plan, flags)
		}
	}
	conductor, folder, plan, err := a.begin(command, plan, flags)
	if err != nil {
		return err
	}
	defer folder.Unlock()
	played := a.play(command.Context(), conductor, plan, folder)
	if played != nil && !run.Interrupted(played) {
		return errors.Join(played, a.adviseResume(command, folder))
	}
	analysis, err := a.conclude(folder, flags.documents)
	if err == nil {
		err = a.writeFormat(folder, flags.documents, analysis, nil, false)
	}
	if played != nil {
		return errors.Join(played, err, a.adviseResume(command, folder))
	}
	if err != nil {
		return err
	}
	return verdict(folder, plan.Study, analysis, flags.mustKnow)
}

func planOf(path string, data []byte, flags *experimentFlags, options study.Options) (lab.Plan, error) {
	file, err := study.Parse(path, data, systemInfos())
	if err != nil {
		return lab.Plan{}, err
	}
	if options.Knobs, err = backed(file.Study.System, flags.backings); err != nil {
		return lab.Plan{}, err
	}
	options.Refuses = refuses
	return expand(file, options, flags.quick)
}

// expand makes the plan of a study, under the name of the profile that was asked for.
func expand(file *study.File, options study.Options, quick bool) (lab.Plan, error) {
	resolved, err := file.Resolve(options)
	if err != nil {
		return lab.Plan{}, err
	}
	profile := "full"
	if quick {
		profile = "quick"
	}
	return study.Expand(resolved, profile, time.Now())
}

// begin makes ready what plays the plan, and the locked folder that it is played
// into. With --resume the plan is that of the folder.
func (a app) begin(
	command *cobra.Command, plan lab.Plan, flags *experimentFlags,
) (*run.Conductor, *store.Folder, lab.Plan, error) {
	refused := func(err error) (*run.Conductor, *store.Folder, lab.Plan, error) { return nil, nil, plan, err }
	if err := flags.documents.check(); err != nil {
		return refused(err)
	}
	var folder *store.Folder
	if flags.resume != "" {
		var err error
		if folder, plan, err = a.resumed(command, plan, flags); err != nil {
			return refused(err)
		}
	}
	conductor, plan, err := a.prepared(plan, flags)
	if err == nil && folder == nil {
		folder, err = store.Create(flags.results, plan, meter.NewHost(version).Environment())
	}
	if err == nil {
		err = folder.Lock()
	}
	return conductor, folder, plan, err
}

// resumed opens the folder of an interrupted experiment. Its plan is played: a flag
// that would make another one is refused.
func (a app) resumed(
	command *cobra.Command, plan lab.Plan, flags *experimentFlags,
) (*store.Folder, lab.Plan, error) {
	var fixed []string
	command.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"resume", "progress", "json", "full", "require-verdict", "trust", "context",
			"kubeconfig", "swarm", "hosts", "registry"}, f.Name) {
			fixed = append(fixed, "--"+f.Name)
		}
	})
	if len(fixed) > 0 {
		return nil, plan, withCode(exitBadPlan, "--resume goes on with the plan of %s, which %s cannot change: "+
			"leave that out, or begin anew without --resume",
			flags.resume, strings.Join(fixed, ", "))
	}
	folder, err := store.Open(flags.resume)
	if err != nil {
		return nil, plan, withCode(exitBadPlan, "%w", err)
	}
	begun, err := a.planToPlay(folder, flags.trust)
	if err == nil && begun.Study.Name != plan.Study.Name {
		err = withCode(exitBadPlan, "%s holds the study %s, not %s", folder.Dir(), begun.Study.Name,
			plan.Study.Name)
	}
	return folder, begun, err
}

// conductor joins the rooms that play the plan; only the store is missing.
func (a app) conductor(plan lab.Plan, flags *experimentFlags) (*run.Conductor, error) {
	label, err := launch.Own()
	if err == nil {
		err = leftovers.CheckRoot(leftovers.Root())
	}
	if err != nil {
		return nil, withCode(exitMissingPart, "%w", err)
	}
	scratch := filepath.Join(leftovers.Root(), label.String())
	own, units, err := programs()
	if err != nil {
		return nil, err
	}
	system, err := systemOf(plan, a.secrets)
	if err != nil {
		return nil, err
	}
	services, err := backings(scratch)
	if err != nil {
		return nil, err
	}
	ways, err := deployers(own, units, label.String())
	if err != nil {
		return nil, err
	}
	return &run.Conductor{
		System: system, Deployers: ways, Backings: services, Meter: meter.New(), Profiler: profiler.Profiler{},
		Injector: fault.Injector{}, Host: meter.NewHost(version),
		Stopping: stopping(plan, system.Describe()), Progress: progress.New(plain.Raw(a.story),
			a.progressForm(flags.progress), time.Now), Scratch: scratch, Conceal: a.secrets.Conceal,
	}, nil
}

// play plays the plan into the folder and leaves nothing behind.
func (a app) play(ctx context.Context, conductor *run.Conductor, plan lab.Plan, folder *store.Folder) error {
	if found, err := leftovers.Find(leftovers.Root()); err == nil && len(found.Left) > 0 {
		fmt.Fprintf(a.story, "note: %d leftovers of an earlier cleave are on this host; remove them with: cleave "+
			"clean\n", len(found.Left))
	}
	own, _, err := programs()
	if err != nil {
		return err
	}
	root, label := filepath.Split(conductor.Scratch)
	scratch, err := leftovers.Claim(filepath.Clean(root), label, []string{own, sweeperName})
	if err != nil {
		return err
	}
	conductor.Store = folder
	return errors.Join(conductor.Play(ctx, plan), scratch.Release())
}

// progressFlag is the name of a form in which progress is shown.
type progressFlag string

// String implements pflag.Value.
func (p *progressFlag) String() string { return string(*p) }

// Type implements pflag.Value.
func (p *progressFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (p *progressFlag) Set(name string) error {
	if known := []string{"auto", "terminal", "plain", "json", "none"}; !slices.Contains(known, name) {
		return fmt.Errorf("expected %s", strings.Join(known, ", "))
	}
	*p = progressFlag(name)
	return nil
}

func (a app) progressForm(name progressFlag) progress.Form {
	switch {
	case name == "json":
		return progress.JSON
	case name == "none":
		return progress.None
	case name == "terminal", name == "auto" && isTerminal(a.story):
		return progress.Terminal
	}
	return progress.Plain
}

// adviseResume says how to go on, as the last line of the story.
func (a app) adviseResume(command *cobra.Command, folder *store.Folder) error {
	trials, err := folder.Trials()
	if err != nil {
		return err
	}
	what := command.Name() + " " + command.Flags().Arg(0)
	if command.Name() == compareName {
		what = compareName // its plan holds the systems
	}
	fmt.Fprintf(a.story, "%d trials are kept in %s\ngo on with: cleave %s --resume %s\n", len(trials),
		folder.Dir(), what, folder.Dir())
	return nil
}
