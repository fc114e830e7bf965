package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// check reports all mistakes in the study. It also sets the metrics of the study, completes its variants and
// claims from the system, and moves impossible optional variants to the absent ones.
func (f *File) check(r *yamlfile.Reader, systems map[string]lab.SystemInfo) {
	f.checkNames(r)
	f.checkDesign(r)
	info, found := systems[f.Study.System]
	if !found {
		if f.Study.System != "" || f.planned {
			r.Problem(f.lines["system"], "there is no system %s",
				unknown(f.Study.System, slices.Sorted(maps.Keys(systems)), "there are"))
		}
		return
	}
	f.info = info
	f.Study.Metrics = info.Metrics
	f.checkHosts(r) // before checkVariants: links may be of hosts that only an impossible variant uses
	f.checkVariants(r)
	f.checkSystem(r)
}

// checkVariants checks all variants. It moves the optional ones that the system refuses to the absent ones,
// with the reason.
func (f *File) checkVariants(r *yamlfile.Reader) {
	var possible []lab.Variant
	for _, v := range f.Study.Variants {
		refusal := f.checkVariant(r, &v)
		if refusal != nil && f.variants[v.Name].Optional {
			f.Study.Absent = append(f.Study.Absent,
				lab.AbsentVariant{Name: v.Name, Summary: v.Summary, Reason: oneLine(refusal)})
			continue
		}
		if refusal != nil {
			r.Problem(f.lines["variants."+v.Name], "variant %s: %s", v.Name, oneLine(refusal))
		}
		possible = append(possible, v)
	}
	f.Study.Variants = possible
}

// oneLine returns the message of an error with its lines joined by semicolons.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// checkSystem checks points, names, claims, faults, steps and the quick profile against the system.
func (f *File) checkSystem(r *yamlfile.Reader) {
	if len(f.Study.Points) == 0 {
		r.Problem(f.lines[""], "the study needs points (or factors)")
	}
	seen := map[string]bool{}
	// checked holds the checked factors by line. Points that are made from the key "factors" share its line,
	// and each of their mistakes is reported once.
	checked := map[int][]string{}
	for _, p := range f.Study.Points {
		line := f.lines["points."+p.Name]
		if seen[p.Name] {
			r.Problem(line, "there are two points %q", p.Name)
		}
		seen[p.Name] = true
		f.checkLevels(r, line, p)
		for _, factor := range p.Factors() {
			if !slices.Contains(checked[line], factor) {
				checked[line] = append(checked[line], factor)
				f.checkFactor(r, line, factor)
			}
		}
	}
	f.checkName(r, f.lines["baseline"], "baseline", f.Study.Baseline, f.variantNames())
	for _, name := range f.Study.Design.NoiseFloor {
		f.checkName(r, f.lines["design.noise_floor"], "noise_floor", name, f.claimable())
		if twin := name + TwinSuffix; f.lines["variants."+twin] > 0 {
			r.Problem(f.lines["variants."+twin],
				"variant %s has the name of the twin that noise_floor makes of %s: choose another", twin, name)
		}
	}
	f.checkPointNames(r, f.lines["design.noise_floor_points"], "noise_floor_points",
		f.Study.Design.NoiseFloorPoints)
	for i, t := range f.Study.Trends {
		line := f.lines[fmt.Sprintf("trends[%d]", i)]
		f.checkPointNames(r, line, "trend", t.Points)
		f.checkFactor(r, line, t.Factor)
	}
	f.checkClaims(r)
	f.checkFaults(r)
	f.checkSteps(r)
	if f.Quick != nil {
		f.checkPointNames(r, f.lines["quick"], "quick", f.Quick.Points)
		f.checkPointNames(r, f.lines["quick"], "quick", f.Quick.RestrictedPoints)
		for _, name := range f.Quick.Variants {
			f.checkName(r, f.lines["quick"], "quick", name, f.claimable())
		}
	}
}

// checkVariant checks a variant against its architecture, and returns why the system refuses it; nil if it
// does not, or if its knobs are wrong, which are reported. A variant without a summary gets that of its
// architecture.
func (f *File) checkVariant(r *yamlfile.Reader, v *lab.Variant) (refusal error) {
	line := f.lines["variants."+v.Name]
	v.System = f.Study.System
	architecture, found := f.info.Architecture(v.Architecture)
	if !found {
		if v.Architecture != "" || f.planned {
			known := NamesOf(f.info.Architectures, func(a lab.Architecture) string { return a.Name })
			r.Problem(line, "variant %s: %s has no architecture %s", v.Name, f.info.Name,
				unknown(v.Architecture, known, "it has"))
		}
		return nil
	}
	v.Summary = cmp.Or(v.Summary, architecture.Summary)
	if f.info.Foreign {
		f.checkForeignVariant(r, *v)
	} else {
		checkDeployment(r, line, "variant "+v.Name, v.Deployment, lab.Deployments())
	}
	f.checkUnits(r, "variants."+v.Name, *v)
	problems := len(r.Problems)
	for _, name := range slices.Sorted(maps.Keys(v.Knobs)) {
		checkKnob(r, line, *v, architecture, name)
	}
	knobsAreWrong := len(r.Problems) > problems // the system would report them again
	f.checkPointNames(r, line, "variant "+v.Name, v.Points)
	if f.info.Check == nil || knobsAreWrong {
		return nil
	}
	return f.info.Check(*v)
}

// checkForeignVariant checks the deployment of a variant that is not part of Cleave, and refuses to scale
// what Cleave does not start.
func (f *File) checkForeignVariant(r *yamlfile.Reader, v lab.Variant) {
	line := f.lines["variants."+v.Name]
	deployments, limited := map[string][]string{
		"compose":  {"compose"},
		"services": {lab.DockerBridge, lab.Swarm, lab.Kubernetes},
		"image":    {lab.DockerBridge, lab.DockerHost, lab.Swarm, lab.Kubernetes},
		"url":      {lab.Process},
	}[v.Architecture]
	if !limited {
		deployments = lab.Deployments()
	}
	checkDeployment(r, line, "variant "+v.Name, v.Deployment, deployments)
	scaled := len(v.Nodes) + len(v.Hosts) + len(v.Autoscale)
	scaled += len(f.variants[v.Name].Deployed)
	if !slices.Contains([]string{"services", "image", "command"}, v.Architecture) { // Cleave starts their units
		scaled += len(v.Replicas) + len(v.Limits)
	}
	if scaled > 0 {
		r.Problem(line, "variant %s: Cleave cannot set replicas, limits or nodes of a system that others run: "+
			"leave these keys out", v.Name)
	}
}

// checkKnob checks that the architecture has the knob, and that the variant gives it an allowed value.
func checkKnob(r *yamlfile.Reader, line int, v lab.Variant, architecture lab.Architecture, name string) {
	var known []string
	for _, knob := range architecture.Knobs {
		if knob.Name != name {
			known = append(known, knob.Name)
			continue
		}
		if !knob.Free && !slices.Contains(knob.Values, v.Knobs[name]) {
			r.Problem(line, "variant %s: knob %s is %q, expected %s", v.Name, name, v.Knobs[name],
				strings.Join(knob.Values, " or "))
		}
		return
	}
	r.Problem(line, "variant %s: architecture %s has no knob %s", v.Name, architecture.Name,
		unknown(name, known, "it has"))
}

// unknown describes an unknown name: the name, a suggestion and, after intro ("there are"), all known names.
func unknown(name string, known []string, intro string) string {
	return yamlfile.Message("%q%s; %s %s", name, yamlfile.Suggest(name, known), intro, strings.Join(known, ", "))
}

// checkLevels checks that a point sets all parameters that the system needs, each within its limits.
func (f *File) checkLevels(r *yamlfile.Reader, line int, p lab.Point) {
	for _, parameter := range f.info.Parameters {
		level, set := p.Level(parameter.Name)
		switch {
		case !set && parameter.Optional:
		case !set:
			r.Problem(line, "point %s does not set %s (%s)", p.Name, parameter.Name, parameter.Summary)
		case math.IsNaN(level): // reported by the reader
		case !f.isLevel(parameter, level):
			kind := "whole number"
			if parameter.Share {
				kind = "share"
			}
			r.Problem(line, "point %s: %s is %g, expected a %s from %g to %g",
				p.Name, parameter.Name, level, kind, parameter.Min, parameter.Max)
		}
	}
}

// isLevel reports whether a level is within the limits of its parameter. In a plan, where levels are scaled,
// they need not be whole numbers.
func (f *File) isLevel(p lab.Parameter, level float64) bool {
	if level < p.Min || level > p.Max {
		return false
	}
	return p.Share || f.planned || level == math.Trunc(level)
}

// checkFactor refuses a factor that is no parameter of the system.
func (f *File) checkFactor(r *yamlfile.Reader, line int, factor string) {
	if _, found := f.info.Parameter(factor); found {
		return
	}
	known := NamesOf(f.info.Parameters, func(p lab.Parameter) string { return p.Name })
	r.Problem(line, "%s has no parameter %s", f.info.Name, unknown(factor, known, "it has"))
}

// checkName refuses a name that is not one of the known variants. It refuses none in a plan, where names may
// be those of variants that were left out when the plan was made. what names the key in messages.
func (f *File) checkName(r *yamlfile.Reader, line int, what, name string, known []string) {
	if name != "" && !f.planned && !slices.Contains(known, name) {
		r.Problem(line, "%s names the variant %s", what, unknown(name, known, "there are"))
	}
}

// checkPointNames refuses names that are not points of the study. It refuses none in a plan, for the reason
// that checkName gives.
func (f *File) checkPointNames(r *yamlfile.Reader, line int, what string, names []string) {
	if f.planned {
		return
	}
	known := f.pointNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			r.Problem(line, "%s names the point %s", what, unknown(name, known, "there are"))
		}
	}
}

// checkClaims checks all claims. A testable claim without a metric gets the first metric of the study.
func (f *File) checkClaims(r *yamlfile.Reader) {
	seen := map[string]bool{}
	for i := range f.Study.Claims {
		if f.Study.Claims[i].Metric == "" && f.Study.Claims[i].Untestable == "" {
			f.Study.Claims[i].Metric = f.Study.AllMetrics()[0].Name
		}
		place := fmt.Sprintf("claims[%d]", i)
		c, line := f.Study.Claims[i], f.lines[place]
		if c.Untestable != "" && c.Metric != "" {
			r.Problem(line, "claim %s has both a metric, %s, and untestable: leave out one", c.ID, c.Metric)
		}
		if seen[c.ID] {
			r.Problem(line, "there are two claims %q", c.ID)
		}
		seen[c.ID] = true
		f.checkName(r, line, "claim "+c.ID, c.Variant, f.claimable())
		f.checkName(r, line, "claim "+c.ID, c.Against, f.claimable())
		f.checkPointNames(r, line, "claim "+c.ID, c.Points)
		for _, metric := range []string{c.Metric, c.AgainstMetric} {
			if _, found := lab.MetricNamed(f.Study.AllMetrics(), metric); metric != "" && !found {
				r.Problem(line, "claim %s: there is no metric %s", c.ID, unknown(metric, f.metricNames(), "there are"))
			}
		}
		f.checkClaimKind(r, place, c)
	}
}

// metricNames lists the metrics that claims and steps may name.
func (f *File) metricNames() []string {
	return NamesOf(f.Study.AllMetrics(), func(m lab.Metric) string { return m.Name })
}

// checkClaimKind reports what a claim lacks for the test of its kind. place is the claim's key in the file.
func (f *File) checkClaimKind(r *yamlfile.Reader, place string, c lab.Claim) {
	line := f.lines[place]
	test, known := c.Kind.Test()
	if !known {
		kinds := NamesOf(lab.ClaimTests(), func(t lab.ClaimTest) string { return string(t.Kind) })
		r.Problem(line, "claim %s: kind is %q, expected one of %s", c.ID, c.Kind, strings.Join(kinds, ", "))
		return
	}
	if test.Against && c.Against == "" {
		r.Problem(line, "claim %s: a claim of kind %s needs the key \"against\"", c.ID, c.Kind)
	}
	if test.Exponent && c.Factor == "" {
		r.Problem(line, "claim %s: a claim of kind %s needs the key \"factor\"", c.ID, c.Kind)
	}
	comparesMetrics := test.Against && !test.Exponent
	if c.AgainstMetric != "" && !comparesMetrics {
		r.Problem(line, "claim %s: a claim of kind %s has no use for the key \"against_metric\"", c.ID, c.Kind)
	}
	if c.Factor != "" {
		f.checkFactor(r, line, c.Factor)
	}
	f.checkRange(r, place, c, test)
}

// checkRange checks the range of a claim, or that it has none if the test of its kind has no use for one.
func (f *File) checkRange(r *yamlfile.Reader, place string, c lab.Claim, test lab.ClaimTest) {
	line := f.lines[place]
	// A file may set a bound to 0: its line shows that. A plan has no lines.
	written := f.lines[place+".low"] > 0 || f.lines[place+".high"] > 0
	ranged := test.Range || written || c.Low != 0 || c.High != 0
	takesRange := test.Range || c.Kind == lab.ClaimEquivalent
	switch {
	case ranged && !takesRange && !f.planned:
		r.Problem(line, "claim %s: a claim of kind %s has no use for the keys \"low\" and \"high\"", c.ID, c.Kind)
	case c.Low < 0 && !test.Exponent:
		r.Problem(line, "claim %s: low is %g, expected a number from 0 up: only an exponent can be negative",
			c.ID, c.Low)
	case ranged && !f.planned && f.lines[place+".high"] == 0:
		r.Problem(line, "claim %s: its range needs the key \"high\"", c.ID)
	case ranged && !(c.Low < c.High):
		r.Problem(line, "claim %s: low is %g and high is %g, expected low below high", c.ID, c.Low, c.High)
	}
}
