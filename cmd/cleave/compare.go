package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// compareName is the name of the study of every comparison.
const compareName = "compare"

func (a app) compareCommand() *cobra.Command {
	var flags compareFlags
	command := &cobra.Command{
		Use:   "compare A B...",
		Short: "compare two or more of your own systems under the same load",
		Long: `Loads two or more of your own systems alike, in random order and several times,
and says which is faster and by how much, with intervals. The first system is the
baseline. It also runs a second time under another name: that difference shows what
chance alone makes here.

A system is one of
  FILE              a system file (cleave init system writes one to begin with)
  [NAME=]COMPOSE    a compose file, each of whose services is a unit
  [NAME=]MANIFESTS  manifests of Kubernetes, a file or a folder of them, each of
                    whose workloads is a unit
  '[NAME=]FILE SERVICE.replicas=2 ...'  one of these, or a system file with one,
                    with changes to its services
  [NAME=]URL        a system that runs already
  NAME='COMMAND'    a program, started afresh for every trial, which listens on
                    {port} (and {host}); no shell reads the command

--deploy runs commands in a container, on your hosts or on a cluster instead of as
processes beside cleave. With several deployments, each makes a system of its own,
so that one command is compared with itself: --deploy process,docker-host

Processes that a command starts, daemons too, are metered with it and ended
after the trial. --resume goes on with an interrupted comparison; then systems
need not be named. docs/comparing.md is a walk-through.` + exitCodesHelp(measuredCodes()...),
		Example: `  cleave compare nginx.yaml lighttpd.yaml --rate 1000,4000 --path /index.html
  cleave compare old='./old --port {port}' new='./new --port {port}' --users 16
  cleave compare http://127.0.0.1:8080 http://127.0.0.1:9090 -r 500 --capacity
  cleave compare new='./new --port {port}' --deploy process,docker-host -r 500`,
		Args: arguments(cobra.ArbitraryArgs),
		RunE: func(command *cobra.Command, args []string) error {
			return a.playForeign(command, args, &flags.foreignFlags, flags.plan, a.reportAnalysis)
		},
	}
	flags.register(command)
	return command
}

// plan returns the plan of a comparison. Its error lists all mistakes.
func (f *compareFlags) plan(ctx context.Context, args []string) (lab.Plan, error) {
	f.applyQuick(3*time.Second, time.Second/2)
	definitions, err := f.systems(args, f.deployments)
	if compared := len(args) * max(1, len(f.deployments)); compared < 2 {
		err = errors.Join(err, errors.New("a comparison needs at least two systems, or one in two deployments "+
			"(--deploy): see cleave help compare"))
	}
	if f.cores == "auto" && slices.ContainsFunc(definitions, external.Definition.IsRemote) {
		f.cores = "none" // the processors of other hosts cannot be pinned from here
	}
	if f.capacity && f.request.objective == "" {
		f.request.objective = defaultObjective
	}
	load, dir, loadErr := f.load()
	var file scenario.File
	if loadErr == nil {
		loadErr = json.Unmarshal(load.Scenario, &file)
	}
	points, pointsErr := f.points(file.Load)
	if err := errors.Join(err, f.checkNameBy(definitions), loadErr, f.mistakes(), pointsErr); err != nil {
		return lab.Plan{}, err
	}
	s := f.study(definitions, points, load)
	if err := f.checkSystems(ctx, &s, dir); err != nil {
		return lab.Plan{}, err
	}
	if len(f.faults) > 0 {
		if err := f.addLoadFaults(&s); err != nil {
			return lab.Plan{}, err
		}
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// addLoadFaults adds the faults of the flags to the comparison. They must begin during the load.
func (f *compareFlags) addLoadFaults(s *lab.Study) error {
	if f.capacity {
		return errors.New("--fault and --capacity: a search plays many loads, and none with faults: leave one out")
	}
	if _, err := f.addFaults(s, f.faults); err != nil {
		return err
	}
	var wrong mistakes
	for _, one := range s.Faults {
		if one.After >= s.Load.Duration {
			wrong.addf("--fault %s:%s begins after %g s, and the load lasts %g s: let it begin earlier (@AFTER), or "+
				"the load last longer (--duration)", one.Kind, one.Target, one.After, s.Load.Duration)
		}
	}
	return wrong.err()
}

// study returns the comparison as a study.
func (f *compareFlags) study(definitions []external.Definition, points []lab.Point, load lab.Load) lab.Study {
	names := systemNames(definitions)
	s := lab.Study{
		Schema: lab.StudySchema, Name: compareName, Title: strings.Join(names, " against "),
		Question: "Which of them is faster, by how much, and up to which rate does each hold?",
		System:   external.Name, Baseline: names[0], Points: points, Load: &load,
		Metrics: external.Metrics(points), Design: f.design(names[0]),
	}
	s.Design.TrialTimeout = trialTimeout(load, definitions) + searchTimeout(s)
	s.Design.Lengthen = f.lengthen
	if len(f.faults) > 0 && !f.isSet("lengthen") {
		s.Design.Lengthen = 1 // levels change because of the faults, so longer trials would not help
	}
	pinned, _, _ := f.pin() // a mistake in the flag was reported before
	for _, d := range definitions {
		if len(d.Command) > 0 {
			d.NameBy = f.nameBy
		}
		s.Variants = append(s.Variants, foreignVariant(d, pinned))
	}
	return s
}
