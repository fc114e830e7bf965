package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// bottleneckName is the name of the study of every search for a bottleneck.
const bottleneckName = "bottleneck"

type bottleneckFlags struct {
	foreignFlags
	architecture string
	units        []string
	resource     string
	replicas     int
	cpu          float64
	users        int
}

// underLoad is a system with metrics of its own, among them those of a load.
type underLoad interface {
	lab.System
	lab.Measurer
}

func (a app) bottleneckCommand() *cobra.Command {
	var flags bottleneckFlags
	command := &cobra.Command{
		Use:   "bottleneck SYSTEM | FILE",
		Short: "double one unit at a time: which one holds the system back",
		Long: `Plays a system as it is, and with twice of each of its units in turn, in the same
randomised blocks, and says what that did to the operations per second that
users of a closed loop get answered: which unit to scale, which one makes it worse, and
which signal (CPU share, queueing, critical path) would have predicted it.

Only units that keep no data of their own can be doubled. Each may use --cpu processors,
as a pod with a limit: without it, on a host with few processors, a second replica would
only take processor time from other units. Backing services have no limit. --resource cpu
raises the limit of each unit in turn instead of doubling it, also of units that cannot
be doubled.

A FILE is a compose file, whose services are doubled in turn, or a system file, as
cleave compare takes them. Each service may use --cpu processors unless its file limits it.

The load is a closed loop; --users has to be enough of them to saturate the system.
docs/bottleneck.md says how to read the answer.` + exitCodesHelp(measuredCodes()...),
		Example: `  cleave bottleneck people --architecture services
  cleave bottleneck people --architecture "services calls=grpc" --cpu 0.5 --users 64 --level case=1
  cleave bottleneck people --architecture services --until decided --within 10m
  cleave bottleneck compose.yaml --path /cart --users 16
  cleave bottleneck compose.yaml --path /cart --resource cpu`,
		Args: arguments(orResumed(cobra.ExactArgs(1))),
		RunE: func(command *cobra.Command, args []string) error {
			return a.playEither(command, args, &flags.foreignFlags, []string{"architecture", "level", backingFlag},
				planners{flags.plan, flags.foreignPlan}, a.reportAnalysis)
		},
	}
	flags.register(command)
	return command
}

func (f *bottleneckFlags) register(command *cobra.Command) {
	f.isSet = command.Flags().Changed
	addGroup(command, "What is scaled", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.architecture, "architecture", "", "`architecture` to scale, with knobs behind it "+
			"(default: the system's first with several units that can be scaled)")
		flags.StringSliceVar(&f.units, "units", nil, "`units` to scale, one at a time (default: all that can be)")
		flags.StringVar(&f.resource, "resource", resourceReplicas, "`what` each unit gets more of: "+
			resourceReplicas+", or "+resourceCPU+" (twice its limit)")
		flags.IntVar(&f.replicas, "replicas", 2, "number of replicas of the scaled unit")
		flags.Float64Var(&f.cpu, "cpu", 0.2, "`processors` that each unit may use at most (0: no limit)")
	}, f.addBackings)
	addGroup(command, "Load", func(flags *pflag.FlagSet) {
		flags.IntVarP(&f.users, "users", "u", 32,
			"`number` of users of the closed loop, enough to saturate the system")
		f.addLevels(flags)
		f.addLength(flags, 5*time.Second)
	})
	addGroup(command, "Deployment", f.addDeployment)
	addGroup(command, "Experiment", func(flags *pflag.FlagSet) {
		f.addBlocks(flags, 6, "variant", "play 3 blocks of 2 s; small differences stay undecided")
	}, f.addDesign, f.addPlay)
	f.addForeign(command)
	addGroup(command, "Output", f.addOutput, f.addVerdict)
}

// The resources of which a unit can get more.
const (
	resourceReplicas = "replicas"
	resourceCPU      = "cpu"
)

// plan makes the plan of the search: the system as it is, and one variant for each unit that gets more.
func (f *bottleneckFlags) plan(name string) (lab.Plan, error) {
	system, err := systemFor[underLoad](name, "scaled")
	if err != nil {
		return lab.Plan{}, err
	}
	info := system.Describe()
	f.applyQuick(2*time.Second, f.warmUp.least) // the warm-up is not shortened
	point, err := f.point(info)
	if err := errors.Join(err, f.mistakes()); err != nil {
		return lab.Plan{}, err
	}
	load := f.measuredLoad()
	s := lab.Study{
		Schema: lab.StudySchema, Name: bottleneckName, System: info.Name, Model: info.Model, Baseline: "base",
		Question: "Which unit holds the system back?", Points: []lab.Point{point}, Design: f.design("base"),
		Metrics: throughputFirst(info.Metrics), Load: &load,
	}
	if err := f.useBackings(info.Name); err != nil {
		return lab.Plan{}, err
	}
	base, units, err := f.base(s, info)
	if err != nil {
		return lab.Plan{}, err
	}
	s.Title = "which unit of " + info.Name + " " + base.Architecture + " to scale"
	return f.scaledPlan(s, base, units)
}

// scaledPlan makes the plan of a study of a variant as it is, and of one further variant for each unit, which
// gets more replicas or processors there.
func (f *bottleneckFlags) scaledPlan(s lab.Study, base lab.Variant, units []string) (lab.Plan, error) {
	s.Variants = []lab.Variant{base}
	for _, unit := range units {
		more := base
		if f.resource == resourceCPU {
			limits := base.LimitsOf(unit)
			if limits.CPU == 0 {
				return lab.Plan{}, fmt.Errorf("--resource cpu raises limits, and %s has none: give one with --cpu", unit)
			}
			limits.CPU *= 2
			more.Name = unit + "-cpu-x2"
			more.Limits = maps.Clone(base.Limits)
			more.Limits[unit] = limits
		} else {
			n := f.replicas * max(1, base.Replicas[unit])
			more.Name = fmt.Sprintf("%s-x%d", unit, n)
			more.Replicas = map[string]int{}
			maps.Copy(more.Replicas, base.Replicas)
			more.Replicas[unit] = n
		}
		more.Summary = more.Scaling()
		s.Variants = append(s.Variants, more)
	}
	return f.expand(&study.File{Study: s}, f.options())
}

// throughputFirst returns metrics with the throughput before all others.
func throughputFirst(metrics []lab.Metric) []lab.Metric {
	isThroughput := func(m lab.Metric) bool { return m.Quantity == lab.Goodput }
	isOther := func(m lab.Metric) bool { return !isThroughput(m) }
	throughput := slices.DeleteFunc(slices.Clone(metrics), isOther)
	others := slices.DeleteFunc(slices.Clone(metrics), isThroughput)
	return append(throughput, others...)
}

// mistakes returns an error for invalid flags.
func (f *bottleneckFlags) mistakes() error {
	var wrong mistakes
	if f.replicas < 2 || f.replicas > lab.MaxReplicas {
		wrong.addf("--replicas is %d, expected 2 to %d", f.replicas, lab.MaxReplicas)
	}
	switch {
	case f.resource != resourceReplicas && f.resource != resourceCPU:
		wrong.addf("--resource is %q, expected %s or %s", f.resource, resourceReplicas, resourceCPU)
	case f.resource == resourceCPU && f.isSet("replicas"):
		wrong.addf("--replicas: --resource cpu raises limits, and no number of replicas: leave one out")
	}
	if !(f.cpu >= 0 && f.cpu <= 1000) { // also refuses NaN
		wrong.addf("--cpu is %g, expected processors such as 0.2, or 0 for no limit", f.cpu)
	}
	wrong.add(f.checkDesign())
	return wrong.err()
}

// point returns the load: users of a closed loop, with the levels of --level.
func (f *bottleneckFlags) point(info lab.SystemInfo) (lab.Point, error) {
	users, known := info.Parameter(lab.FactorUsers)
	if !known {
		return lab.Point{}, fmt.Errorf("%s has no load of users, which a search for its bottleneck needs: use "+
			"another system", info.Name)
	}
	if f.users < 1 || float64(f.users) > users.Max {
		return lab.Point{}, fmt.Errorf("--users is %d, expected a number from 1 to %g", f.users, users.Max)
	}
	p := usersPoint(f.users)
	return p, f.setLevels(info, p)
}

// base returns the variant to scale, and the units that get more. Without --architecture it chooses the first
// architecture with several units that can be scaled.
func (f *bottleneckFlags) base(s lab.Study, info lab.SystemInfo) (lab.Variant, []string, error) {
	if f.architecture != "" {
		base, units, err := f.scaled(s, info, f.architecture)
		if err == nil && len(units) == 0 {
			err = fmt.Errorf("no unit of %s %s can be replicated: each keeps data that its replicas would not have: "+
				"raise limits instead (--resource cpu)", info.Name, f.architecture)
		}
		if err == nil {
			units, err = f.selectUnits(units)
		}
		return base, units, err
	}
	refused := []error{fmt.Errorf("no architecture of %s has several units that can be scaled", info.Name)}
	for _, name := range architectureNames(info) {
		base, units, err := f.scaled(s, info, name)
		if err == nil && len(units) > 1 {
			units, err = f.selectUnits(units)
			return base, units, err
		}
		refused = append(refused, err)
	}
	return lab.Variant{}, nil, errors.Join(refused...)
}

// scaled returns the base variant of an architecture, with knobs behind it, and the units that can be scaled.
func (f *bottleneckFlags) scaled(
	s lab.Study, info lab.SystemInfo, text string,
) (lab.Variant, []string, error) {
	base, err := f.variant(info, "architecture", text)
	if err != nil {
		return base, nil, err
	}
	base.Name = "base"
	if f.cpu > 0 {
		base.Limits = map[string]lab.Limits{lab.AllUnits: {CPU: f.cpu}}
	}
	base.Summary = text + strings.TrimSuffix("; "+base.Scaling(), "; ")
	units, err := f.scalable(s, base)
	return base, units, err
}

// scalable returns the units of a variant that can get more replicas or, with --resource cpu, processors.
func (f *bottleneckFlags) scalable(s lab.Study, base lab.Variant) ([]string, error) {
	s.Variants = []lab.Variant{base}
	layouts, err := layoutsOf(s, f.secrets)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, unit := range layouts[0].Units {
		if unit.Group != "" || unit.Finishes {
			continue
		}
		getsLimit := f.resource == resourceCPU && unit.Name != layouts[0].Lead
		if unit.Scalable || getsLimit {
			all = append(all, unit.Name)
		}
	}
	return all, nil
}

// selectUnits returns the units of --units, or all units that can be scaled.
func (f *bottleneckFlags) selectUnits(all []string) ([]string, error) {
	for _, unit := range f.units {
		if !slices.Contains(all, unit) {
			return nil, fmt.Errorf("--units: there is no unit %q that can be scaled: use %s", unit,
				strings.Join(all, ", "))
		}
	}
	if len(f.units) > 0 {
		return f.units, nil
	}
	return all, nil
}
