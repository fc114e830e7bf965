package assembly

import (
	"slices"

	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/schema"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

// Tables returns the tables of a design, each as "database.table": those that PrepareComponent makes.
func Tables(design architecture.Design) (all []string) {
	add := func(component string, tables []string) {
		for _, table := range tables {
			name := design.DatabaseOf(component) + "." + table
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	for _, component := range shop.Components() {
		if design.Broker != "" {
			add(component, event.Tables())
		}
		for _, of := range tablesWith(design, component) {
			add(component, schema.Tables(of))
		}
	}
	return all
}

// tablesWith returns the components whose tables are made with those of a component: itself and, with the
// orders of a design that has them, the replica and the record of sagas.
func tablesWith(design architecture.Design, component string) []string {
	all := []string{component}
	if design.Reference == architecture.Replicated && component == shop.ComponentOrders {
		all = append(all, schema.Replica)
	}
	if design.Coordination == architecture.Brokered && component == shop.ComponentOrders {
		all = append(all, schema.Sagas)
	}
	return all
}

// Queues returns the queues of a design with a broker.
func Queues(design architecture.Design) (all []string) {
	for _, queue := range design.Topology().Queues {
		all = append(all, queue.Name)
	}
	return all
}

// Collections returns the collections of documents of a design with read models.
func Collections() []string {
	return []string{orderviews.Collection().Name, stockviews.Collection().Name}
}
