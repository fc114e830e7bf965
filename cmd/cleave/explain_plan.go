package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	experimentFlags
	from, to  string
	rate      float64
	users     int
	duration  time.Duration
	warmUp    warmUp
	capacity  bool
	objective string
	margin    float64
	oneOrder  bool
	tuned     bool
}

// explainObjective is what a capacity is searched for when none is given.
const explainObjective = "p99<500ms,errors<0.1%"

func (f *explainFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.from, "from", "", "`architecture` to begin with (default: the system's)")
	flags.StringVar(&f.to, "to", "", "`architecture` to arrive at (default: the system's)")
	flags.BoolVar(&f.tuned, "tuned", false,
		"go on from there to its tuned variant: what of the cost can be won back")
	registerBackings(command, &f.backings)
	registerDeploy(command, &f.deploy)
	flags.Float64VarP(&f.rate, "rate", "r", 0,
		"operations per second that every stop gets (default: the system's)")
	flags.IntVarP(&f.users, "users", "u", 0,
		"instead of a rate: `number` of users of a closed loop that every stop gets")
	flags.DurationVarP(&f.duration, "duration", "d", 10*time.Second, "length of the measured load of a trial")
	registerWarmUp(flags, &f.warmUp)
	flags.BoolVar(&f.capacity, "capacity", false,
		"also search the highest rate of each that meets the objective")
	flags.StringVar(&f.objective, "objective", explainObjective, "`conditions` for a rate to count as held")
	flags.IntVar(&f.blocks, "blocks", 8, "how often every stop is measured")
	flags.Float64Var(&f.margin, "margin", 0.05, "smallest difference that matters, as a share")
	flags.BoolVar(&f.oneOrder, "one-order", false, "do not turn the knobs in another order too")
	flags.BoolVar(&f.noGates, "no-gates", false, "count trials also when host or generator were disturbed")
	flags.BoolVar(&f.quick, "quick", false,
		"3 blocks of 2 s in one order: about a minute; small differences stay undecided")
	f.looks.register(flags)
	f.registerPlay(command)
	f.registerVerdict(command)
}

// complete fills in what was not given: from the system, and shorter where it is to be
// quick.
func (f *explainFlags) complete(usual lab.Explanation, given func(flag string) bool) {
	if !given("from") {
		f.from = usual.From
	}
	if !given("to") {
		f.to = usual.To
	}
	if !given("rate") {
		f.rate = usual.Rate
	}
	if !f.quick {
		return
	}
	if !given("blocks") {
		f.blocks = 3
	}
	if !given("duration") {
		f.duration = 2 * time.Second
	}
	if !given("warm-up") {
		f.warmUp.least = time.Second / 2
	}
	if !given("one-order") {
		f.oneOrder = true
	}
	if !given("no-gates") {
		f.noGates = true
	}
}

// plan makes the plan of an explanation. All mistakes in the flags are named at
// once.
func (f *explainFlags) plan(
	system lab.Explainable, given func(flag string) bool, profiled *int,
) (lab.Plan, error) {
	f.complete(system.Explanation(), given)
	if given("users") {
		if f.users < 1 || f.users > 200000 {
			return lab.Plan{}, fmt.Errorf("--users is %d, expected a number from 1 to 200000", f.users)
		}
		if given("rate") || f.capacity {
			return lab.Plan{},
				errors.New("--users is a closed loop: give it without --rate and --capacity, which are about rates")
		}
	}
	info := system.Describe()
	onBackings, err := backed(info.Name, f.backings)
	if err != nil {
		return lab.Plan{}, err
	}
	if f.tuned {
		if f.to, err = tunedOf(info, f.to); err != nil {
			return lab.Plan{}, err
		}
	}
	from, fromErr := f.variant(info, onBackings, "from", f.from)
	to, toErr := f.variant(info, onBackings, "to", f.to)
	if err := errors.Join(fromErr, toErr, f.mistakes()); err != nil {
		return lab.Plan{}, err
	}
	stops, steps, err := ways(system, from, to)
	if err != nil {
		return lab.Plan{}, err
	}
	if f.oneOrder {
		steps = slices.DeleteFunc(steps, func(s lab.PathStep) bool { return s.Order > 1 })
	}
	s := f.study(info, stops, steps, given("seed"))
	s.Metrics = f.metrics(info, system.Explanation().Metrics)
	return expand(&study.File{Study: s}, study.Options{Profiled: profiled}, f.quick)
}

// tunedOf is an architecture with knobs behind it, with the tuned architecture that
// stands beside it in its place; a tuned one stays.
func tunedOf(info lab.SystemInfo, text string) (string, error) {
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

// mistakes are those of single flags.
func (f *explainFlags) mistakes() error {
	var mistakes []error
	if !(f.rate > 0 && f.rate <= 1e5) {
		mistakes = append(mistakes, fmt.Errorf("--rate is %g, expected operations per second above 0", f.rate))
	}
	mistakes = append(mistakes, f.checkDesign(f.margin, f.duration, f.warmUp))
	if _, err := newGenerator(f.objective); err != nil {
		mistakes = append(mistakes, fmt.Errorf("--objective: %w", err))
	}
	return errors.Join(mistakes...)
}

// variant reads an architecture with knobs behind it, "sync binding=grpc", and puts
// it on the backing services that were asked for.
func (f *experimentFlags) variant(
	info lab.SystemInfo, onBackings standing, flag, text string,
) (lab.Variant, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return lab.Variant{}, fmt.Errorf("--%s is empty: name an architecture, see cleave list", flag)
	}
	v := lab.Variant{System: info.Name, Architecture: words[0], Knobs: map[string]string{},
		Deployment: f.deployment()}
	for _, word := range words[1:] {
		knob, value, set := strings.Cut(word, "=")
		if !set {
			return v, fmt.Errorf("--%s: %q is no knob: write NAME=VALUE, see cleave list", flag, word)
		}
		if knob == "deployment" { // no knob of an architecture
			v.Deployment = value
			continue
		}
		v.Knobs[knob] = value
	}
	if !slices.Contains(lab.Deployments(), v.Deployment) {
		return v, fmt.Errorf("--%s: there is no deployment %q: use %s", flag, v.Deployment,
			strings.Join(lab.Deployments(), ", "))
	}
	var err error
	if onBackings == nil {
		err = possible(info, v)
	} else { // it may be possible on these only
		var more map[string]string
		more, err = onBackings(v)
		maps.Copy(v.Knobs, more)
	}
	if err != nil {
		return v, fmt.Errorf("--%s: %w", flag, err)
	}
	return v, nil
}

// study is the explanation as a study: every stop on the steps is a variant.
func (f *explainFlags) study(
	info lab.SystemInfo, stops []lab.Variant, steps []lab.PathStep, seedGiven bool,
) lab.Study {
	first, last := stops[0], ""
	for _, step := range steps {
		if step.Order == 1 {
			last = step.Variant
		}
	}
	s := lab.Study{
		Schema: lab.StudySchema, Name: explainName,
		Title:    "where the cost from " + first.Name + " to " + last + " comes from",
		Question: "Which of the changes on the way costs what?",
		System:   info.Name, Baseline: first.Name, Design: f.design(first.Name, seedGiven), Steps: steps,
		Points: []lab.Point{f.point()},
		Load: &lab.Load{Duration: f.duration.Seconds(), WarmUp: f.warmUp.least.Seconds(),
			WarmUpLimit: f.warmUp.limit.Seconds(), Objective: f.objective,
			Arrivals: lab.JitteredArrivals},
	}
	if f.noGates {
		study.WithoutGates(&s)
	}
	if f.capacity {
		// The blocks repeat every search: one probe at a rate is enough in each.
		s.Load.Effort = lab.SearchEffort{Duration: max(1, f.duration.Seconds()/2), Resolution: 1.1, Votes: 1}
		s.Points = append(s.Points, lab.Point{Name: "capacity",
			Levels: map[string]float64{lab.FactorSearchFrom: f.rate}})
	}
	first.Summary = "where the way begins"
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

// point is the load that every stop gets.
func (f *explainFlags) point() lab.Point {
	if f.users > 0 {
		return lab.Point{Name: fmt.Sprintf("users-%d", f.users),
			Levels: map[string]float64{lab.FactorUsers: float64(f.users)}}
	}
	return lab.Point{Name: "rate-" + lab.Plain(f.rate),
		Levels: map[string]float64{lab.FactorRate: f.rate}}
}

// design is how the experiment is played.
func (f *explainFlags) design(baseline string, seedGiven bool) lab.Design {
	d := study.Defaults()
	d.Blocks, d.Margin, d.MaxRepeats, d.NoiseFloor = f.blocks, f.margin, 1, []string{baseline}
	if seedGiven {
		d.Seed = f.seed
	}
	return d
}

// leastForP99 is how many values a 99th percentile needs to have an interval within
// a trial (order statistics at 95 %).
const leastForP99 = 299

// metrics are the system's, those first that explain a cost. A tail of too few
// operations explains nothing: it is left out.
func (f *explainFlags) metrics(info lab.SystemInfo, first []string) []lab.Metric {
	all := slices.DeleteFunc(slices.Clone(info.Metrics), func(m lab.Metric) bool {
		return f.users == 0 && m.Quantile == 0.99 && f.rate*f.duration.Seconds() < leastForP99
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
