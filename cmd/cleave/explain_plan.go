package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/yamlfile"
)

type explainFlags struct {
	foreignFlags
	from, to  string
	order     []string
	factors   []string
	rate      float64
	users     int
	capacity  bool
	objective string
	oneOrder  bool
	tuned     bool
}

// explainObjective is the objective of a capacity without --objective.
const explainObjective = "p99<500ms,errors<0.1%"

func (f *explainFlags) register(command *cobra.Command) {
	f.isSet = command.Flags().Changed
	addGroup(command, "What is explained", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.from, "from", "", "`architecture` to begin with (default: the system's)")
		flags.StringVar(&f.to, "to", "", "`architecture` to arrive at (default: the system's)")
		flags.BoolVar(&f.tuned, "tuned", false,
			"continue to the tuned variant of --to: how much of the cost tuning wins back")
		flags.BoolVar(&f.oneOrder, "one-order", false, "change the knobs in one order only")
		flags.StringSliceVar(&f.factors, factorsFlag, nil, "set 2 to 6 `knobs` of --from together, in a two-level "+
			"design, e.g. logging,security=mtls: what each changes, and which do not act alone")
	}, f.addBackings)
	addGroup(command, "Load", func(flags *pflag.FlagSet) {
		flags.Float64VarP(&f.rate, "rate", "r", 0, "operations per second of every stop (default: the system's)")
		flags.IntVarP(&f.users, "users", "u", 0, "`number` of users of a closed loop, instead of a rate")
		f.addLevels(flags)
		f.addLength(flags, 10*time.Second)
		flags.BoolVar(&f.capacity, "capacity", false,
			"also search for the highest rate of each stop that meets the objective")
		flags.StringVar(&f.objective, "objective", explainObjective, "`conditions` that a rate must meet")
	})
	addGroup(command, "Deployment", f.addDeployment)
	f.addForeign(command)
	addGroup(command, foreignGroup, f.request.addConnections, func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&f.order, "order", nil, "`changes` in the order in which they are made, e.g. "+
			"cart.image,ads; the others follow (default: the order of the file)")
	})
	addGroup(command, "Experiment", func(flags *pflag.FlagSet) {
		f.addBlocks(flags, 8, "stop",
			"play 3 blocks of 2 s in one order: about a minute; small differences stay undecided")
	}, f.addDesign, f.addPlay)
	addGroup(command, "Output", f.addOutput, f.addVerdict)
}

// applyDefaults sets flags that were not given to those of the usual explanation of the system, or of a quick
// experiment.
func (f *explainFlags) applyDefaults(usual lab.Explanation) {
	if !f.isSet("from") {
		f.from = usual.From
	}
	if !f.isSet("to") {
		f.to = usual.To
	}
	if !f.isSet("rate") {
		f.rate = usual.Rate
	}
	f.applyQuick(2*time.Second, time.Second/2)
	if f.quick && !f.isSet("one-order") {
		f.oneOrder = true
	}
	if f.quick && !f.isSet("no-gates") {
		f.noGates = true
	}
}

// plan returns the plan of an explanation. Its error lists all mistakes in the flags.
func (f *explainFlags) plan(name string) (lab.Plan, error) {
	system, err := systemFor[lab.Explainable](name, "explained")
	if err != nil {
		return lab.Plan{}, err
	}
	f.applyDefaults(system.Explanation())
	info := system.Describe()
	if err := f.useBackings(info.Name); err != nil {
		return lab.Plan{}, err
	}
	if f.isSet(factorsFlag) {
		return f.planFactors(system)
	}
	if f.tuned {
		if f.to, err = tunedText(info, f.to); err != nil {
			return lab.Plan{}, err
		}
	}
	from, fromErr := f.variant(info, "from", f.from)
	to, toErr := f.variant(info, "to", f.to)
	if err := errors.Join(fromErr, toErr, f.mistakes()); err != nil {
		return lab.Plan{}, err
	}
	stops, steps, err := stepsBetween(system, from, to)
	if err != nil {
		return lab.Plan{}, err
	}
	if f.oneOrder {
		steps = slices.DeleteFunc(steps, func(s lab.PathStep) bool { return s.Order > 1 })
	}
	load := f.measuredLoad()
	load.Objective = f.objective
	s := f.study(info, load, stops, steps)
	if err := f.setLevels(info, s.Points...); err != nil {
		return lab.Plan{}, err
	}
	s.Metrics = f.metrics(info, system.Explanation().Metrics)
	return f.expand(&study.File{Study: s}, f.options())
}

// tunedText returns the text of --to with the tuned architecture in the place of the stock one. The knobs
// behind it stay, and so does an architecture that is tuned already.
func tunedText(info lab.SystemInfo, text string) (string, error) {
	name, knobs, _ := strings.Cut(strings.TrimSpace(text), " ")
	var have []string
	for _, a := range info.Architectures {
		switch {
		case a.Tuned == "":
		case a.Name == name, a.Tuned == name:
			return a.Tuned + " " + knobs, nil
		default:
			have = append(have, a.Name)
		}
	}
	return "", fmt.Errorf("--tuned: no tuned architecture stands beside %q, only beside %s", name,
		strings.Join(have, ", "))
}

// mistakes returns an error for invalid flags.
func (f *explainFlags) mistakes() error {
	var wrong mistakes
	switch {
	case !f.isSet("users"):
	case f.users < 1 || f.users > 200000:
		wrong.addf("--users is %d, expected a number from 1 to 200000", f.users)
	case f.isSet("rate") || f.capacity:
		wrong.addf("--users is a closed loop: give it without --rate and --capacity, which are about rates")
	case f.isSet("connections"):
		wrong.add(errOwnConnections)
	}
	if f.users == 0 {
		wrong.add(checkRate(f.rate))
	}
	wrong.add(f.checkDesign())
	if _, err := newGenerator(f.objective); err != nil {
		wrong.addf("--objective: %w", err)
	}
	return wrong.err()
}

// study returns the study of an explanation. Every stop of the steps is a variant.
func (f *explainFlags) study(
	info lab.SystemInfo, load lab.Load, stops []lab.Variant, steps []lab.PathStep,
) lab.Study {
	shortenNames(stops, steps)
	first, last := stops[0], ""
	for _, step := range steps {
		if step.Order == 1 {
			last = step.Variant
		}
	}
	s := f.baseStudy(info, load, first.Name)
	s.Title = "where the cost from " + first.Name + " to " + last + " comes from"
	s.Question = "What does each change cost?"
	s.Steps = steps
	first.Summary = "the first stop"
	s.Variants = []lab.Variant{first}
	for _, step := range steps {
		i := slices.IndexFunc(stops, func(v lab.Variant) bool { return v.Name == step.Variant })
		if _, known := s.Variant(step.Variant); !known {
			stops[i].Summary = step.Knob() + " " + step.Change()
			s.Variants = append(s.Variants, stops[i])
		}
	}
	return s
}

// shortenNames replaces names of stops that are too long for a plan by their numbers, in the steps too.
func shortenNames(stops []lab.Variant, steps []lab.PathStep) {
	short := map[string]string{}
	for i, stop := range stops {
		if _, known := short[stop.Name]; !known && len(stop.Name) > yamlfile.MaxName {
			short[stop.Name] = fmt.Sprintf("stop-%d", i+1)
		}
		stops[i].Name = cmp.Or(short[stop.Name], stop.Name)
	}
	for i, step := range steps {
		steps[i].Before = cmp.Or(short[step.Before], step.Before)
		steps[i].Variant = cmp.Or(short[step.Variant], step.Variant)
	}
}

// baseStudy returns the study of an explanation without its variants: load, points and design.
func (f *explainFlags) baseStudy(info lab.SystemInfo, load lab.Load, baseline string) lab.Study {
	s := lab.Study{
		Schema: lab.StudySchema, Name: explainName, System: info.Name, Model: info.Model, Baseline: baseline,
		Design: f.design(baseline), Points: []lab.Point{f.point()}, Load: &load,
	}
	if f.capacity {
		// The blocks repeat every search: one probe at a rate is enough in each.
		s.Load.Effort = lab.SearchEffort{Duration: max(1, f.duration.Seconds()/2), Resolution: 1.1, Votes: 1}
		s.Points = append(s.Points, lab.Point{Name: "capacity",
			Levels: map[string]float64{lab.FactorSearchFrom: f.rate}})
	}
	s.Design.TrialTimeout += searchTimeout(s)
	return s
}

// point returns the point with the load of every stop.
func (f *explainFlags) point() lab.Point {
	if f.users > 0 {
		return usersPoint(f.users)
	}
	return ratePoint(f.rate)
}

// leastForP99 is the smallest number of values for which a 99th percentile has an interval
// within a trial (order statistics at 95 %).
const leastForP99 = 299

// metrics returns the metrics of the system. Those in first come first, in this order. It leaves out tails
// for which there are too few operations.
func (f *explainFlags) metrics(info lab.SystemInfo, first []string) []lab.Metric {
	hasTooFew := f.users == 0 && f.rate*f.duration.Seconds() < leastForP99
	all := slices.DeleteFunc(slices.Clone(info.Metrics), func(m lab.Metric) bool {
		return hasTooFew && m.Quantile == 0.99
	})
	rank := func(m lab.Metric) int {
		if i := slices.Index(first, m.Name); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(all, func(a, b lab.Metric) int { return rank(a) - rank(b) })
	return all
}
