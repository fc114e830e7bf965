package system

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
)

// part is a part of the system with metrics of its own, as the study measured each of its machines. A sidecar
// belongs to the part that has its unit.
type part struct {
	suffix, title string
	has           func(role string) bool
}

// parts returns the parts; the first is the whole system. Components in the gateway's unit belong to the
// front. The unit of a monolith belongs to the first part only: its front is the database server alone.
func parts() []part {
	front := func(role string) bool {
		return role == architecture.UnitGateway || role == peopleunit.ServiceDatabase
	}
	return []part{
		{"", "units and database server", func(string) bool { return true }},
		{"_front", "gateway and database server", front},
		{"_services", "units behind the gateway", func(role string) bool {
			return !front(role) && role != people.Name // the unit of a monolith
		}},
		{"_database", "database server", func(role string) bool { return role == peopleunit.ServiceDatabase }},
	}
}

// metrics returns the metrics of people, the headline first. docs/people.md defines them.
func metrics() []lab.Metric {
	words := loaded.Words{Operations: "requests", Flows: "flows", Cost: "units and database server",
		Per: "request answered rightly", Response: "response time"}
	all := append(words.ResponseTimes(0, 0.9, 0.5, 0.99), words.Goodput(), words.Capacity(), words.Errors(),
		words.AchievedShare(), words.CPU())
	all = append(all, loaded.ClientMetrics()...)
	for _, part := range parts() {
		all = append(all,
			lab.Metric{Name: "cpu_share" + part.suffix, Title: "share of its hosts' processors that is in use: " +
				part.title, Unit: "1", Better: lab.LowerIsBetter,
				Kind: lab.KindShare, Quantity: "cpu_share" + part.suffix, Source: lab.FromMeter},
			lab.Metric{Name: "memory" + part.suffix, Title: "mean memory: " + part.title, Unit: "B",
				Better: lab.LowerIsBetter,
				Kind:   lab.KindMemory, Quantity: "mean_memory" + part.suffix, Source: lab.FromMeter})
	}
	return append(all, kit.Amplification(), words.PeakMemory())
}

// Profiling implements lab.Profiled.
func (s System) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"github.com/cleave-lab/cleave/systems/people"}}
}

// Measure implements lab.Measurer. All but the generator is the system's cost.
func (s System) Measure(
	_ context.Context, v lab.Variant, p lab.Point, metered lab.Metered, left lab.Leftover,
) (lab.Measured, error) {
	found, load, err := s.base().Measure(metrics(), p, metered, left)
	if err != nil || loaded.Searches(p) {
		return found, err
	}
	loaded.AddCost(found.Values, metered, load.OK)
	for _, part := range parts() {
		part.measure(found.Values, metered)
	}
	return found, errors.Join(hosting.AddAmplification(found.Values, left.Reports),
		hosting.KeepSpans(s.Spans, v, p, left.Dir))
}

// measure adds the usage of a part, if the variant has it. A figure that was not measured for one of its
// units is left out.
func (p part) measure(values map[string]float64, metered lab.Metered) {
	own := slices.DeleteFunc(slices.Clone(metered.Units), func(u lab.UnitUsage) bool {
		role := u.Unit.Role
		if role == loaded.RoleSidecar {
			role = strings.TrimSuffix(u.Unit.Name, "-"+loaded.RoleSidecar)
		}
		return role == lab.RoleGenerator || !p.has(role)
	})
	if len(own) == 0 || metered.WindowSeconds <= 0 {
		return
	}
	var cpu, memory float64
	for _, u := range own {
		cpu, memory = cpu+u.CPUSeconds, memory+float64(u.MeanMemoryBytes)
	}
	lacks := func(figure string) bool {
		return slices.ContainsFunc(own, func(u lab.UnitUsage) bool { return u.Lacks(figure) })
	}
	if !lacks("mean_memory_bytes") {
		values["memory"+p.suffix] = memory
	}
	if processors := processors(own); processors > 0 && !lacks("cpu_seconds") {
		values["cpu_share"+p.suffix] = cpu / metered.WindowSeconds / float64(processors)
	}
}

// processors returns the number of processors of all hosts of units; 0 if the host of one is unknown.
func processors(units []lab.UnitUsage) (all int) {
	hosts := map[lab.UnitHost]bool{}
	for _, u := range units {
		if u.Host.KernelRun == "" {
			return 0
		}
		hosts[u.Host] = true
	}
	for host := range hosts {
		all += host.Processors
	}
	return all
}
