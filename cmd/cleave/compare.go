package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/store"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// compareName is the study of every comparison.
const compareName = "compare"

func (a app) compareCommand() *cobra.Command {
	var flags compareFlags
	command := &cobra.Command{
		Use:   "compare A B...",
		Short: "compare two or more of your own systems under the same load",
		Long: `Puts systems that somebody else wrote under the same load, in random order and
several times, and says with intervals which is faster and by how much. The
first is the baseline; it also runs as its own twin, which shows how large a
difference chance alone makes here.

A system is one of
  FILE              a system file (cleave init system writes one to begin with)
  [NAME=]COMPOSE    a compose file, each of whose services is a unit
  [NAME=]MANIFESTS  manifests of Kubernetes, a file or a folder of them, each of
                    whose workloads is a unit
  '[NAME=]FILE SERVICE.replicas=2 ...'  one of these, or a system file with one,
                    of whose services something is changed
  [NAME=]URL        a system that runs already
  NAME='COMMAND'    a program, started afresh for every trial, which listens on
                    {port} (and {host}); no shell reads the command

--deploy runs commands elsewhere than beside cleave: in a container, on your
hosts or a cluster. Of several ways each makes a system of its own, so that one
command is compared with itself: --deploy process,docker-host

Processes that a command starts, daemons too, are metered with it and ended
after the trial. --resume goes on with an interrupted comparison; then systems
need not be named. docs/comparing.md is a walk-through.

Exit codes: 0 compared, 1 failed, 2 bad arguments or files, 3 a program is not
here, 4 no load was achieved, 5 none of a system's answers were right,
6 undecided (with --require-verdict), 130 interrupted.`,
		Example: `  cleave compare nginx.yaml lighttpd.yaml --rate 1000,4000 --path /index.html
  cleave compare old='./old --port {port}' new='./new --port {port}' --users 16
  cleave compare http://127.0.0.1:8080 http://127.0.0.1:9090 -r 500 --capacity
  cleave compare new='./new --port {port}' --deploy process,docker-host -r 500`,
		Args: arguments(cobra.ArbitraryArgs),
		RunE: func(command *cobra.Command, args []string) error { return a.compare(command, args, &flags) },
	}
	flags.register(command)
	return command
}

// compare plans, plays and reports a comparison.
func (a app) compare(command *cobra.Command, args []string, flags *compareFlags) error {
	if flags.resume != "" {
		return a.resumeComparison(command, args, flags)
	}
	plan, err := flags.plan(command.Context(), args, a.secrets)
	for _, warning := range a.secrets.Warnings() {
		fmt.Fprintln(a.story, "warning:", warning)
	}
	for _, note := range flags.notes {
		fmt.Fprintln(a.story, "note:", note)
	}
	if err != nil {
		return refused(err)
	}
	if flags.build {
		if err := a.buildImages(command.Context(), flags.builds, flags.planOnly); err != nil {
			return err
		}
	}
	return a.experiment(command, plan, &flags.experimentFlags, a.reported)
}

// buildImages runs the commands that build the images of compose files, or says which it would run.
func (a app) buildImages(ctx context.Context, builds [][]string, onlySaid bool) error {
	for _, argv := range builds {
		if onlySaid {
			fmt.Fprintln(a.story, "note: before all trials this builds an image:", words(argv))
			continue
		}
		command := exec.CommandContext(ctx, argv[0], argv[1:]...)
		command.Stdout, command.Stderr = a.story, a.story
		if err := command.Run(); err != nil {
			return fmt.Errorf("build an image of a compose file: %s: %w", words(argv), err)
		}
	}
	return nil
}

// resumeComparison goes on with the plan of a folder.
func (a app) resumeComparison(command *cobra.Command, args []string, flags *compareFlags) error {
	if len(args) > 0 {
		return withCode(exitBadPlan, "--resume takes the systems from the folder: leave out %s",
			strings.Join(args, " "))
	}
	folder, err := store.Open(flags.resume)
	if err != nil {
		return withCode(exitBadPlan, "%w", err)
	}
	plan, err := folder.Plan()
	if err == nil && plan.Study.System != external.Name {
		err = withCode(exitBadPlan, "%s holds no comparison, but the study %q", folder.Dir(), plan.Study.Name)
	}
	if err != nil {
		return err
	}
	return a.experiment(command, plan, &flags.experimentFlags, a.reported)
}

// plan makes the plan of a comparison. All mistakes are named at once.
func (f *compareFlags) plan(ctx context.Context, args []string, secrets *secret.Vault) (lab.Plan, error) {
	f.hasten(3*time.Second, time.Second/2)
	definitions, err := f.systems(args, secrets)
	if f.cores == "auto" && slices.ContainsFunc(definitions, external.Definition.Afar) {
		f.cores = "none"
	}
	load, dir, loadErr := f.load(secrets)
	var file scenario.File
	if loadErr == nil {
		loadErr = json.Unmarshal(load.Scenario, &file)
	}
	points, pointsErr := f.points(file.Load)
	if err := errors.Join(err, f.checkNameBy(definitions), loadErr, pointsErr); err != nil {
		return lab.Plan{}, err
	}
	s := f.study(definitions, points, load)
	if err := f.checkSystems(ctx, &s, dir, secrets); err != nil {
		return lab.Plan{}, err
	}
	if len(f.faults) > 0 {
		if err := f.addFaults(&s, secrets); err != nil {
			return lab.Plan{}, err
		}
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// addFaults adds the faults of the flags to the comparison, which have to begin while the load lasts.
func (f *compareFlags) addFaults(s *lab.Study, secrets *secret.Vault) error {
	if f.capacity {
		return errors.New("--fault and --capacity: a search plays many loads, and none with faults: leave one out")
	}
	if !f.given("lengthen") {
		s.Design.Lengthen = 1 // a fault is what changes the level of a load
	}
	if _, err := addFaults(s, f.faults, secrets); err != nil {
		return err
	}
	var mistakes []error
	for _, one := range s.Faults {
		if one.After >= s.Load.Duration {
			mistakes = append(mistakes, fmt.Errorf("--fault %s:%s begins after %g s, and the load lasts %g s: let it "+
				"begin earlier (@AFTER), or the load last longer (--duration)", one.Kind, one.Target, one.After,
				s.Load.Duration))
		}
		for _, v := range s.Variants {
			refused := []lab.FaultKind{lab.FaultSlow, lab.FaultFill}
			if v.Architecture == "services" && slices.Contains(refused, one.Kind) {
				mistakes = append(mistakes, fmt.Errorf("--fault %s:%s: services of a file, such as those of %s, "+
					"reach each other directly and have volumes of Docker's own: use kill, restart, pause or cut",
					one.Kind, one.Target, v.Name))
			}
		}
	}
	return errors.Join(mistakes...)
}

// systems reads the arguments of the command: each is a system in every way to deploy it, or
// in its own where none is given.
func (f *compareFlags) systems(args []string, secrets *secret.Vault) ([]external.Definition, error) {
	var definitions []external.Definition
	var mistakes []error
	for _, argument := range args {
		d, err := f.system(argument)
		ways := f.ways
		if f.command && d.IsCompose() {
			ways = []string{"compose"}
		} else if f.command && d.HasUnits() {
			mistakes = append(mistakes, fmt.Errorf("--compose-command: %s is no compose file: leave one of them out",
				argument))
		}
		var deployed []external.Definition
		if err == nil {
			deployed, err = d.In(ways)
		}
		mistakes = append(mistakes, err)
		for _, one := range deployed {
			mistakes = append(mistakes, one.Mask(secrets), f.trusted(one))
			for _, build := range one.Builds {
				if !slices.ContainsFunc(f.builds, func(b []string) bool { return slices.Equal(b, build) }) {
					f.builds = append(f.builds, build)
				}
			}
			for _, note := range one.Notes {
				f.notes = append(f.notes, fmt.Sprintf("system %s: %s", one.Name, note))
			}
			if slices.ContainsFunc(definitions, func(other external.Definition) bool {
				return other.Name == one.Name
			}) {
				mistakes = append(mistakes,
					fmt.Errorf("two systems are called %s: name them, for example with a= and b= in front", one.Name))
			}
			definitions = append(definitions, one)
		}
	}
	if len(args) < 2 && (len(args) == 0 || len(f.ways) < 2) {
		mistakes = append(mistakes, errors.New("a comparison needs at least two systems, or one in two ways "+
			"(--deploy): see cleave help compare"))
	}
	return definitions, errors.Join(mistakes...)
}

// trusted returns an error where a compose file asks for power over this host and nobody has agreed.
func (f *compareFlags) trusted(d external.Definition) error {
	if f.trust || len(d.Risks) == 0 {
		return nil
	}
	return fmt.Errorf("system %s asks for power over this host:\n  %s\nread this, and if you want it, say so "+
		"with --trust", d.Name, strings.Join(d.Risks, "\n  "))
}

// system reads an argument of the command: of a file, there may be changes behind it.
func (f *compareFlags) system(argument string) (external.Definition, error) {
	words, err := external.Split(argument)
	if err != nil || len(words) < 2 {
		return f.oneSystem(argument)
	}
	name, path, named := strings.Cut(words[0], "=")
	if !named {
		name, path = "", words[0]
	}
	text, err := inputfile.Read(path, external.MaxFile)
	if !external.HasServices(path) && (err != nil || !external.IsSystem(text)) {
		return f.oneSystem(argument)
	}
	d, err := f.oneSystem(path)
	if err == nil {
		err = d.Change(name, words[1:])
	}
	return d, err
}

// oneSystem reads a system.
func (f *compareFlags) oneSystem(argument string) (external.Definition, error) {
	data, err := inputfile.Read(argument, external.MaxFile)
	_, missing := os.Stat(argument)
	name, path, named := strings.Cut(argument, "=")
	switch {
	case named && missing != nil && external.HasServices(path):
		return external.OfServices(name, path, f.url)
	case external.HasServices(argument):
		return external.OfServices("", argument, f.url)
	case err == nil:
		return external.Parse(argument, data)
	case missing == nil || strings.HasSuffix(argument, ".yaml") || strings.HasSuffix(argument, ".yml"):
		return external.Definition{}, fmt.Errorf("read the system file: %w", err)
	}
	return external.Inline(argument)
}

// study returns the comparison as a study.
func (f *compareFlags) study(definitions []external.Definition, points []lab.Point, load lab.Load) lab.Study {
	var names []string
	for _, d := range definitions {
		names = append(names, d.Name)
	}
	s := lab.Study{
		Schema: lab.StudySchema, Name: compareName, Title: strings.Join(names, " against "),
		Question: "Which of them is faster, by how much, and up to which rate does each hold?",
		System:   external.Name, Baseline: names[0], Points: points, Load: &load,
		Metrics: external.Metrics(points), Design: f.design(names[0]),
	}
	s.Design.Lengthen, s.Design.TrialTimeout = f.lengthen, f.trialTimeout(load, definitions)
	pinned, _, _ := f.pin() // a mistake in the flag was reported before
	for _, d := range definitions {
		if len(d.Command) > 0 {
			d.NameBy = f.nameBy
		}
		s.Variants = append(s.Variants, variant(d, pinned))
	}
	return s
}

// variant returns a system as what is compared.
func variant(d external.Definition, pinned []int) lab.Variant {
	v := lab.Variant{
		Name: d.Name, System: external.Name, Architecture: d.Kind(), Deployment: d.Deployment, Summary: d.Summary,
		External: &d.ExternalSystem, Replicas: d.Replicas, Limits: d.Limits,
	}
	if len(v.External.Cores) == 0 {
		v.External.Cores = pinned
	}
	if v.Summary == "" && d.Entry != "" {
		v.Summary = fmt.Sprintf("%s of a file, entered at %s", counted(len(d.Services), "service"), d.Entry)
	}
	if v.Summary == "" {
		v.Summary = strings.Join(slices.Concat(strings.Fields(d.Image), d.Command, []string{d.URL}), " ")
	}
	return v
}

// checkSystems finds mistakes in load and targets before anything is played, and asks
// for consent. What does not run yet cannot prove an owner's: where a list of those is
// given, it is asked in the trial. It packs the scenario's files.
func (f *compareFlags) checkSystems(
	ctx context.Context, s *lab.Study, dir string, secrets *secret.Vault,
) error {
	var mistakes []error
	for i, v := range s.Variants {
		for _, p := range s.Points {
			job := lab.LoadJob{Load: *s.Load, Target: strings.ReplaceAll(v.External.URL, "{port}", "80")}
			rate, _ := p.Level(external.Rate)
			users, _ := p.Level(external.Users)
			from, _ := p.Level(external.SearchFrom)
			job.Rate, job.Users = max(rate, from), int(users)
			spec, err := checkLoad(job, dir, secrets)
			if err == nil && (v.Architecture == "url" || s.Load.Consent == "") {
				_, err = spec.Prepare(ctx)
			}
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %w", v.Name, err))
				break
			}
			if i == 0 {
				mistakes = append(mistakes, packFiles(s.Load, job, dir))
			}
		}
	}
	return errors.Join(mistakes...)
}

// packFiles puts the files that the scenario names into the load, so that the
// plan is enough to play it.
func packFiles(load *lab.Load, job lab.LoadJob, dir string) error {
	work, err := agentJob(job)
	if err != nil {
		return err
	}
	work.Spec.Dir = dir
	packed, err := work.Pack()
	if err != nil || len(packed.Files) == 0 {
		return err
	}
	file := packed.Spec.Scenario
	if file.Load != nil {
		own := *file.Load
		own.Replay = packed.Spec.Load.Replay
		file.Load = &own
	}
	load.Files = packed.Files
	load.Scenario, err = json.Marshal(file)
	return err
}
