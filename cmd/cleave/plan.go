package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
)

// options returns the options that the flags set for every study. Numbers are only set if they were given.
func (f *experimentFlags) options() study.Options {
	o := study.Options{NoGates: f.noGates}
	if f.isSet(profileFlag) {
		o.Profiled = &f.profiled
	}
	if f.isSet("seed") {
		o.Seed = &f.seed
	}
	return o
}

// expand makes the plan of a study. Every command that plays a plan makes it here.
func (f *experimentFlags) expand(file *study.File, options study.Options) (lab.Plan, error) {
	resolved, err := file.Resolve(options)
	if err != nil {
		return lab.Plan{}, err
	}
	profile := "full"
	if f.quick {
		profile = "quick"
	}
	plan, err := study.Expand(resolved, profile, time.Now())
	if err != nil {
		return plan, err
	}
	if plan, err = f.sequential.apply(plan, f.isSet); err != nil {
		return plan, err
	}
	return plan, study.CheckNames("", plan)
}

// planBuiltIn makes the plan of a built-in study.
func (f *experimentFlags) planBuiltIn(name string) (lab.Plan, error) {
	file, err := builtIn(name)
	if err != nil {
		return lab.Plan{}, err
	}
	return f.planStudy(file)
}

// builtIn returns a built-in study, with the model that its system plays, if any.
func builtIn(name string) (*study.File, error) {
	data, err := studies.Read(name)
	if err != nil {
		return nil, fmt.Errorf("%w; a study file of yours is played by cleave run", err)
	}
	return study.Parse(name+".yaml", data, systemInfos(studies.Model(name)))
}

// planFile makes the plan of a study file of the user.
func (f *experimentFlags) planFile(path string) (lab.Plan, error) {
	data, err := inputfile.Read(path, study.MaxBytes)
	if err != nil {
		hint := "cleave init study writes one to begin with"
		if slices.Contains(studies.Names(), path) {
			hint = "the built-in study is played by cleave reproduce " + path
		}
		return lab.Plan{}, fmt.Errorf("read the study file: %w: %s", err, hint)
	}
	file, err := study.Parse(path, data, systemInfos(""))
	if err != nil {
		return lab.Plan{}, err
	}
	return f.planStudy(file)
}

// planStudy makes the plan of a study file.
func (f *experimentFlags) planStudy(file *study.File) (lab.Plan, error) {
	o := f.options()
	o.Quick = f.quick
	o.Points = f.points
	o.Runtimes = f.runtimes
	o.Deployment = f.deploy
	o.Refuses = checkDeployment
	if f.isSet("scale") {
		o.Scale = &f.scale
	}
	if f.isSet("blocks") {
		o.Blocks = &f.blocks
	}
	if err := f.useBackings(file.Study.System); err != nil {
		return lab.Plan{}, err
	}
	o.Knobs = f.onBackings
	return f.expand(file, o)
}

// designFlags are the flags of experiments under load that have no study file, such as compare and explain.
type designFlags struct {
	experimentFlags
	duration time.Duration
	warmUp   warmUp
	margin   float64
	levels   map[string]string // of parameters, by their names
}

// addLevels adds the flag for parameters of the system.
func (f *designFlags) addLevels(flags *pflag.FlagSet) {
	flags.StringToStringVar(&f.levels, "level", nil,
		"`NAME=VALUE` of a parameter of the system (cleave list), e.g. reads=9; repeatable")
}

// addLength adds the flags for the length of a load.
func (f *designFlags) addLength(flags *pflag.FlagSet, duration time.Duration) {
	flags.DurationVarP(&f.duration, "duration", "d", duration, "length of the measured load of a trial")
	f.warmUp.addTo(flags)
}

// addBlocks adds the flags for the number of blocks. measured names in the help what each block measures, and
// quick is the help of --quick.
func (f *designFlags) addBlocks(flags *pflag.FlagSet, blocks int, measured, quick string) {
	flags.IntVar(&f.blocks, "blocks", blocks, "number of measurements of each "+measured)
	flags.Float64Var(&f.margin, "margin", 0.05, "smallest difference that matters, as a share")
	flags.BoolVar(&f.quick, "quick", false, quick)
}

// applyQuick reduces the blocks, the load and the warm-up if --quick is set, except for those that other
// flags set.
func (f *designFlags) applyQuick(duration, warmUp time.Duration) {
	if !f.quick {
		return
	}
	if !f.isSet("blocks") {
		f.blocks = 3
	}
	if !f.isSet("duration") {
		f.duration = duration
	}
	if !f.isSet("warm-up") {
		f.warmUp.least = warmUp
	}
}

// checkDesign returns an error for invalid numbers of the experiment.
func (f *designFlags) checkDesign() error {
	var wrong mistakes
	if f.blocks < 1 || f.blocks > study.MaxBlocks {
		wrong.addf("--blocks is %d, expected a whole number from 1 to %d", f.blocks, study.MaxBlocks)
	}
	if !(f.margin >= 0 && f.margin < 1) {
		wrong.addf("--margin is %g, expected a share from 0 to below 1", f.margin)
	}
	if f.duration < time.Second || f.duration > study.Longest {
		wrong.addf("--duration is %v, expected 1s to %.0fh", f.duration, study.Longest.Hours())
	}
	w := f.warmUp
	if w.least < 0 || w.least > study.Longest {
		wrong.addf("--warm-up is %v, expected 0s to %.0fh, or %s", w.least, study.Longest.Hours(), study.Steady)
	}
	if lowest := max(w.least.Seconds(), lab.LeastWarmUpLimit); w.limit != 0 &&
		!(w.limit.Seconds() >= lowest && w.limit.Seconds() <= lab.LongestWarmUpLimit) {
		wrong.addf("--warm-up-limit is %v, expected %gs to %gs: a load needs that long to show that it is steady",
			w.limit, lowest, lab.LongestWarmUpLimit)
	}
	return wrong.err()
}

// mostRate is the highest rate of a load that these commands play, in operations per second.
const mostRate = 1e5

// checkRate returns an error for a value of --rate that cannot be played.
func checkRate(rate float64) error {
	if !(rate > 0 && rate <= mostRate) {
		return fmt.Errorf("--rate is %g, expected operations per second above 0 and at most %g", rate, mostRate)
	}
	return nil
}

// measuredLoad returns a load with the length of the flags.
func (f *designFlags) measuredLoad() lab.Load {
	return lab.Load{Duration: f.duration.Seconds(), WarmUp: f.warmUp.least.Seconds(),
		WarmUpLimit: f.warmUp.limit.Seconds(), Arrivals: lab.JitteredArrivals}
}

// design returns the design of the experiment, with a twin of the baseline.
func (f *designFlags) design(baseline string) lab.Design {
	d := study.Defaults()
	d.Blocks = f.blocks
	d.Margin = f.margin
	d.MaxRepeats = 1
	d.NoiseFloor = []string{baseline}
	d.TrialTimeout = f.trialLimit()
	return d
}

// trialLimit returns the time limit of a trial, in seconds: the default, or more if the load is long.
func (f *designFlags) trialLimit() float64 {
	const overhead = 1800 // for the start, the end and the audit
	load := f.measuredLoad()
	return max(study.Defaults().TrialTimeout, load.LongestWarmUp()+load.Duration+overhead)
}

// useBackings makes variants of a system get the backing services of --backing, if any.
func (f *experimentFlags) useBackings(system string) error {
	if len(f.backings) == 0 {
		return nil
	}
	backed, can := systemNamed[lab.Backed](system, systemSettings{})
	if !can {
		return withCode(exitBadPlan, "--%s %s: the system %s has no backing services: leave the flag out",
			backingFlag, strings.Join(f.backings, ","), system)
	}
	// An unknown kind is an error for any architecture.
	first := lab.Variant{Architecture: backed.Describe().Architectures[0].Name}
	if _, err := backed.OnBackings(first, f.backings); err != nil {
		return withCode(exitBadPlan, "--%s: %w", backingFlag, err)
	}
	f.onBackings = func(v lab.Variant) (map[string]string, error) { return backed.OnBackings(v, f.backings) }
	return nil
}

// deployment returns the deployment of variants that are not from a study file.
func (f *experimentFlags) deployment() string { return cmp.Or(f.deploy, lab.Process) }

// checkDeployment returns an error if the deployment of a variant lacks a capability that it needs.
func checkDeployment(v lab.Variant) error {
	available, err := deployers("", "", "")
	if err != nil {
		return err
	}
	if err := v.SupportedBy(available[v.Deployment]); err != nil {
		return err
	}
	system, is := systemNamed[lab.System](v.System, systemSettings{})
	if !is {
		return nil
	}
	a, _ := system.Describe().Architecture(v.Architecture)
	if a.KnobValue(v, lab.KnobDisk) == lab.DiskReplicated {
		err = lab.CheckDisk(available[v.Deployment])
	}
	return err
}

// variant parses an architecture with knobs, such as "sync binding=grpc", from a flag, and selects its
// backing services.
func (f *experimentFlags) variant(info lab.SystemInfo, flag, text string) (lab.Variant, error) {
	text, err := expandPlacement(text, info.Model)
	if err != nil {
		return lab.Variant{}, fmt.Errorf("--%s: %w", flag, err)
	}
	parts := strings.Fields(text)
	if len(parts) == 0 {
		return lab.Variant{}, fmt.Errorf("--%s is empty: name an architecture, see cleave list", flag)
	}
	v := lab.Variant{System: info.Name, Architecture: parts[0], Knobs: map[string]string{},
		Deployment: f.deployment()}
	for _, setting := range parts[1:] {
		knob, value, set := strings.Cut(setting, "=")
		if !set {
			return v, fmt.Errorf("--%s: %q is no knob: write NAME=VALUE, see cleave list", flag, setting)
		}
		if knob == "deployment" { // it is no knob of architectures
			v.Deployment = value
			continue
		}
		if _, twice := v.Knobs[knob]; twice {
			return v, fmt.Errorf("--%s: %s is given twice", flag, knob)
		}
		v.Knobs[knob] = value
	}
	if !slices.Contains(lab.Deployments(), v.Deployment) {
		return v, fmt.Errorf("--%s: there is no deployment %q: use %s", flag, v.Deployment,
			strings.Join(lab.Deployments(), ", "))
	}
	if err := f.putOnBackings(info, &v); err != nil {
		return v, fmt.Errorf("--%s: %w", flag, err)
	}
	return v, nil
}

// putOnBackings sets the knobs for backing services, if any, and checks the variant.
func (f *experimentFlags) putOnBackings(info lab.SystemInfo, v *lab.Variant) error {
	if f.onBackings != nil {
		more, err := f.onBackings(*v)
		if err != nil {
			return err
		}
		maps.Copy(v.Knobs, more)
	}
	return checkVariant(info, *v)
}

// checkVariant returns an error if the system cannot have this variant.
func checkVariant(info lab.SystemInfo, v lab.Variant) error {
	if info.Check != nil {
		return info.Check(v)
	}
	if a, known := info.Architecture(v.Architecture); known {
		for _, knob := range slices.Sorted(maps.Keys(v.Knobs)) {
			if a.KnobValue(lab.Variant{}, knob) == "" { // every knob of the architecture has a default
				return fmt.Errorf("the architecture %s of %s has no knob %q", a.Name, info.Name, knob)
			}
		}
		return nil
	}
	return fmt.Errorf("the system %s has no architecture %q: use one of %s", info.Name, v.Architecture,
		strings.Join(architectureNames(info), ", "))
}

// architectureNames returns the names of the architectures of a system.
func architectureNames(info lab.SystemInfo) []string {
	return study.NamesOf(info.Architectures, func(a lab.Architecture) string { return a.Name })
}

// setLevels sets the levels of --level in points.
func (f *designFlags) setLevels(info lab.SystemInfo, points ...lab.Point) error {
	for _, name := range slices.Sorted(maps.Keys(f.levels)) {
		parameter, known := info.Parameter(name)
		if !known {
			return fmt.Errorf("--level: %s has no parameter %q: see cleave list %s", info.Name, name, info.Name)
		}
		value, err := strconv.ParseFloat(f.levels[name], 64)
		if err != nil || !(value >= parameter.Min && value <= parameter.Max) {
			return fmt.Errorf("--level: %s is %q, expected a number from %g to %g", name, f.levels[name],
				parameter.Min, parameter.Max)
		}
		for _, p := range points {
			p.Levels[name] = value
		}
	}
	return nil
}

// pointName returns the name of a point.
func pointName(p lab.Point) string { return p.Name }

// variantNames returns the names of the variants of a study.
func variantNames(s lab.Study) []string {
	return study.NamesOf(s.Variants, func(v lab.Variant) string { return v.Name })
}

// ratePoint returns the point of an open loop with this rate, in flows per second.
func ratePoint(rate float64) lab.Point {
	return lab.Point{Name: "rate-" + lab.Plain(rate), Levels: map[string]float64{lab.FactorRate: rate}}
}

// usersPoint returns the point of a closed loop with this number of users.
func usersPoint(users int) lab.Point {
	return lab.Point{Name: fmt.Sprintf("users-%d", users),
		Levels: map[string]float64{lab.FactorUsers: float64(users)}}
}

// layoutsOf returns the layouts of the variants at the study's first point. secrets may be nil for our own
// systems, because their scenarios refer to no secrets.
func layoutsOf(s lab.Study, secrets *secret.Vault) ([]lab.Layout, error) {
	system, err := systemOf(lab.Plan{Study: s}, secrets, "")
	if err != nil {
		return nil, err
	}
	available, err := deployers("", "", "")
	if err != nil {
		return nil, err
	}
	var all []lab.Layout
	for _, v := range s.Variants {
		layout, err := system.Layout(v, s.Points[0], s.Design.Seed)
		if err == nil {
			layout, err = v.Scale(layout)
		}
		if err == nil {
			layout, err = layout.On(available[v.Deployment])
		}
		if err != nil {
			return nil, err
		}
		all = append(all, layout)
	}
	return all, nil
}
