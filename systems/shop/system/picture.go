package system

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// uses returns the units and services that a unit of a design calls: the unit in front all others, since it
// has the public interface and asks for the steps of an order; each the databases of its components; and the
// broker if it publishes or takes events.
func uses(d architecture.Design, unit architecture.Unit) []lab.Use {
	all := []lab.Use{}
	if unit.Hosts(shop.ComponentOrders) {
		for _, other := range d.Units {
			if other.Name != unit.Name {
				all = append(all, lab.Use{To: other.Instances()[0], How: string(d.Binding)})
			}
		}
	}
	if unit.Hosts(shop.Components()...) {
		all = append(all, lab.Use{To: assembly.ServiceDatabase})
	}
	if d.HandlesEvents(unit) {
		all = append(all, lab.Use{To: assembly.ServiceBroker, How: "events"})
	}
	if d.Documents != "" && unit.Hosts(shop.ComponentOrderViews, shop.ComponentStockViews) {
		all = append(all, lab.Use{To: assembly.ServiceDocuments})
	}
	return all
}

// traffic returns the messages and calls of units since they were started, divided by the
// orders of the trial.
func traffic(reports []lab.UnitReport, orders int) ([]lab.Traffic, error) {
	var all []lab.Traffic
	units, err := hosting.Reports[assembly.Report](reports)
	for _, report := range units {
		add := func(to, what string, count int64) {
			all = append(all, lab.Traffic{From: report.Kind, To: to, What: what,
				PerOperation: float64(count) / float64(orders)})
		}
		for _, to := range slices.Sorted(maps.Keys(report.Calls)) {
			add(to, "calls", report.Calls[to])
		}
		for _, c := range report.Databases {
			add(assembly.ServiceDatabase, "statements", c.Statements)
		}
		if m := report.Messages; m != nil {
			add(assembly.ServiceBroker, "messages out", m.Published)
			add(assembly.ServiceBroker, "messages in", m.Delivered)
		}
	}
	return all, err
}
