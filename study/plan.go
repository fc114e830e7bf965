package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// maxTrials is the largest number of trials of a plan.
const maxTrials = 100_000

// Options hold the changes of a study that the command line makes. Zero values change nothing.
type Options struct {
	Quick bool
	// NoGates lets trials count whatever the host did.
	NoGates bool
	Scale   *float64 // factor of scaled parameters and of the length of the load
	Blocks  *int
	Points  []string // names of the points that are played; empty: all
	Seed    *uint64
	// Deployment replaces that of every variant; empty: each keeps its own.
	Deployment string
	// Profiled is the number of blocks in which every variant is profiled, too.
	Profiled *int
	// Knobs returns knobs to add to those of a variant, or to replace them.
	Knobs func(lab.Variant) (map[string]string, error)
	// Runtimes lists the values of the knob "runtime" that are played; empty: all. Variants without that knob
	// are always played.
	Runtimes []string
	// Refuses returns the reason why a variant cannot be deployed here, or nil. Optional variants with a reason
	// are left out.
	Refuses func(lab.Variant) error
}

// ProfiledByDefault is the default number of profiled blocks: the fewest that give an interval.
const ProfiledByDefault = 3

// TwinSuffix marks the second name of a variant in an A/A pair.
const TwinSuffix = ".twin"

// Resolve applies the options and returns the study as it will be played, with its points chosen and scaled,
// its twins added, and its steps between the remaining variants. The error is of type Problems.
func (f *File) Resolve(o Options) (lab.Study, error) {
	s := f.Study
	points := o.Points
	if o.Quick {
		if f.Quick == nil {
			return s, f.problem("the study has no quick profile: run it without --quick or add the key \"quick\"")
		}
		s.Design.Scale = f.Quick.Scale
		s.Design.Blocks = f.Quick.Blocks
		s.Design.ProfiledBlocks = 0
		if len(points) == 0 {
			points = f.Quick.Points
			s.Variants = restrict(s.Variants, f.Quick.RestrictedPoints)
		}
		s.Load = quickLoad(s.Load, f.Quick.Load)
		if !o.changesProfile() { // the author's time is that of the unchanged quick profile
			s.Took = f.Quick.Took
		}
	}
	if o.Scale != nil {
		s.Design.Scale = *o.Scale
		var err error
		if s.Load, err = scaledLoad(s.Load, *o.Scale); err != nil {
			return s, f.problem("%v", err)
		}
	}
	if err := f.redesign(&s, o); err != nil {
		return s, err
	}
	var err error
	if s.Variants, err = f.withKnobs(s.Variants, o.Knobs); err != nil {
		return s, err
	}
	f.deploy(&s, o.Deployment)
	if err := f.leaveOut(&s, o); err != nil {
		return s, err
	}
	if s.Points, s.Unasked, err = f.choosePoints(points, s.Design.Scale); err != nil {
		return s, err
	}
	if err := f.dropPoints(&s); err != nil {
		return s, err
	}
	chooseVariants(&s)
	noteAbsent(&s)
	s.Trends = chooseTrends(s)
	f.resolveSteps(&s)
	return s, nil
}

// changesProfile reports whether the options change how long the trials of a profile take.
func (o Options) changesProfile() bool {
	return len(o.Points) > 0 || len(o.Runtimes) > 0 || o.Blocks != nil || o.Scale != nil || o.Profiled != nil ||
		o.Deployment != "" || o.Knobs != nil
}

// problem returns a mistake in the options as Problems of the file.
func (f *File) problem(format string, args ...any) error {
	return Problems{{File: f.Path, Message: fmt.Sprintf(format, args...)}}
}

// redesign applies the options that change the design: blocks, seed, profiled blocks and gates.
func (f *File) redesign(s *lab.Study, o Options) error {
	if o.Blocks != nil {
		s.Design.Blocks = *o.Blocks
	}
	if s.Design.Blocks < 1 || s.Design.Blocks > MaxBlocks {
		return f.problem("blocks is %d, expected a whole number from 1 to %d", s.Design.Blocks, MaxBlocks)
	}
	if o.Seed != nil {
		s.Design.Seed = *o.Seed
	}
	if o.Profiled != nil {
		s.Design.ProfiledBlocks = *o.Profiled
	}
	if err := addProfiling(s); err != nil {
		return f.problem("%v", err)
	}
	if o.NoGates {
		withoutGates(s)
	}
	return nil
}

// knobRuntime is the knob that Options.Runtimes chooses by.
const knobRuntime = "runtime"

// leaveOut moves the variants that are not asked for, and the optional ones that cannot be deployed, to the
// absent ones. It refuses to leave out the baseline.
func (f *File) leaveOut(s *lab.Study, o Options) error {
	s.Absent = slices.Clone(s.Absent)
	s.Variants = slices.DeleteFunc(slices.Clone(s.Variants), func(v lab.Variant) bool {
		err := f.unasked(v, o)
		unasked := err != nil
		if !unasked && f.variants[v.Name].Optional {
			err = f.impossible(v, o)
		}
		if err != nil {
			s.Absent = append(s.Absent, lab.AbsentVariant{Name: v.Name, Summary: v.Summary, Reason: oneLine(err),
				Unasked: unasked})
		}
		return err != nil
	})
	for _, v := range s.Absent {
		if v.Name == s.Baseline {
			return f.problem("the baseline %s, which all others are compared with, would be left out: %s", v.Name,
				v.Reason)
		}
	}
	return nil
}

// unasked returns why the choices of the user leave out a variant, or nil.
func (f *File) unasked(v lab.Variant, o Options) error {
	a, _ := f.info.Architecture(v.Architecture)
	if runtime := a.KnobValue(v, knobRuntime); runtime != "" && !isChosen(o.Runtimes, runtime) {
		return fmt.Errorf("its runtime is %s, and only %s is asked for", runtime, strings.Join(o.Runtimes, ", "))
	}
	if o.Quick {
		playsHere := len(o.Points) > 0 || playsAtSome(v, f.Quick.RestrictedPoints)
		if !playsHere || !isChosen(f.Quick.Variants, v.Name) {
			return errors.New("the quick profile leaves it out")
		}
	}
	if only := f.variants[v.Name].Only; !isChosen(only, v.Deployment) {
		return fmt.Errorf("it is played with --deploy %s only", strings.Join(only, " or "))
	}
	return nil
}

// impossible returns why this host or the system cannot have a variant, or nil.
func (f *File) impossible(v lab.Variant, o Options) error {
	if o.Refuses != nil {
		if err := o.Refuses(v); err != nil {
			return err
		}
	}
	if f.info.Check != nil {
		return f.info.Check(v)
	}
	return nil
}

// isChosen reports whether a name is among the chosen ones. If there are none, all are chosen.
func isChosen(chosen []string, name string) bool {
	return len(chosen) == 0 || slices.Contains(chosen, name)
}

// dropPoints removes the points that this host cannot play, and adds a note for each. One must remain.
func (f *File) dropPoints(s *lab.Study) error {
	if f.info.Host == nil {
		return nil
	}
	var dropped []string
	s.Points = slices.DeleteFunc(s.Points, func(p lab.Point) bool {
		err := f.info.Host(p)
		if err != nil {
			dropped = append(dropped, lab.UntestableHere("point "+p.Name, oneLine(err)))
		}
		return err != nil
	})
	if len(s.Points) == 0 {
		return f.problem("this host can play no point: %s", strings.Join(dropped, "; "))
	}
	s.Notes = slices.Concat(s.Notes, dropped)
	return nil
}

// isValidScale reports whether a study can be scaled by a factor. NaN is none.
func isValidScale(scale float64) bool { return scale > 0 && scale <= maxScale }

// scaledLoad returns a load whose duration, ramp-up and search are longer by a factor. Its warm-up is the
// same.
func scaledLoad(load *lab.Load, scale float64) (*lab.Load, error) {
	const shortest = 1.0                     // seconds
	if load == nil || !isValidScale(scale) { // choosePoints refuses such a scale
		return load, nil
	}
	changed := *load
	changed.Duration = scale * load.Duration
	changed.RampUp = scale * load.RampUp
	changed.Effort.Duration = scale * load.Effort.Duration
	if changed.Duration < shortest || changed.Duration > Longest.Seconds() {
		return nil, fmt.Errorf("scale is %g, which turns loads of %g s into loads of %g s: use one from %g to %.3g",
			scale, load.Duration, changed.Duration, shortest/load.Duration,
			min(maxScale, Longest.Seconds()/load.Duration))
	}
	return &changed, nil
}

// quickLoad returns the load with the settings of the quick profile, or load itself if there are none.
func quickLoad(load, quick *lab.Load) *lab.Load {
	if load == nil || quick == nil {
		return load
	}
	changed := *load
	changed.Duration = cmp.Or(quick.Duration, load.Duration)
	if quick.LongestWarmUp() > 0 { // both together: a limit belongs to its length
		changed.WarmUp = quick.WarmUp
		changed.WarmUpLimit = quick.WarmUpLimit
	}
	// By default, the ramp-up stays the same share of the load.
	changed.RampUp = cmp.Or(quick.RampUp, load.RampUp*changed.Duration/load.Duration)
	changed.Lateness = cmp.Or(quick.Lateness, load.Lateness)
	changed.Effort = lab.SearchEffort{
		Duration:   cmp.Or(quick.Effort.Duration, load.Effort.Duration),
		Resolution: cmp.Or(quick.Effort.Resolution, load.Effort.Resolution),
		Votes:      cmp.Or(quick.Effort.Votes, load.Effort.Votes),
	}
	return &changed
}

// withKnobs returns the variants with further knobs. Its error has a problem for each variant that the system
// refuses with them.
func (f *File) withKnobs(
	variants []lab.Variant, knobs func(lab.Variant) (map[string]string, error),
) ([]lab.Variant, error) {
	if knobs == nil {
		return variants, nil
	}
	var problems Problems
	changed := slices.Clone(variants)
	for i, v := range changed {
		more, err := knobs(v)
		if err == nil {
			changed[i].Knobs = merged(v.Knobs, more)
			if f.info.Check != nil {
				err = f.info.Check(changed[i])
			}
		}
		if err != nil {
			problems = append(problems, yamlfile.Problem{File: f.Path, Line: f.lines["variants."+v.Name],
				Message: fmt.Sprintf("variant %s: %s", v.Name, oneLine(err))})
		}
	}
	return changed, problems.OrNil()
}

// choosePoints returns the named points, or all if none are named, with their scaled parameters multiplied,
// and the names of the other points.
func (f *File) choosePoints(names []string, scale float64) (chosen []lab.Point, unasked []string, err error) {
	var problems Problems
	for _, name := range names {
		if _, found := f.Study.Point(name); !found {
			problems = append(problems, yamlfile.Problem{File: f.Path,
				Message: "there is no point " + unknown(name, f.pointNames(), "there are")})
		}
	}
	if !isValidScale(scale) {
		problems = append(problems, yamlfile.Problem{File: f.Path,
			Message: fmt.Sprintf("scale is %g, expected a number above 0 up to %d", scale, maxScale)})
	}
	if len(problems) > 0 {
		return nil, nil, problems
	}
	for _, p := range f.Study.Points {
		if isChosen(names, p.Name) {
			chosen = append(chosen, f.scale(p, scale))
		} else {
			unasked = append(unasked, p.Name)
		}
	}
	return chosen, unasked, nil
}

// scale returns a point with its scaled parameters multiplied and rounded, within their limits.
func (f *File) scale(p lab.Point, scale float64) lab.Point {
	p.Levels = maps.Clone(p.Levels)
	for _, parameter := range f.info.Parameters {
		if level, set := p.Level(parameter.Name); set && parameter.Scaled {
			p.Levels[parameter.Name] = max(parameter.Min, min(parameter.Max, math.Round(level*scale)))
		}
	}
	return p
}

// Expand returns the plan of a resolved study: randomised complete blocks (lab.Study.Block), each with its
// profiled trials after the timed ones. It refuses plans of more than 100,000 trials. profile is the name of
// the profile: "quick" or "full".
func Expand(s lab.Study, profile string, created time.Time) (lab.Plan, error) {
	plan := lab.Plan{Schema: lab.PlanSchema, Created: created.UTC(), Profile: profile, Study: s}
	for block := 1; block <= s.Design.Blocks; block++ {
		timed := s.Block(block, len(plan.Trials))
		plan.Trials = append(plan.Trials, timed...)
		if block <= s.Design.ProfiledBlocks {
			plan.Trials = append(plan.Trials, profiledTrials(s, timed)...)
		}
		if len(plan.Trials) > maxTrials {
			return plan, Problems{{Message: fmt.Sprintf("the plan has more than %d trials: choose fewer blocks, "+
				"points or variants", maxTrials)}}
		}
	}
	return plan, nil
}

// profiledTrials returns the trials of a block that are repeated under a profiler: all but those of twins.
// Their numbers follow those of the timed ones.
func profiledTrials(s lab.Study, timed []lab.PlannedTrial) []lab.PlannedTrial {
	var more []lab.PlannedTrial
	for _, t := range timed {
		if v, _ := s.Variant(t.Variant); v.TwinOf == "" {
			t.Number = timed[len(timed)-1].Number + len(more) + 1
			t.Profiled = true
			more = append(more, t)
		}
	}
	return more
}

// addProfiling adds the metric of profiles to a study with profiled blocks, and limits their number to that
// of all blocks. It refuses a study that cannot be profiled.
func addProfiling(s *lab.Study) error {
	switch {
	case s.Design.ProfiledBlocks < 0:
		return fmt.Errorf("%d blocks cannot be profiled", s.Design.ProfiledBlocks)
	case s.Design.ProfiledBlocks == 0:
		return nil
	case s.Load == nil:
		return errors.New("only systems under load can be profiled, and the study has no load")
	case !slices.ContainsFunc(s.Variants, func(v lab.Variant) bool { return !v.External.RunsAlready() }):
		return errors.New("nothing can be profiled: all systems run already, and profilers are turned on when " +
			"Cleave starts one: leave --profile out (profiled_blocks), or give a command or a file in the place " +
			"of a URL")
	}
	s.Design.ProfiledBlocks = min(s.Design.ProfiledBlocks, s.Design.Blocks)
	if _, has := lab.MetricNamed(s.Metrics, lab.ProfiledMetric().Name); !has {
		s.Metrics = append(slices.Clone(s.Metrics), lab.ProfiledMetric())
	}
	return nil
}
