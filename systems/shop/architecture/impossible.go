package architecture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
)

// impossible returns the reasons why a design cannot be built; turned are the knobs that the user has
// turned.
func (d Design) impossible(turned map[string]string) []error {
	var reasons []error
	refuse := func(when bool, format string, args ...any) {
		if when {
			reasons = append(reasons, fmt.Errorf(format, args...))
		}
	}
	if d.Coordination == ACID {
		changed := d.changedUnits()
		refuse(len(changed) > 1, "coordination %s is one local transaction, but inventory, orders, payments "+
			"and shipping are in %d units (%s): put them together, or use %s",
			ACID, len(changed), strings.Join(changed, ", "), Orchestrated)
		refuse(d.Data == OwnDatabases,
			"coordination %s is one transaction of one database, but data is %s: use data %s or %s, or %s",
			ACID, d.Data, SharedData, OwnSchemas, Orchestrated)
	}
	if d.Coordination == TwoPhase {
		d.refuseTwoPhase(refuse)
	}
	withoutSchemas := map[string]string{sqlite: "a file of SQLite has none",
		mariadb: "to MariaDB a schema is a database"}
	refuse(d.Data == OwnSchemas && d.Database != postgres,
		"data %s is one database with a schema per component, but %s: use data %s, or database %s",
		OwnSchemas, withoutSchemas[d.Database], OwnDatabases, postgres)
	refuse(d.Views == FromDocuments && !d.OverBroker(),
		"views %s are kept up to date by events, but coordination %s publishes none: use views %s, or "+
			"coordination %s or %s",
		FromDocuments, d.Coordination, FromTables, Brokered, Choreographed)
	refuse(d.Reference == Replicated && d.Coordination == ACID,
		"reference %s is kept current by events, but coordination %s is one transaction that reads the owners' "+
			"tables: use reference %s, or coordination %s", Replicated, ACID, Asked, Orchestrated)
	refuse(d.Pair && d.idle(KnobBalancer),
		"balancer %s has nothing to balance: one unit takes orders; use replicas 2, or more", balancerPair)
	_, binding := turned[KnobBinding]
	refuse(binding && d.Alone(), "binding %s has nothing to carry: all components are in one unit", d.Binding)
	if err := kit.CheckCalls(turned, len(d.Units)); err != nil {
		reasons = append(reasons, err)
	}
	refuse(d.Binding.OverUnix() && kit.AddsToCalls(kit.KnobSidecar, d.Sidecar),
		"sidecar %s listens to TCP, but binding is %s: use binding %s", d.Sidecar, d.Binding, d.Binding.OverTCP())
	_, broker := turned[KnobBroker]
	refuse(broker && d.Broker == "", "broker %s has nothing to carry: coordination %s with reference %s "+
		"publishes no events", turned[KnobBroker], d.Coordination, d.Reference)
	_, publishing := turned[KnobPublishing]
	refuse(publishing && d.Broker == "", "publishing %s has nothing to publish: coordination %s has no events; "+
		"use coordination %s or %s", d.Publishing, d.Coordination, Brokered, Choreographed)
	_, documents := turned[KnobDocuments]
	refuse(documents && d.Documents == "", "documents %s would be empty: views are %s", turned[KnobDocuments],
		d.Views)
	return reasons
}

// refuseTwoPhase refuses settings that cannot be combined with two-phase commit.
func (d Design) refuseTwoPhase(refuse func(when bool, format string, args ...any)) {
	refuse(d.Data == SharedData, "coordination %s has nothing to coordinate: all components share a database; "+
		"use data %s, or coordination %s", TwoPhase, OwnDatabases, ACID)
	refuse(d.Database == sqlite, "coordination %s needs prepared transactions, which %s does not have: "+
		"use database %s or %s, or coordination %s", TwoPhase, sqlite, mariadb, postgres, Orchestrated)
	refuse(d.Batching, "coordination %s has a transaction for each order: batching %s has nothing to join; "+
		"use batching %s", TwoPhase, batchingOn, batchingOff)
	refuse(d.Resilience != kit.Unguarded, "coordination %s waits for locks within a call, longer than %s %s "+
		"lets it: use %s %s", TwoPhase, kit.KnobResilience, d.Resilience, kit.KnobResilience, kit.Unguarded)
	for _, unit := range d.Units {
		takesPart := unit.Hosts(shop.ComponentInventory, shop.ComponentPayments, shop.ComponentShipping)
		refuse(takesPart && unit.Replicas > 1 && d.Database == mariadb,
			"coordination %s with database %s cannot have replicas of %s, as a prepared transaction belongs to its "+
				"connection: use database %s", TwoPhase, mariadb, unit.Name, postgres)
	}
}

// Alone reports whether all components are in one process: no call leaves it.
func (d Design) Alone() bool { return len(d.Units) == 1 }

// changedUnits returns the units of the components whose tables an order changes.
func (d Design) changedUnits() []string {
	var units []string
	for _, component := range []string{shop.ComponentInventory, shop.ComponentOrders, shop.ComponentPayments,
		shop.ComponentShipping} {
		if name := d.Hosting(component).Name; !slices.Contains(units, name) {
			units = append(units, name)
		}
	}
	return units
}
