package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/lines"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// code returns the lines of code of the packages of a design.
func code(d architecture.Design) map[string]int {
	const own = "systems/shop/"
	packages := []string{"systems/shop", own + "api", own + "assembly", own + "shopunit", own + "steps",
		own + "schema/...", own + "orderviews", own + "stockviews", own + "coordination",
		own + "coordination/" + map[architecture.Coordination]string{architecture.ACID: "local",
			architecture.Orchestrated: "orchestrated", architecture.Brokered: "brokered",
			architecture.Choreographed: "choreographed", architecture.TwoPhase: "twophase"}[d.Coordination],
		"backing/database"}
	for _, component := range shop.Components() {
		packages = append(packages, own+component)
	}
	if d.Views == architecture.FromDocuments {
		packages = append(packages, own+"readmodel", "backing/document")
	}
	if d.Views == architecture.FromCache {
		packages = append(packages, own+"cached")
	}
	if d.Broker != "" {
		packages = append(packages, own+"events", "binding/event", "backing/broker")
	}
	if d.OverBroker() {
		packages = append(packages, own+"coordination/reacting")
	}
	if d.Reference == architecture.Replicated {
		packages = append(packages, own+"reference")
	}
	if d.Access == architecture.ORM {
		packages = append(packages, own+"mapped")
	}
	if d.Batching {
		packages = append(packages, own+"batching")
	}
	return lines.OfSystem(len(d.Units), string(d.Binding), d.Settings, packages...)
}

// services returns the backing services of a design, with the tables, queues and collections in them.
func services(d architecture.Design) []lab.ServiceSpec {
	all := []lab.ServiceSpec{{Name: assembly.ServiceDatabase, Kind: d.Database, Replicated: d.Replicated,
		Holds: &lab.Holdings{Tables: assembly.Tables(d)}}}
	if d.Broker != "" {
		all = append(all, lab.ServiceSpec{Name: assembly.ServiceBroker, Kind: d.Broker,
			Holds: &lab.Holdings{Queues: assembly.Queues(d)}})
	}
	if d.Documents != "" {
		all = append(all, lab.ServiceSpec{Name: assembly.ServiceDocuments, Kind: d.Documents,
			Replicated: d.Replicated, Holds: &lab.Holdings{Tables: assembly.Collections()}})
	}
	return all
}
