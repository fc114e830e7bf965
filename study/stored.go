package study

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// CheckNames refuses a plan with names that are unsafe as part of a path or on a terminal, or with so many
// blocks, variants or points that an analysis would take very long. That is enough to show its results;
// CheckPlan is for plans that are played. path is only used in messages. The error is of type Problems.
func CheckNames(path string, plan lab.Plan) error {
	f, r := stored(path, plan)
	f.checkNames(r)
	f.checkTexts(r)
	return r.Problems.OrNil()
}

// CheckPlan checks a plan from a result folder, which may come from a stranger, by the rules for study files,
// so that it can be played safely. systems are those that plans may name. path is only used in messages. The
// error is of type Problems.
func CheckPlan(path string, plan lab.Plan, systems map[string]lab.SystemInfo) error {
	if err := CheckNames(path, plan); err != nil {
		return err // the checks below would take very long for a plan with very many variants and points
	}
	f, r := stored(path, plan)
	f.check(r, systems)
	f.checkForeign(r)
	f.checkTwins(r)
	f.checkStepNames(r)
	f.checkFactorial(r)
	f.checkTrials(r, plan.Trials)
	return r.Problems.OrNil()
}

// stored returns the study of a plan as a file without lines. The file has copies of the lists that checks
// change.
func stored(path string, plan lab.Plan) (*File, *yamlfile.Reader) {
	f := &File{Path: path, Study: plan.Study, planned: true}
	f.Study.Variants = slices.Clone(f.Study.Variants)
	f.Study.Claims = slices.Clone(f.Study.Claims)
	return f, &yamlfile.Reader{Format: format(), File: path}
}

// checkNames checks the schema, the names of the study, its variants and points, and the numbers of blocks,
// variants, points, claims and faults.
func (f *File) checkNames(r *yamlfile.Reader) {
	s := f.Study
	if s.Schema != "" && s.Schema != lab.StudySchema {
		r.Problem(f.lines["schema"], "schema is %q, this cleave reads %q", s.Schema, lab.StudySchema)
	}
	isMissing := s.Name == "" && !f.planned // reported by the reader
	if !isMissing && !yamlfile.IsName(s.Name) {
		r.Problem(f.lines["name"], "name is %q, expected at most %d lower-case letters, digits, dots and "+
			"dashes", s.Name, yamlfile.MaxName)
	}
	seen := map[string]bool{}
	for _, v := range s.Variants {
		if !yamlfile.IsName(strings.TrimSuffix(v.Name, TwinSuffix)) { // a twin's may be longer
			r.Problem(f.lines["variants."+v.Name], "variant is called %q, expected at most %d lower-case letters, "+
				"digits, dots and dashes", v.Name, yamlfile.MaxName)
		}
		if seen[v.Name] {
			r.Problem(0, "there are two variants %q, expected every name once", v.Name)
		}
		seen[v.Name] = true
	}
	for _, p := range s.Points {
		if !pointPattern.MatchString(p.Name) {
			r.Problem(f.lines["points."+p.Name], "point is called %q, expected letters, digits, dots and dashes",
				p.Name)
		}
	}
	atMost := func(what string, count, most int) {
		if count > most {
			r.Problem(cmp.Or(f.lines[what+"[0]"], f.lines[""]), "%d %s, at most %d are allowed", count, what, most)
		}
	}
	atMost("variants", len(s.Variants), maxVariants)
	atMost("points", len(s.Points), maxPoints)
	atMost("claims", len(s.Claims), maxClaims)
	atMost("faults", len(s.Faults), maxFaults)
	f.limit(r, "design.blocks", float64(s.Design.Blocks), 1, MaxBlocks)
	if s.Design.Until != "" { // which no study file can set
		f.limit(r, "design.blocks of a study until decided", float64(s.Design.Blocks), lab.FirstLook+1,
			lab.MostLooked)
	}
}

// pointPattern matches the names of points, including the long ones of points that are made of crossed
// factors.
var pointPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,999}$`)

// checkTexts refuses control characters in the keys and texts of the study. Texts of external systems and of
// loads are never shown as they are, and may have them.
func (f *File) checkTexts(r *yamlfile.Reader) {
	s := f.Study
	s.Load = nil
	s.Variants = slices.Clone(s.Variants)
	for i := range s.Variants {
		s.Variants[i].External = nil
	}
	var tree any
	text, err := json.Marshal(s)
	if err := errors.Join(err, json.Unmarshal(text, &tree)); err != nil {
		r.Problem(0, "the study cannot be read: %v", err)
		return
	}
	f.checkTree(r, tree)
}

// checkTree refuses control characters in all strings and keys of a value that was read from JSON.
func (f *File) checkTree(r *yamlfile.Reader, tree any) {
	switch tree := tree.(type) {
	case string:
		if yamlfile.Unprintable(tree) {
			r.Problem(0, "the text %q has control characters", tree)
		}
	case []any:
		for _, child := range tree {
			f.checkTree(r, child)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			f.checkTree(r, key)
			f.checkTree(r, tree[key])
		}
	}
}

// limit refuses a number outside its limits. NaN passes: it marks a value that the reader has refused.
func (f *File) limit(r *yamlfile.Reader, place string, value, lowest, highest float64) {
	if value < lowest || value > highest {
		r.Problem(f.lines[place], "%s is %g, expected a number from %g to %g", place, value, lowest, highest)
	}
}

const (
	belowOne = 1 - 1e-12 // the limit of shares that must be less than one
	longest  = 1e9       // the largest time, in seconds; the reader of study files allows only Longest
)

// checkDesign checks the numbers of design, load, faults, claims and the quick profile against their limits.
func (f *File) checkDesign(r *yamlfile.Reader) {
	limit := func(place string, value, lowest, highest float64) { f.limit(r, place, value, lowest, highest) }
	d := f.Study.Design
	profiled := d.Blocks
	if !f.planned {
		profiled = MaxBlocks // options may still change the blocks; addProfiling limits the profiled ones then
	}
	limit("design.profiled_blocks", float64(d.ProfiledBlocks), 0, float64(profiled))
	limit("design.scale", d.Scale, 1e-12, maxScale)
	limit("design.margin", d.Margin, 0, belowOne)
	limit("design.confidence", d.Confidence, 0.5, belowOne)
	limit("design.warmup_trials", float64(d.WarmupTrials), 0, maxWarmups)
	limit("design.max_repeats", float64(d.MaxRepeats), 0, maxRepeats)
	// No study file can set design.until, so it has no line.
	if d.Until != "" && d.Until != lab.UntilDecided {
		r.Problem(0, "design.until is %q, expected %q or nothing", d.Until, lab.UntilDecided)
	}
	limit("design.lengthen", d.Lengthen, 0, MostLengthened)
	limit("design.within", d.Within, 0, longest)
	limit("design.trial_timeout", d.TrialTimeout, 1e-9, longest)
	limit("design.gates.steal", d.Gates.MaxStealShare, 0, 1)
	limit("design.gates.calibration", d.Gates.MaxCalibrationDrift, 0, math.MaxFloat64)
	if l := f.Study.Load; l != nil {
		// A load with a rate, with users or with a search needs a duration. One that plays a number of operations
		// has none.
		shortest := 0.0
		for _, p := range f.Study.Points {
			if _, _, err := p.Only(lab.FactorRate, lab.FactorPerMinute, lab.FactorUsers,
				lab.FactorSearchFrom); err == nil {
				shortest = 1e-9
			}
		}
		limit("load.duration", l.Duration, shortest, longest)
		limit("load.client.trace_share", l.Client.TraceShare, 0, 1)
		if l.RampUp > 0 && l.RampUp >= l.Duration {
			r.Problem(f.lines["load"], "the users of the load begin over %gs, expected a ramp_up shorter than its "+
				"duration of %gs", l.RampUp, l.Duration)
		}
		f.checkLoad(r, "load", l)
	}
	for i, fault := range f.Study.Faults {
		limit(fmt.Sprintf("faults[%d].after", i), fault.After, 0, longest)
		limit(fmt.Sprintf("faults[%d].heal", i), fault.Heal, 0, longest)
	}
	for i, c := range f.Study.Claims {
		limit(fmt.Sprintf("claims[%d].low", i), c.Low, -1e12, 1e12)
		limit(fmt.Sprintf("claims[%d].high", i), c.High, -1e12, 1e12)
		limit(fmt.Sprintf("claims[%d].published", i), c.Published, -1e12, 1e12)
	}
	if q := f.Quick; q != nil {
		limit("quick.scale", q.Scale, 1e-6, 1)
		limit("quick.blocks", float64(q.Blocks), 1, MaxBlocks)
		if q.Load != nil {
			f.checkLoad(r, "quick.load", q.Load)
		}
	}
}

// checkLoad checks the settings that load and quick.load share against their limits.
func (f *File) checkLoad(r *yamlfile.Reader, place string, l *lab.Load) {
	f.limit(r, place+".warm_up", l.WarmUp, 0, longest)
	if l.WarmUpLimit != 0 { // below LeastWarmUpLimit, no load can be judged as steady
		f.limit(r, place+".warm_up_limit", l.WarmUpLimit, max(l.WarmUp, lab.LeastWarmUpLimit),
			lab.LongestWarmUpLimit)
	}
	f.limit(r, place+".ramp_up", l.RampUp, 0, longest)
	f.limit(r, place+".lateness", l.Lateness, 0, longest)
	f.limit(r, place+".search.duration", l.Effort.Duration, 0, longest)
	if l.Effort.Resolution != 0 || f.lines[place+".search.resolution"] > 0 {
		f.limit(r, place+".search.resolution", l.Effort.Resolution, leastResolution, 2)
	}
	f.limit(r, place+".search.votes", float64(l.Effort.Votes), 0, maxVotes)
	if v := l.Effort.Votes; v > 0 && v%2 == 0 {
		r.Problem(f.lines[place+".search.votes"],
			"%s.search.votes is %d, expected an odd number: the majority decides", place, v)
	}
}

// checkForeign refuses a plan with a model that its system does not play. If the system is one of our own, it
// also refuses the parts of an external one: an external variant, a scenario, files or consent.
func (f *File) checkForeign(r *yamlfile.Reader) {
	if f.Study.Model != f.info.Model {
		r.Problem(0, "the plan brings a model, which %s does not play", f.info.Name)
	}
	if f.info.Foreign {
		return
	}
	for _, v := range f.Study.Variants {
		if v.External != nil {
			r.Problem(0, "variant %s is of an external system, which %s is not", v.Name, f.info.Name)
		}
	}
	l := f.Study.Load
	if l == nil {
		return
	}
	hasScenario := len(l.Scenario) > 0 && string(l.Scenario) != "null"
	if hasScenario || len(l.Files) > 0 || l.Consent != "" {
		r.Problem(0, "the load brings a scenario, files or a list of hosts, which %s does not take", f.info.Name)
	}
}

// checkTwins refuses twins that differ from their originals in more than name and points.
func (f *File) checkTwins(r *yamlfile.Reader) {
	for _, v := range f.Study.Variants {
		if v.TwinOf == "" {
			continue
		}
		original, found := f.Study.Variant(v.TwinOf)
		same := original
		same.Name = v.Name
		same.TwinOf = v.TwinOf
		same.Points = v.Points
		if !found || original.TwinOf != "" || !reflect.DeepEqual(v, same) {
			r.Problem(0, "variant %s is no twin of %q, expected a copy of it under another name", v.Name, v.TwinOf)
		}
	}
}

// checkStepNames refuses steps between unknown variants.
func (f *File) checkStepNames(r *yamlfile.Reader) {
	for _, step := range f.Study.Steps {
		for _, name := range []string{step.Before, step.Variant} {
			if _, found := f.Study.Variant(name); !found {
				r.Problem(0, "a step names %q, which is no variant of the study", name)
			}
		}
	}
}

// checkTrials refuses trials whose number, block, variant or point is not one of the study.
func (f *File) checkTrials(r *yamlfile.Reader, trials []lab.PlannedTrial) {
	if len(trials) > maxTrials {
		r.Problem(0, "the plan has %d trials, at most %d are allowed", len(trials), maxTrials)
		return
	}
	for i, t := range trials {
		v, known := f.Study.Variant(t.Variant)
		_, knownPoint := f.Study.Point(t.Point)
		isInDesign := 1 <= t.Block && t.Block <= f.Study.Design.Blocks
		plays := known && knownPoint && v.RunsAt(t.Point)
		if t.Number != i+1 || !isInDesign || !plays {
			r.Problem(0, "trial %d of the plan (number %d, block %d, variant %q at point %q) is none of the study",
				i+1, t.Number, t.Block, t.Variant, t.Point)
			return
		}
	}
}
