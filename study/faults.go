package study

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// maxFaults is the largest number of faults of a study.
const maxFaults = 100

// readFault reads one fault and adds it to the study. Its kind is a key, and its target the value of that
// key.
func (f *File) readFault(r *yamlfile.Reader, node *yaml.Node) {
	fault := lab.Fault{Heal: math.NaN()} // NaN: not given
	numbers := map[string]*float64{"after": &fault.After, "heal": &fault.Heal, "delay": &fault.Delay,
		"rate": &fault.Rate}
	known := slices.Sorted(maps.Keys(numbers))
	known = append(known, NamesOf(lab.FaultKinds(), func(k lab.FaultKind) string { return string(k) })...)
	r.Object(node, "fault", known, []string{"after"}, func(key, value *yaml.Node) {
		if into := numbers[key.Value]; into != nil {
			unit := "span"
			if key.Value == "rate" {
				unit = "rate"
			}
			r.Number(value, key.Value, unit, into)
			return
		}
		kind := lab.FaultKind(key.Value)
		if fault.Kind != "" {
			r.Problem(value.Line, "fault is both %s and %s: write two faults", fault.Kind, kind)
		}
		fault.Kind = kind
		r.DecodeAt(key.Value, value, &fault.Target, map[string]int{})
	})
	if node.Kind == yaml.MappingNode && fault.Kind == "" {
		r.Problem(node.Line, "fault needs one of the keys %v", lab.FaultKinds())
	}
	if err := fault.Check(); err != nil && fault.Kind != "" {
		r.Problem(node.Line, "fault of %s: %v", fault.Target, err)
	}
	if math.IsNaN(fault.Heal) {
		fault.Heal = fault.Kind.DefaultHeal()
	}
	f.Study.Faults = append(f.Study.Faults, fault)
}

// checkFaults refuses faults of a system that cannot go on without a unit, and faults after the end of the
// load. Targets are checked later, since only the layout of a variant has its units and services.
func (f *File) checkFaults(r *yamlfile.Reader) {
	for i, fault := range f.Study.Faults {
		line := f.lines[fmt.Sprintf("faults[%d]", i)]
		if !f.info.Restartable {
			r.Problem(line, "%s takes no faults: its job cannot go on without one of its units", f.info.Name)
			return
		}
		load := f.Study.Load
		if load == nil || f.planned {
			continue
		}
		if fault.After >= load.Duration {
			r.Problem(line, "the fault of %s begins %g s after the start of a load that lasts %g s: no part of the "+
				"load would have it", fault.Target, fault.After, load.Duration)
		}
	}
}
