package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/study"
)

// factorsFlag is the name of the flag that asks for a factorial design.
const factorsFlag = "factors"

// planFactors returns the plan of a factorial design over knobs of --from. Its error lists all mistakes in
// the flags, or all combinations that the system refuses.
func (f *explainFlags) planFactors(system lab.Explainable) (lab.Plan, error) {
	info := system.Describe()
	var clash error
	for _, flag := range []string{"to", "tuned", "one-order"} {
		if f.isSet(flag) {
			clash = errors.Join(clash, fmt.Errorf("--%s is about steps from one variant to another, and --%s "+
				"combines knobs: leave one of them out", flag, factorsFlag))
		}
	}
	base, baseErr := f.variant(info, "from", f.from)
	if err := errors.Join(clash, baseErr, f.mistakes()); err != nil {
		return lab.Plan{}, err
	}
	base.Name = base.Architecture
	a, _ := info.Architecture(base.Architecture)
	factors, err := factorsOf(a, base, f.factors)
	if err != nil {
		return lab.Plan{}, err
	}
	design, err := study.Factorial(base.Name, factors)
	if err != nil {
		return lab.Plan{}, fmt.Errorf("--%s: %w", factorsFlag, err)
	}
	variants, err := runsOf(info, base, design)
	if err == nil {
		err = checkFactors(info, base, factors)
	}
	if err != nil {
		return lab.Plan{}, err
	}
	load := f.measuredLoad()
	load.Objective = f.objective
	s := f.baseStudy(info, load, base.Name)
	if err := f.setLevels(info, s.Points...); err != nil {
		return lab.Plan{}, err
	}
	s.Title = fmt.Sprintf("what %s change in %s, alone and in pairs", figure.And(knobsOf(factors)), base.Name)
	s.Question = "What does each factor change, and which of them do not act alone?"
	s.Variants = variants
	s.Factorial = &design
	s.Metrics = f.metrics(info, system.Explanation().Metrics)
	return f.expand(&study.File{Study: s}, f.options())
}

// factorsOf parses the factors: knobs of an architecture ("logging"), with their second value if they have
// several others ("security=mtls").
func factorsOf(a lab.Architecture, base lab.Variant, texts []string) ([]lab.Factor, error) {
	var factors []lab.Factor
	var wrong mistakes
	for _, text := range texts {
		factor, err := factorOf(a, base, text)
		if err == nil && slices.Contains(knobsOf(factors), factor.Knob) {
			err = fmt.Errorf("%s is given twice", factor.Knob)
		}
		if err != nil {
			wrong.addf("--%s: %w", factorsFlag, err)
		}
		factors = append(factors, factor)
	}
	return factors, wrong.err()
}

// factorOf parses one factor. Its error says what to type.
func factorOf(a lab.Architecture, base lab.Variant, text string) (lab.Factor, error) {
	name, high, named := strings.Cut(strings.TrimSpace(text), "=")
	i := slices.IndexFunc(a.Knobs, func(k lab.Knob) bool { return k.Name == name })
	if i < 0 {
		names := study.NamesOf(a.Knobs, func(k lab.Knob) string { return k.Name })
		return lab.Factor{}, fmt.Errorf("the architecture %s has no knob %q: use some of %s", a.Name, name,
			strings.Join(names, ", "))
	}
	knob := a.Knobs[i]
	low := a.KnobValue(base, name)
	others := slices.DeleteFunc(slices.Clone(knob.Values), func(value string) bool { return value == low })
	if !named {
		switch {
		case len(others) == 0:
			return lab.Factor{}, fmt.Errorf("%s is %s in %s: name its second value: %s=VALUE (%s)", name, low,
				a.Name, name, knob.Summary)
		case len(others) > 1 || knob.Free:
			return lab.Factor{}, fmt.Errorf("%s is %s in %s and has several other values: name the second one: %s=%s",
				name, low, a.Name, name, strings.Join(others, " or "+name+"="))
		}
		high = others[0]
	}
	switch {
	case high == low:
		return lab.Factor{}, fmt.Errorf("%s is %s in %s already: name another value", name, low, a.Name)
	case !knob.Free && !slices.Contains(others, high):
		return lab.Factor{}, fmt.Errorf("%s is %q, expected %s", name, high, strings.Join(others, " or "))
	}
	return lab.Factor{Knob: name, Low: low, High: high}, nil
}

// knobsOf returns the names of the factors.
func knobsOf(factors []lab.Factor) []string {
	return study.NamesOf(factors, func(f lab.Factor) string { return f.Knob })
}

// runsOf returns the runs of a design as variants. Its error lists every combination that the system refuses.
func runsOf(info lab.SystemInfo, base lab.Variant, design lab.Factorial) ([]lab.Variant, error) {
	var variants []lab.Variant
	var refused []error
	for _, run := range design.Runs {
		var set []lab.Factor
		for i, factor := range design.Factors {
			if run.High[i] {
				set = append(set, factor)
			}
		}
		v := withHighLevels(base, set)
		v.Name = run.Variant
		if err := checkVariant(info, v); err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", v.Summary, err))
		}
		variants = append(variants, v)
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("--%s: %s refuses %d of the %d combinations, and a design needs all: leave a "+
			"factor out, or name another value of it\n%w", factorsFlag, info.Name, len(refused), len(design.Runs),
			errors.Join(refused...))
	}
	return variants, nil
}

// withHighLevels returns a variant with some factors at their high level.
func withHighLevels(base lab.Variant, set []lab.Factor) lab.Variant {
	v := base
	v.Knobs = maps.Clone(base.Knobs)
	var parts []string
	for _, factor := range set {
		v.Knobs[factor.Knob] = factor.High
		parts = append(parts, factor.Knob+"="+factor.High)
	}
	v.Summary = strings.Join(parts, " ")
	if len(set) == 0 {
		v.Summary = base.Architecture + " as it is"
	}
	return v
}

// checkFactors returns an error for a factor that changes nothing in the system, neither with the others at
// their low levels nor with them at their high levels.
func checkFactors(info lab.SystemInfo, base lab.Variant, factors []lab.Factor) error {
	if info.Changes == nil {
		return nil
	}
	for i, factor := range factors {
		others := slices.Delete(slices.Clone(factors), i, i+1)
		alone := info.Changes(base, withHighLevels(base, []lab.Factor{factor}))
		together := info.Changes(withHighLevels(base, others), withHighLevels(base, factors))
		if len(alone)+len(together) == 0 {
			return fmt.Errorf("--%s: %s has no effect in %s: leave it out", factorsFlag, factor.Knob,
				base.Architecture)
		}
	}
	return nil
}
