package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/traces"
)

// modelName is the name of the study that provides the data for the model of a system.
const modelName = "model"

// Variants of that study. One is metered; in the other every operation is traced.
const (
	meteredVariant  = "metered"
	followedVariant = "followed"
)

// spansFolder is the folder with the spans of a model's trials, in their result folder.
const spansFolder = "spans"

// modelFlags are the flags of model.
type modelFlags struct {
	foreignFlags
	architecture string
	rate         float64
	further      []float64 // further rates at which the system is metered
	capacity     bool      // meter the system also at its capacity
	component    string
	out          string
}

func (a app) modelCommand() *cobra.Command {
	var flags modelFlags
	command := &cobra.Command{
		Use:   "model SYSTEM | model FILE | model RUN | model TRACES...",
		Short: "make a model of a system: its components, their calls, CPU time and waiting",
		Long: `Writes a model of a system as a YAML file to be read and edited by hand: the
components, the tree of calls of each operation, and for each call the CPU time,
the waiting, and what it does at stores. docs/modelling.md explains every key.

Of SYSTEM, one of our own, trials are played at a low rate and at three times as
many operations: metered without spans and, at the low rate, with a span of every
call. What was metered is divided over the calls. The systems: ` +
			strings.Join(systemsThat[lab.Modelled](), ", ") + `.

Of FILE, a compose file or a system file of yours as cleave compare takes them, the
same is done: at --rate and at three times as many flows its units are metered, and
at --rate all of them are asked for spans. --component distinguishes components within
a service. --further-rates meters at more rates: CPU time depends on the rate,
and predict takes it from those that were measured. --capacity meters it under as
much load as it bears, for predictions of the capacity.
RUN is the result folder of such trials: the model is made anew.

TRACES are files or folders with spans of your own system, in the formats that
cleave traces reads. They hold no CPU times: self times stand for them, which are
an upper bound.`,
		Example: `  cleave model shop --out shop.model.yaml
  cleave model compose.yaml --rate 20 --scenario shop.yaml --out ours.model.yaml
  cleave model spans.jsonl --component module.name --out ours.model.yaml
  cleave model show shop.model.yaml`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error { return a.model(command, args, &flags) },
	}
	flags.register(command)
	command.AddCommand(a.modelShowCommand())
	return command
}

func (f *modelFlags) register(command *cobra.Command) {
	f.isSet = command.Flags().Changed
	addGroup(command, "What is modelled", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.architecture, "architecture", "",
			"`architecture` of SYSTEM, with knobs behind it (default: the system's)")
		flags.StringVar(&f.component, "component", "",
			"`attribute` of spans of FILE or TRACES that names the component of a service, such as module.name")
	}, f.addBackings)
	addGroup(command, "Load", func(flags *pflag.FlagSet) {
		flags.Float64VarP(&f.rate, "rate", "r", 0,
			"operations per second: few, so that nothing queues; of FILE flows (default: the system's)")
		flags.Float64SliceVar(&f.further, "further-rates", nil,
			"further `rates` to meter, such as 200,400: those of later predictions")
		addCapacity(flags, &f.capacity)
		f.addLength(flags, 10*time.Second)
	})
	addGroup(command, "Deployment", f.addDeployment)
	addGroup(command, "Experiment", func(flags *pflag.FlagSet) {
		flags.IntVar(&f.blocks, "blocks", 3, "number of measurements of each variant")
		flags.BoolVar(&f.noGates, "no-gates", false, "count trials even if the host or the generator was disturbed")
		flags.BoolVar(&f.planOnly, "plan", false, "show trials, time and disk of the plan, and play nothing")
	})
	f.addForeign(command)
	addGroup(command, "Output", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.out, "out", "-", "`file` for the model, - for standard output")
	}, f.addResults)
}

func (a app) modelShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show FILE",
		Short:   "draw a model, and say what is missing or weak",
		Example: "  cleave model show shop.model.yaml",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := readModel(args[0])
			if err != nil {
				return err
			}
			return m.Show(a.out)
		},
	}
}

// readModel reads a model file.
func readModel(path string) (model.Model, error) {
	data, err := inputfile.Read(path, model.MaxBytes)
	if err != nil {
		return model.Model{}, withCode(exitBadPlan, "read the model: %w: cleave model makes one", err)
	}
	m, err := model.Parse(path, data)
	if err != nil {
		return m, badPlan(err)
	}
	return m, nil
}

// model makes a model of the system, run or traces that the arguments name.
func (a app) model(command *cobra.Command, args []string, flags *modelFlags) error {
	if err := checkOutput("--out", flags.out); err != nil {
		return err
	}
	system, ours := systemNamed[lab.Modelled](args[0], systemSettings{})
	if ours && len(args) == 1 {
		return a.modelOurs(command, system, flags)
	}
	folder, notRun := store.Open(args[0])
	if notRun != nil && len(args) == 1 && namesForeignSystem(args[0]) {
		return a.modelForeign(command, args, flags)
	}
	wrong := changedFlags(command, func(f *pflag.Flag) bool { return f.Name != "out" && f.Name != "component" })
	if len(wrong) > 0 {
		return withCode(exitBadPlan, "%s is only for trials of a system: one of yours, or one of %s",
			strings.Join(wrong, ", "), strings.Join(systemsThat[lab.Modelled](), ", "))
	}
	if notRun == nil && len(args) == 1 {
		if flags.component != "" {
			return withCode(exitBadPlan, "--component: the trials in %s named the components of their spans already: "+
				"leave it out, or play them again with it", folder.Dir())
		}
		return a.modelRun(folder, flags.out)
	}
	return a.modelTraces(args, flags)
}

// modelTraces makes a model of files with spans.
func (a app) modelTraces(paths []string, flags *modelFlags) error {
	from := model.Evidence{Name: filepath.Base(paths[0]), About: "made of spans"}
	for _, path := range paths {
		set, err := traces.Read(path, flags.component)
		if err != nil {
			return withCode(exitBadPlan, "%w (systems that models are made of: %s)", err,
				strings.Join(systemsThat[lab.Modelled](), ", "))
		}
		from.Traces = append(from.Traces, a.completeTraces(path, set)...)
		from.DroppedSpans += set.Dropped
	}
	return a.writeModel(from, flags.out)
}

// completeTraces returns the complete traces of the spans of a file or folder, and prints a note about those
// with missing spans.
func (a app) completeTraces(path string, set traces.Set) []*lab.SpanNode {
	trees, counts := traces.Trees(path, set)
	if counts.Broken > 0 {
		a.note("%d of %d traces of %s are left out: spans are missing", counts.Broken,
			counts.Broken+counts.Traces, path)
	}
	return trees
}

// writeModel makes a model and writes it to a file, or to standard output. If it is written to a file, it is
// also drawn on standard output.
func (a app) writeModel(from model.Evidence, out string) error {
	m, notes, err := model.Make(from)
	if err != nil {
		return badPlan(err)
	}
	for _, note := range notes {
		a.note("%s", note)
	}
	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		return err
	}
	if _, err := model.Parse("", text.Bytes()); err != nil { // the model is too large
		return withCode(exitFailed, "the model could not be read again: %w", err)
	}
	if err := a.writeDocument(out, m.Write); err != nil || isOutput(out) {
		return err
	}
	err = m.Show(a.out)
	fmt.Fprintf(a.out, "\nmodel  %s\nagain  %s\n", out, shell.Quote("cleave", "model", "show", out))
	return err
}

// modelOurs plays the trials of a system of Cleave, and makes a model.
func (a app) modelOurs(command *cobra.Command, system lab.Modelled, flags *modelFlags) error {
	if flags.isSet("component") {
		return withCode(exitBadPlan, "--component is for your own systems and for files with spans: our systems "+
			"name their components")
	}
	if _, err := ofUser(command, []string{system.Describe().Name}); err != nil {
		return err
	}
	plan, err := flags.plan(system)
	if err != nil {
		return badPlan(err)
	}
	return a.playModel(command, plan, flags)
}

// modelForeign plays the trials of a system of the user, and makes a model.
func (a app) modelForeign(command *cobra.Command, args []string, flags *modelFlags) error {
	if _, err := ofUser(command, args, "architecture", backingFlag); err != nil {
		return err
	}
	plan, err := a.planForeign(command, args, &flags.foreignFlags, flags.foreignPlan)
	if err != nil {
		return err
	}
	return a.playModel(command, plan, flags)
}

// playModel plays the trials of a plan, keeps their spans in the result folder, and makes a model.
func (a app) playModel(command *cobra.Command, plan lab.Plan, flags *modelFlags) error {
	if err := checkClusters(command.Flags(), plan.Study.Variants); err != nil {
		return err
	}
	if flags.planOnly {
		return a.showPlan(command.Context(), plan, &flags.experimentFlags)
	}
	flags.strict = true // a model needs both variants
	conductor, folder, plan, err := a.begin(command, plan, &flags.experimentFlags)
	if err != nil {
		return err
	}
	defer folder.Unlock()
	spans := folder.Path(spansFolder)
	if conductor.System, err = systemOf(plan, a.secrets, spans); err != nil {
		return err
	}
	conductor.Tracer = traces.Collector{Component: flags.component, Keep: spans, Name: followedVariant}
	if err := a.play(command.Context(), conductor, plan, folder, nil); err != nil {
		return err
	}
	return a.modelRun(folder, flags.out)
}

// plan makes the plan of the trials: the system is metered at several rates, and traced at the lowest one.
func (f *modelFlags) plan(system lab.Modelled) (lab.Plan, error) {
	info := system.Describe()
	usual := system.Modelling()
	if !f.isSet("architecture") {
		f.architecture = usual.Architecture
	}
	if !f.isSet("rate") {
		f.rate = usual.Rate
	}
	if err := f.checkRates(); err != nil {
		return lab.Plan{}, err
	}
	if err := f.useBackings(info.Name); err != nil {
		return lab.Plan{}, err
	}
	metered, err := f.variant(info, "architecture", f.architecture)
	if err := errors.Join(err, f.checkDesign()); err != nil {
		return lab.Plan{}, err
	}
	followed := metered
	followed.Knobs = maps.Clone(metered.Knobs)
	metered.Name = meteredVariant
	metered.Knobs[usual.Knob] = usual.None
	followed.Name = followedVariant
	followed.Knobs[usual.Knob] = usual.All
	metered.Summary = "metered, no operation followed"
	followed.Summary = "every operation followed"
	load := f.measuredLoad()
	what := strings.Join(append([]string{info.Name, f.architecture}, f.backings...), " ")
	s := lab.Study{Schema: lab.StudySchema, Name: modelName, Title: "a model of " + what, System: info.Name,
		Question: "What does each call take?", Baseline: meteredVariant, Design: f.modelDesign(),
		Metrics: info.Metrics, Load: &load, Points: f.modelPoints(usual.PerFlow)}
	followed.Points = []string{s.Points[0].Name}
	s.Variants = []lab.Variant{metered, followed}
	return f.expand(&study.File{Study: s}, f.options())
}

// capacityUsers is the number of users, who never pause, in measurements of a capacity.
const capacityUsers = 64

// addCapacity adds the flag that asks to measure the capacity, too.
func addCapacity(flags *pflag.FlagSet, to *bool) {
	flags.BoolVar(to, "capacity", false,
		fmt.Sprintf("measure the capacity, too: what %d users get who never pause", capacityUsers))
}

// modelPoints returns the points at which a system is metered, the low rate first. Predictions can be checked
// at the others. perFlow is the number of operations per flow: rates of points count flows.
func (f *modelFlags) modelPoints(perFlow float64) (all []lab.Point) {
	const faster = 3 // the ratio of the second rate to the first
	for _, rate := range append([]float64{f.rate, faster * f.rate}, f.further...) {
		p := ratePoint(rate / perFlow)
		if !slices.ContainsFunc(all, func(known lab.Point) bool { return known.Name == p.Name }) {
			all = append(all, p)
		}
	}
	if f.capacity {
		all = append(all, usersPoint(capacityUsers))
	}
	return all
}

// modelDesign returns the design of the study. Nothing is compared, so it needs no noise floor.
func (f *modelFlags) modelDesign() lab.Design {
	d := study.Defaults()
	d.Blocks = f.blocks
	d.MaxRepeats = 1
	d.NoiseFloor = nil
	d.TrialTimeout = f.trialLimit()
	return d
}

// checkRates returns an error for a rate that cannot be played.
func (f *modelFlags) checkRates() error {
	if err := checkRate(f.rate); err != nil {
		return err
	}
	for _, rate := range f.further {
		if !(rate > f.rate && rate <= mostRate) {
			return fmt.Errorf("--further-rates has %g, expected operations per second above --rate, %g, and at most "+
				"%g", rate, f.rate, mostRate)
		}
	}
	return nil
}
