package study

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// writtenSteps is the form of the key steps in a study file: the variants in their order, and the metrics and
// points for which the steps between them are shown.
type writtenSteps struct {
	Variants []string `yaml:"variants"`
	lab.Explained
}

// checkSteps checks the steps against the study. A step passes over variants that cannot be built here.
func (f *File) checkSteps(r *yamlfile.Reader) {
	line := f.lines["steps"]
	seen := map[string]bool{}
	if n := len(f.writtenSteps.Variants); n < 2 && f.lines["steps.variants"] > 0 {
		r.Problem(f.lines["steps.variants"],
			"steps needs at least 2 variants, not %d: a step leads from one to the next", n)
	}
	for _, name := range f.writtenSteps.Variants {
		f.checkName(r, line, "steps", name, f.claimable())
		if seen[name] {
			r.Problem(line, "steps names the variant %q twice, expected every variant once", name)
		}
		seen[name] = true
		f.checkStepPoints(r, name)
	}
	for _, metric := range f.writtenSteps.Metrics {
		if _, found := lab.MetricNamed(f.Study.AllMetrics(), metric); !found {
			r.Problem(line, "steps: there is no metric %s", unknown(metric, f.metricNames(), "there are"))
		}
	}
	f.checkPointNames(r, line, "steps", f.writtenSteps.Points)
	for _, step := range f.steps(f.Study.Variants) {
		if len(step.Changes) == 0 && step.Before != step.Variant { // a variant named twice is reported above
			r.Problem(line, "steps: %s and %s do not differ in any knob, so that nothing lies between them",
				step.Before, step.Variant)
		}
	}
}

// checkStepPoints refuses points at which a variant of the steps does not play.
func (f *File) checkStepPoints(r *yamlfile.Reader, name string) {
	v, found := f.Study.Variant(name)
	for _, point := range f.writtenSteps.Points {
		if found && !v.RunsAt(point) {
			r.Problem(f.lines["steps"], "steps: %s does not play at %s, so that no step can be shown there", name,
				point)
		}
	}
}

// resolveSteps adds the steps between the played variants to a resolved study, unless none of the points at
// which they are to be shown is played.
func (f *File) resolveSteps(s *lab.Study) {
	if len(f.writtenSteps.Variants) == 0 {
		return
	}
	shown := f.writtenSteps.Explained
	if shown.Points = playedPoints(*s, shown.Points); len(shown.Points) == 0 && len(f.writtenSteps.Points) > 0 {
		return
	}
	s.Steps = f.steps(s.Variants)
	s.Explained = &shown
}

// steps returns the steps from each variant of the key to the next one that is among variants. The others are
// passed over. All steps are of order 1: a file gives only one order.
func (f *File) steps(variants []lab.Variant) []lab.PathStep {
	var steps []lab.PathStep
	var before lab.Variant
	for _, name := range f.writtenSteps.Variants {
		i := slices.IndexFunc(variants, func(v lab.Variant) bool { return v.Name == name })
		if i < 0 {
			continue
		}
		v := variants[i]
		if before.Name != "" {
			steps = append(steps, lab.PathStep{Order: 1, Name: before.Name + " -> " + v.Name,
				Changes: f.changes(before, v), Before: before.Name, Variant: v.Name})
		}
		before = v
	}
	return steps
}

// changes returns all differences between two variants: knobs, scaling and deployment.
func (f *File) changes(from, to lab.Variant) []lab.KnobChange {
	all := f.knobChanges(from, to)
	if before, after := from.Scaling(), to.Scaling(); before != after {
		all = append(all, lab.KnobChange{Knob: "scaling", From: cmp.Or(before, "none"), To: cmp.Or(after, "none")})
	}
	if from.Deployment != to.Deployment {
		all = append(all, lab.KnobChange{Knob: "deployment", From: from.Deployment, To: to.Deployment})
	}
	return all
}

// knobChanges returns the changes as the system names them. Without such names they are the architecture and
// the knobs that both variants have.
func (f *File) knobChanges(from, to lab.Variant) []lab.KnobChange {
	if f.info.Changes != nil {
		return f.info.Changes(from, to)
	}
	var all []lab.KnobChange
	if from.Architecture != to.Architecture {
		all = append(all, lab.KnobChange{Knob: "architecture", From: from.Architecture, To: to.Architecture})
	}
	start := f.settings(from)
	end := f.settings(to)
	for _, knob := range slices.Sorted(maps.Keys(start)) {
		if value, both := end[knob]; both && value != start[knob] {
			all = append(all, lab.KnobChange{Knob: knob, From: start[knob], To: value})
		}
	}
	return all
}

// settings returns the values of all knobs of a variant.
func (f *File) settings(v lab.Variant) map[string]string {
	all := map[string]string{}
	architecture, _ := f.info.Architecture(v.Architecture)
	for _, k := range architecture.Knobs {
		all[k.Name] = architecture.KnobValue(v, k.Name)
	}
	return all
}
