package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	shopsystem "github.com/cleave-lab/cleave/systems/shop/system"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	experimentFlags
	from, to  string
	rate      float64
	duration  time.Duration
	warmUp    time.Duration
	capacity  bool
	objective string
	margin    float64
	oneOrder  bool
	noGates   bool
}

// explainObjective is what a capacity is searched for when none is given.
const explainObjective = "p99<500ms,errors<0.1%"

func (f *explainFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.from, "from", architecture.Monolith, "`architecture` to begin with")
	flags.StringVar(&f.to, "to", architecture.Async, "`architecture` to arrive at")
	registerBackings(command, &f.backings)
	flags.Float64VarP(&f.rate, "rate", "r", 40, "orders per second that every stop gets")
	flags.DurationVarP(&f.duration, "duration", "d", 10*time.Second, "length of the measured load of a trial")
	flags.DurationVar(&f.warmUp, "warm-up", 2*time.Second, "length of the unrecorded load before it")
	flags.BoolVar(&f.capacity, "capacity", false, "also search the highest rate of each that meets the objective")
	flags.StringVar(&f.objective, "objective", explainObjective, "`conditions` for a rate to count as held")
	flags.IntVar(&f.blocks, "blocks", 8, "how often every stop is measured")
	flags.Float64Var(&f.margin, "margin", 0.05, "smallest difference that matters, as a share")
	flags.BoolVar(&f.oneOrder, "one-order", false, "do not turn the knobs in another order too")
	flags.BoolVar(&f.noGates, "no-gates", false, "count trials also when host or generator were disturbed")
	flags.BoolVar(&f.quick, "quick", false, "3 blocks of 2 s in one order: about a minute; small differences stay undecided")
	f.registerPlay(command)
}

// quickly shortens what was not given.
func (f *explainFlags) quickly(given func(flag string) bool) {
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
		f.warmUp = time.Second / 2
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
func (f *explainFlags) plan(given func(flag string) bool) (lab.Plan, error) {
	f.quickly(given)
	from, fromErr := f.choice("from", f.from)
	to, toErr := f.choice("to", f.to)
	if err := errors.Join(fromErr, toErr, f.mistakes()); err != nil {
		return lab.Plan{}, err
	}
	paths, err := architecture.Paths(from, to)
	if err != nil {
		return lab.Plan{}, err
	}
	if f.oneOrder {
		paths = paths[:1]
	}
	return expand(&study.File{Study: f.study(paths, given("seed"))}, study.Options{}, f.quick)
}

// mistakes are those of single flags.
func (f *explainFlags) mistakes() error {
	var mistakes []error
	if !(f.rate > 0 && f.rate <= 1e5) {
		mistakes = append(mistakes, fmt.Errorf("--rate is %g, expected orders per second above 0", f.rate))
	}
	mistakes = append(mistakes, f.checkDesign(f.margin, f.duration, f.warmUp))
	if _, err := newGenerator(f.objective); err != nil {
		mistakes = append(mistakes, fmt.Errorf("--objective: %w", err))
	}
	return errors.Join(mistakes...)
}

// choice reads an architecture with knobs behind it, "sync binding=grpc", and puts
// it on the backing services that were asked for.
func (f *explainFlags) choice(flag, text string) (architecture.Choice, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return architecture.Choice{}, fmt.Errorf("--%s is empty: name an architecture, see cleave list", flag)
	}
	c := architecture.Choice{Architecture: words[0], Knobs: map[string]string{}}
	for _, word := range words[1:] {
		knob, value, set := strings.Cut(word, "=")
		if !set {
			return c, fmt.Errorf("--%s: %q is no knob: write NAME=VALUE, see cleave list", flag, word)
		}
		c.Knobs[knob] = value
	}
	more, err := architecture.Backed(c.Architecture, c.Knobs, f.backings)
	if err != nil {
		return c, fmt.Errorf("--%s: %w", flag, err)
	}
	for knob, value := range more {
		c.Knobs[knob] = value
	}
	return c, nil
}

// study is the explanation as a study: every stop of the paths is a variant.
func (f *explainFlags) study(paths []architecture.Path, seedGiven bool) lab.Study {
	first := paths[0]
	last := first.Steps[len(first.Steps)-1]
	s := lab.Study{
		Schema: lab.StudySchema, Name: explainName, Title: "where the cost from " + first.Name + " to " + last.Name + " comes from",
		Question: "Which of the changes on the way costs what?",
		System:   shop.Name, Baseline: first.Name, Metrics: f.metrics(), Design: f.design(first.Name, seedGiven),
		Variants: []lab.Variant{stop(first.Name, first.From, "where the way begins")},
		Points:   []lab.Point{{Name: "rate-" + strconv.FormatFloat(f.rate, 'f', -1, 64), Levels: map[string]float64{shopsystem.Rate: f.rate}}},
		Load:     &lab.Load{Duration: f.duration.Seconds(), WarmUp: f.warmUp.Seconds(), Objective: f.objective},
	}
	if f.noGates {
		s.Load.Lateness = bearable
		s.Notes = append(s.Notes, fmt.Sprintf("Trials counted whatever else the host did, and while the generator sent 99 %% of the orders less than %.0f ms late: medians and costs bear that, 99th percentiles do not.", 1000*bearable))
	}
	if f.capacity {
		// The blocks repeat every search: one probe at a rate is enough in each.
		s.Load.Effort = lab.SearchEffort{Duration: max(1, f.duration.Seconds()/2), Resolution: 1.1, Votes: 1}
		s.Points = append(s.Points, lab.Point{Name: "capacity", Levels: map[string]float64{shopsystem.SearchFrom: f.rate}})
	}
	for order, path := range paths {
		before := path.Name
		for _, step := range path.Steps {
			taken := lab.PathStep{Order: order + 1, Before: before, Variant: step.Name, Changes: shopsystem.KnobChanges(step.Changes)}
			s.Steps, before = append(s.Steps, taken), step.Name
			if _, known := s.Variant(step.Name); !known {
				s.Variants = append(s.Variants, stop(step.Name, step.To, taken.Knob()+" "+taken.Change()))
			}
		}
	}
	return s
}

// stop is a stop of the way as a variant.
func stop(name string, c architecture.Choice, summary string) lab.Variant {
	return lab.Variant{Name: name, System: shop.Name, Architecture: c.Architecture, Knobs: c.Knobs, Deployment: "process", Summary: summary}
}

// design is how the experiment is played.
func (f *explainFlags) design(baseline string, seedGiven bool) lab.Design {
	d := study.Defaults()
	d.Blocks, d.Margin, d.MaxRepeats, d.NoiseFloor = f.blocks, f.margin, 1, []string{baseline}
	if seedGiven {
		d.Seed = f.seed
	}
	if f.noGates {
		d.Gates = lab.Gates{MaxStealShare: 1, MaxCalibrationDrift: 1e9}
	}
	return d
}

// bearable is how late, in seconds, 1 % of the orders may be sent without gates.
const bearable = 0.1

// leastForP99 is how many values a 99th percentile needs to have an interval within
// a trial (order statistics at 95 %).
const leastForP99 = 299

// metrics are the shop's, those first that explain a cost: how long until an order
// is final (until it is answered, where nothing else is measured), how many it can
// take, what one costs, and why. A tail of too few orders explains nothing: it is
// left out.
func (f *explainFlags) metrics() []lab.Metric {
	all := slices.DeleteFunc(shopsystem.System{}.Describe().Metrics, func(m lab.Metric) bool {
		return strings.HasSuffix(m.Name, "_p99") && f.rate*f.duration.Seconds() < leastForP99
	})
	quantity := lab.CompletionTime
	if _, measured := lab.MetricNamed(all, quantity+"_p50"); !measured {
		quantity = lab.ResponseTime
	}
	first := []string{quantity + "_p50", quantity + "_p99", "capacity", "cpu_per_operation", "peak_memory", "statements_per_order", "commits_per_order"}
	rank := func(m lab.Metric) int {
		if i := slices.Index(first, m.Name); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(all, func(a, b lab.Metric) int { return rank(a) - rank(b) })
	return all
}
