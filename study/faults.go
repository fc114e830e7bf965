package study

import (
	"math"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/lab"
)

// maxFaults is how many a study may have.
const maxFaults = 100

// readFaults reads what is done to every trial.
func (f *File) readFaults(r *reader, node *yaml.Node) {
	r.List(node, "faults", func(_ int, child *yaml.Node) {
		fault := lab.Fault{Heal: math.NaN()}
		known := fields{
			"after": r.duration("after", &fault.After), "heal": r.duration("heal", &fault.Heal),
			"delay": r.duration("delay", &fault.Delay), "rate": r.rate("rate", &fault.Rate),
		}
		for _, kind := range lab.FaultKinds() {
			known[string(kind)] = func(node *yaml.Node) {
				if fault.Kind != "" {
					r.Problem(node.Line, "fault is both %s and %s: make two of it", fault.Kind, kind)
				}
				fault.Kind = kind
				r.text(string(kind), &fault.Target)(node)
			}
		}
		r.object(child, "fault", known, "after")
		if child.Kind == yaml.MappingNode && fault.Kind == "" {
			r.Problem(child.Line, "fault needs one of the keys %v", lab.FaultKinds())
		}
		if err := fault.Check(); err != nil && fault.Kind != "" {
			r.Problem(child.Line, "fault of %s: %v", fault.Target, err)
		}
		if math.IsNaN(fault.Heal) {
			fault.Heal = fault.Kind.DefaultHeal()
		}
		f.Study.Faults = append(f.Study.Faults, fault)
		f.lines.faults = append(f.lines.faults, child.Line)
	})
}

// checkFaults holds the faults against the system and the load. Which units and
// services there are, only the layouts of the variants tell.
func (f *File) checkFaults(r *reader) {
	for i, fault := range f.Study.Faults {
		line := f.lines.faults[i]
		if !f.info.Restartable {
			r.Problem(line, "%s takes no faults: its job cannot go on without one of its units", f.info.Name)
			return
		}
		if load := f.Study.Load; load != nil && !f.planned && fault.After >= load.Duration {
			r.Problem(line, "the fault of %s begins %g s after the start of a load that lasts %g s: no part of the "+
				"load would have it",
				fault.Target, fault.After, load.Duration)
		}
	}
}
