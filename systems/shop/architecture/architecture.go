// Package architecture holds the designs of the shop: which components share a unit,
// what carries their calls, who owns which data, and how the steps of an order are
// coordinated. An architecture is data: a name that stands for a set of knobs, each of
// which can also be turned alone. Settings that cannot work together are refused with
// the reason. It starts nothing; package assembly builds a Design.
//
// Entry points: All, New, Paths.
package architecture

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/events"
)

// The architectures. The first are stock, as a good team writes and deploys them
// today; all but Monolith follow Costa and Ribeiro 2021, section 3. The tuned ones are
// the same with what we can do better: our bindings, batches, a runtime that knows that
// it shares the host. The public interface in front is net/http in all of them.
const (
	Monolith   = "monolith"
	MonolithHA = "monolith-ha" // two monoliths behind a balancer
	Sync       = "sync"        // a unit per component, calls over HTTP, an orchestrated saga
	SyncGRPC   = "sync-grpc"   // the same over gRPC
	Async      = "async"       // events, a choreographed saga, read models
	AsyncDFS   = "async-dfs"   // the same on a replicated file system

	MonolithTuned = Monolith + tuned
	SyncTuned     = Sync + tuned
	SyncGRPCTuned = SyncGRPC + tuned
	AsyncTuned    = Async + tuned
)

// tuned is the suffix of tuned architectures; the name before it is that of the stock one.
const tuned = "-tuned"

// Data says in which databases the components keep their tables.
type Data string

// The values of Data.
const (
	SharedData   Data = "shared"    // all components in one database
	OwnSchemas   Data = "schemas"   // one database of PostgreSQL, a schema per component
	OwnDatabases Data = "databases" // one server, a database (a file of SQLite) per component
)

// Coordination names the way in which the steps of an order are coordinated.
type Coordination string

// The values of Coordination.
const (
	ACID          Coordination = "acid"                // one local transaction
	Orchestrated  Coordination = "orchestrated"        // a saga that the orders drive
	Brokered      Coordination = "orchestrated-broker" // such a saga by commands and replies over the broker
	Choreographed Coordination = "choreographed"       // a saga of events
	TwoPhase      Coordination = "two-phase"           // one transaction of several databases, led by the orders
)

// Publishing names the way of events from a component's database to the broker.
type Publishing string

// The values of Publishing.
const (
	Outbox    Publishing = "outbox"     // recorded in the transaction, published from there
	DualWrite Publishing = "dual-write" // committed, then published without a record: unsafe
)

// Views names the source of the read side's answers.
type Views string

// The values of Views.
const (
	FromTables    Views = "tables"    // those of the write side: one answer takes calls to several owners
	FromDocuments Views = "documents" // read models that events keep up to date
	FromCache     Views = "cached"    // tables, behind a cache in the unit that clients ask
)

// Reference is the source of the names, prices and addresses that the orders need.
type Reference string

// The values of Reference.
const (
	Asked      Reference = "asked"      // calls of catalog and customers for each order
	Replicated Reference = "replicated" // a copy of their own, which events keep up to date
)

// Access names the kind of statements with which components use their tables.
type Access string

// The values of Access.
const (
	SQL Access = "sql" // statements written by hand, one for many rows
	ORM Access = "orm" // statements that gorm makes from structs
)

// The databases.
const (
	sqlite   = "sqlite"
	mariadb  = "mariadb"
	postgres = "postgres"
)

// The brokers.
const (
	BrokerNATS    = "nats"
	BrokerQuorum  = "rabbitmq"         // RabbitMQ with quorum queues
	BrokerClassic = "rabbitmq-classic" // RabbitMQ with classic durable queues
)

// Unit is one kind of process: its components, and the number of its replicas.
type Unit struct {
	Name       string
	Components []string
	Replicas   int
}

// Design is a complete description of how a shop is built.
type Design struct {
	Architecture string
	Units        []Unit
	Binding      Binding // of no consequence in one unit
	Data         Data
	Coordination Coordination
	Publishing   Publishing // of events; of no consequence without a broker
	Reference    Reference
	Views        Views
	Database     string // kind of backing: sqlite, mariadb, postgres
	Access       Access // to its tables
	Broker       string // nats, rabbitmq, rabbitmq-classic; empty: none
	Documents    string // sqlite, mongo; empty: none
	Replicated   bool   // database and documents are on a replicated disk
	Pool         int    // connections of each unit to each of its databases
	Prefetch     int    // messages that a consumer may hold
	// Batching: concurrent steps, orders and messages share a transaction, and the
	// look-ups of concurrent orders share calls.
	Batching bool
	// SharedHost: Go's runtime in the units is configured for a shared host, see
	// SharesHost.
	SharedHost bool
	// Pair: two balancers share an address, and what is behind them has nodes of its own.
	Pair bool
	kit.Settings
}

// catalogue returns the architectures of the shop.
func catalogue() kit.Catalogue {
	return kit.Catalogue{System: "the " + shop.Name, Knobs: knobs(), Presets: presets()}
}

// All returns the architectures with their knobs; the first value of each knob is the architecture's own.
func All() []lab.Architecture {
	shops := catalogue()
	all := shops.All()
	names := shops.Names()
	for i, a := range all {
		if slices.Contains(names, a.Name+tuned) {
			all[i].Tuned = a.Name + tuned
		}
	}
	return all
}

func presets() []kit.Preset {
	services := func(coordination Coordination, binding Binding, views Views) map[string]string {
		return map[string]string{
			KnobPlacement: kit.Apart, KnobBinding: string(binding), KnobData: string(OwnDatabases),
			KnobCoordination: string(coordination), KnobViews: string(views),
		}
	}
	byEvents := func(binding Binding) map[string]string {
		settings := services(Choreographed, binding, FromDocuments)
		settings[KnobReference] = string(Replicated)
		return settings
	}
	on := func(disk string, settings map[string]string) map[string]string {
		settings[KnobDisk] = disk
		return settings
	}
	better := func(settings map[string]string) map[string]string {
		settings[KnobBatching] = batchingOn
		settings[KnobRuntime] = runtimeSharedHost
		return settings
	}
	return []kit.Preset{
		{Name: Monolith, Summary: "one unit, in-process calls, one database, one ACID transaction"},
		{Name: MonolithHA, Summary: "two monoliths behind a balancer, one database",
			Settings: map[string]string{KnobReplicas: "2"}},
		{Name: Sync, Summary: "a unit and a database per component, HTTP+JSON calls, an orchestrated saga",
			Settings: services(Orchestrated, HTTP, FromTables)},
		{Name: SyncGRPC, Summary: "the same with gRPC calls",
			Settings: services(Orchestrated, GRPC, FromTables)},
		{Name: Async, Summary: "a unit and a database per component, events over a broker, a choreographed saga, " +
			"read models (CQRS)",
			Settings: byEvents(HTTP)},
		{Name: AsyncDFS, Summary: "the same, its databases on a replicated file system",
			Settings: on(lab.DiskReplicated, byEvents(HTTP))},
		{Name: MonolithTuned,
			Summary:  "monolith with batches: orders that come at the same time share the transaction",
			Settings: better(map[string]string{KnobBinding: string(HTTPLean)})},
		{Name: SyncTuned, Summary: "sync with our HTTP binding, batches, and a runtime that shares the host",
			Settings: better(services(Orchestrated, HTTPLean, FromTables))},
		{Name: SyncGRPCTuned,
			Summary:  "sync-grpc with our gRPC binding, batches, and a runtime that shares the host",
			Settings: better(services(Orchestrated, GRPCLean, FromTables))},
		{Name: AsyncTuned, Summary: "async with our HTTP binding, batches, and a runtime that shares the host",
			Settings: better(byEvents(HTTPLean))},
	}
}

// New returns the design of an architecture with some knobs turned. Its error names
// every mistake.
func New(name string, turned map[string]string) (Design, error) {
	d, err := read(name, turned)
	if err != nil {
		return Design{}, err
	}
	if err := errors.Join(d.impossible(turned)...); err != nil {
		return Design{}, fmt.Errorf("architecture %s cannot be built so: %w", name, err)
	}
	return d, nil
}

// read returns the design of an architecture with some knobs turned, whether it can be built or not.
func read(name string, turned map[string]string) (Design, error) {
	settings, err := catalogue().Settings(name, turned)
	if err != nil {
		return Design{}, err
	}
	d, err := design(name, settings)
	if err != nil {
		return Design{}, fmt.Errorf("architecture %s: %w", name, err)
	}
	return d, nil
}

// design returns the design of all knobs' settings, whether it can be built or not.
func design(name string, settings map[string]string) (Design, error) {
	d := Design{
		Architecture: name, Binding: Binding(settings[KnobBinding]),
		Data:         Data(settings[KnobData]),
		Coordination: Coordination(settings[KnobCoordination]), Views: Views(settings[KnobViews]),
		Publishing: Publishing(settings[KnobPublishing]), Reference: Reference(settings[KnobReference]),
		Database: settings[KnobDatabase], Access: Access(settings[KnobAccess]),
		Replicated: settings[KnobDisk] == lab.DiskReplicated,
		Pair:       settings[KnobBalancer] == balancerPair,
		Batching:   settings[KnobBatching] == batchingOn, SharedHost: settings[KnobRuntime] == runtimeSharedHost,
	}
	if d.OverBroker() || d.Reference == Replicated {
		d.Broker = settings[KnobBroker]
	}
	if d.Views == FromDocuments {
		d.Documents = settings[KnobDocuments]
	}
	var mistakes [5]error
	d.Units, mistakes[0] = place(settings[KnobPlacement], d.Views)
	mistakes[1] = replicate(d.Units, settings)
	d.Pool, mistakes[2] = kit.Number(settings, KnobPool, 200)
	d.Prefetch, mistakes[3] = kit.Number(settings, KnobPrefetch, 10_000)
	d.Settings, mistakes[4] = kit.ReadSettings(settings)
	return d, errors.Join(mistakes[:]...)
}

// place puts components into units. Read models are components of their own only where they are documents.
func place(text string, views Views) ([]Unit, error) {
	placeable := shop.Components()
	if views == FromDocuments {
		placeable = append(placeable, shop.ComponentOrderViews, shop.ComponentStockViews)
	}
	groups, err := kit.Place(text, placeable)
	var units []Unit
	for _, group := range groups {
		units = append(units, Unit{Name: strings.Join(group, "-"), Components: group, Replicas: 1})
	}
	if len(units) == 1 {
		units[0].Name = shop.Name
	}
	return units, err
}

// maxReplicas limits the units of a kind.
const maxReplicas = 20

// replicate sets the replicas of units from "2", which is for all, or "orders=2,inventory=3".
func replicate(units []Unit, settings map[string]string) error {
	text := settings[KnobReplicas]
	if !strings.Contains(text, "=") {
		n, err := kit.Number(settings, KnobReplicas, maxReplicas)
		for i := range units {
			units[i].Replicas = n
		}
		return err
	}
	var mistakes []error
	named := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, count, _ := strings.Cut(part, "=")
		if named[name] {
			mistakes = append(mistakes, fmt.Errorf("replicas %q names the unit %q twice", text, name))
		}
		named[name] = true
		i := slices.IndexFunc(units, func(u Unit) bool { return u.Name == name })
		if i < 0 {
			mistakes = append(mistakes, fmt.Errorf("replicas %q: there is no unit %q", text, name))
			continue
		}
		n, err := kit.Number(map[string]string{KnobReplicas: count}, KnobReplicas, maxReplicas)
		units[i].Replicas = n
		mistakes = append(mistakes, err)
	}
	return errors.Join(mistakes...)
}

// Topology returns the queues of the events that the design uses.
func (d Design) Topology() broker.Topology {
	return events.Topology(events.Purposes{Saga: d.Coordination == Choreographed,
		Commands: d.Coordination == Brokered, Views: d.Views == FromDocuments,
		Reference: d.Reference == Replicated})
}

// OverBroker reports whether the steps of an order go over the broker: clients are answered while their order
// is pending.
func (d Design) OverBroker() bool {
	return d.Coordination == Brokered || d.Coordination == Choreographed
}

// NeedsBroker reports whether a unit has a client of the broker. Where orders go over it, all units have one.
func (d Design) NeedsBroker(unit Unit) bool {
	return d.OverBroker() || d.HandlesEvents(unit)
}

// HandlesEvents reports whether a unit publishes or takes events.
func (d Design) HandlesEvents(unit Unit) bool {
	publishes := d.Reference == Replicated && unit.Hosts(shop.ComponentCatalog)
	return publishes || slices.ContainsFunc(d.Topology().Queues,
		func(q broker.Queue) bool { return unit.Hosts(q.Name) })
}

// Unit returns the kind of units with a name, or an error if there is none.
func (d Design) Unit(name string) (Unit, error) {
	i := slices.IndexFunc(d.Units, func(u Unit) bool { return u.Name == name })
	if i < 0 {
		return Unit{}, fmt.Errorf("architecture %s has no unit %q", d.Architecture, name)
	}
	return d.Units[i], nil
}

// Hosting returns the kind of units that hosts a component; the zero Unit if none does.
func (d Design) Hosting(component string) Unit {
	for _, unit := range d.Units {
		if unit.Hosts(component) {
			return unit
		}
	}
	return Unit{}
}

// DatabaseOf returns the name of the database that holds a component's tables, or "database.schema" if they
// are in a schema.
func (d Design) DatabaseOf(component string) string {
	switch d.Data {
	case SharedData:
		return shop.Name
	case OwnSchemas:
		return shop.Name + "." + component
	}
	return component
}

// OpenedBy returns the name of the database that a unit opens for the tables of a component that it hosts:
// usually DatabaseOf. One transaction takes one connection; so if an order is one transaction over several
// schemas, the unit opens all its schemas as one. Components do not notice: their tables have different
// names.
func (d Design) OpenedBy(unit Unit, component string) string {
	if d.Data != OwnSchemas || d.Coordination != ACID {
		return d.DatabaseOf(component)
	}
	schemas := slices.DeleteFunc(shop.Components(),
		func(c string) bool { return !unit.Hosts(c) })
	return shop.Name + "." + strings.Join(schemas, ",")
}

// Hosts reports whether a unit hosts one of some components.
func (u Unit) Hosts(components ...string) bool {
	return slices.ContainsFunc(components, func(c string) bool { return slices.Contains(u.Components, c) })
}

// Instances returns the names of the units of this kind: its own name if there is one unit, else numbered
// names.
func (u Unit) Instances() []string {
	if u.Replicas == 1 {
		return []string{u.Name}
	}
	names := make([]string, u.Replicas)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", u.Name, i+1)
	}
	return names
}
