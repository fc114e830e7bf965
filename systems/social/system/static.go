package system

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/lines"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/socialunit"
)

// code returns the lines of code of the packages that a design is built from.
func code(d architecture.Design) map[string]int {
	const own = "systems/social/"
	packages := []string{"systems/social", own + "compose", own + "content", own + "gateway", own + "graph",
		own + "parts", own + "posts", own + "session", own + "timelines", own + "socialunit",
		"backing/document"}
	if d.Cache {
		packages = append(packages, "backing/cache")
	}
	if d.ThirdParty {
		packages = append(packages, own+"thirdparty")
	}
	if d.Broker != "" {
		packages = append(packages, "binding/event", "backing/broker")
	}
	return lines.OfSystem(len(d.Units), d.Calls, d.Settings, packages...)
}

// services returns the backing services of a design, with the collections and queues that it makes in them.
func services(d architecture.Design) []lab.ServiceSpec {
	documents := &lab.Holdings{}
	for _, part := range parts.Names() {
		if d.Keeps(part) {
			documents.Tables = append(documents.Tables, socialunit.CollectionOf(part).Name)
		}
	}
	all := []lab.ServiceSpec{{Name: socialunit.ServiceDocuments, Kind: d.Documents, Holds: documents}}
	if d.Cache {
		all = append(all, lab.ServiceSpec{Name: socialunit.ServiceCache, Kind: d.CacheStore,
			Holds: &lab.Holdings{}})
	}
	if d.Broker != "" {
		all = append(all, lab.ServiceSpec{Name: socialunit.ServiceBroker, Kind: d.Broker,
			Holds: &lab.Holdings{Queues: []string{socialunit.Queue}}})
	}
	return all
}
