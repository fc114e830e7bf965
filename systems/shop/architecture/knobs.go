package architecture

import (
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
)

// The knobs.
const (
	KnobPlacement    = "placement"
	KnobReplicas     = "replicas"
	KnobBinding      = "binding"
	KnobData         = "data"
	KnobCoordination = "coordination"
	KnobPublishing   = "publishing"
	KnobReference    = "reference"
	KnobViews        = "views"
	KnobDatabase     = "database"
	KnobAccess       = "data-access"
	KnobBroker       = "broker"
	KnobDocuments    = "documents"
	KnobDisk         = lab.KnobDisk
	KnobPool         = "pool"
	KnobPrefetch     = "prefetch"
	KnobBatching     = "batching"
	KnobRuntime      = "runtime"
	KnobBalancer     = "balancer"
)

// The values of KnobBalancer.
const (
	balancerOne  = "haproxy"
	balancerPair = "pair"
)

// The values of KnobBatching.
const (
	batchingOff = "off"
	batchingOn  = "on"
)

// knobs returns the knobs, each with its default first. Long because it is one table.
func knobs() []lab.Knob {
	return slices.Concat([]lab.Knob{
		{Name: KnobPlacement, Free: true, Values: []string{kit.Together, kit.Apart},
			Summary: "together, apart, or groups such as catalog+customers,inventory+orders+payments+shipping (the " +
				"rest: one unit)",
			Means: map[string]string{kit.Together: "one process", kit.Apart: "a process per component"}},
		{Name: KnobReplicas, Free: true, Values: []string{"1"},
			Summary: "how many of each unit, or of some: 2, or orders=2,inventory=3"},
		{Name: KnobBalancer, Values: []string{balancerOne, balancerPair},
			Summary: "balancer before replicas that take orders: one HAProxy, or two on nodes of their own with an " +
				"address that keepalived moves"},
		{Name: KnobBinding, Values: bindings(),
			Summary: "what carries calls between units: net/http and grpc-go, or our own lean ones",
			Means: map[string]string{"http": "calls over HTTP", "grpc": "calls over gRPC",
				"http-lean": "calls over our lean HTTP", "grpc-lean": "calls over our lean gRPC"}},
	}, kit.CallKnobs(), []lab.Knob{
		{Name: KnobData, Values: []string{string(SharedData), string(OwnSchemas), string(OwnDatabases)},
			Summary: "databases of the components: one for all, a schema for each, or a database for each",
			Means: map[string]string{string(SharedData): "shared tables",
				string(OwnSchemas): "a schema per component", string(OwnDatabases): "a database per component"}},
		{Name: KnobCoordination, Values: []string{string(ACID), string(Orchestrated), string(Brokered),
			string(Choreographed), string(TwoPhase)},
			Summary: "coordination of the steps of an order: one transaction, a saga, or two-phase commit",
			Means: map[string]string{string(ACID): "one transaction", string(Orchestrated): "a saga",
				string(Brokered): "a saga over the broker", string(Choreographed): "a saga of events",
				string(TwoPhase): "two-phase commit"}},
		{Name: KnobPublishing, Values: []string{string(Outbox), string(DualWrite)},
			Summary: "path of events from a database to the broker: an outbox in the transaction, or after the " +
				"commit without a record (unsafe: a crash in between loses them)",
			Means: map[string]string{string(Outbox): "an outbox", string(DualWrite): "unsafe dual writes"}},
		{Name: KnobReference, Values: []string{string(Asked), string(Replicated)},
			Summary: "source of names, prices and addresses for the orders: calls of catalog and customers, or a " +
				"copy of their own that events keep current",
			Means: map[string]string{string(Asked): "a call for what orders must know",
				string(Replicated): "a replica of what orders must know"}},
		{Name: KnobViews, Values: []string{string(FromTables), string(FromDocuments), string(FromCache)},
			Summary: "source of the read side's answers: the owners' tables, asked one by one (API composition), " +
				"read models that events keep current, or the tables behind a cache with a time to live",
			Means: map[string]string{string(FromTables): "API composition", string(FromDocuments): "read models",
				string(FromCache): "API composition with a cache"}},
		{Name: KnobDatabase, Values: []string{sqlite, mariadb, postgres}, Summary: "the database",
			Means: map[string]string{sqlite: "SQLite", mariadb: "MariaDB", postgres: "PostgreSQL"}},
		{Name: KnobAccess, Values: []string{string(SQL), string(ORM)},
			Summary: "statements of the components: SQL that is written for each step, or those that an ORM (gorm) " +
				"makes, as its documentation shows",
			Means: map[string]string{string(SQL): "SQL written by hand", string(ORM): "an ORM"}},
		{Name: KnobBroker, Values: []string{BrokerNATS, BrokerQuorum, BrokerClassic},
			Summary: "the broker of events; rabbitmq has quorum queues"},
		{Name: KnobDocuments, Values: []string{"sqlite", "mongo"},
			Summary: "the document store of the read models"},
		{Name: KnobDisk, Values: []string{lab.DiskLocal, lab.DiskReplicated},
			Summary: "disk of the database and the document store: the host's, or one of which several hosts have " +
				"a copy",
			Means: map[string]string{lab.DiskLocal: "a local disk", lab.DiskReplicated: "a replicated disk"}},
		{Name: KnobPool, Free: true, Values: []string{"16"},
			Summary: "connections of a unit to each of its databases, 1 to 200"},
		{Name: KnobPrefetch, Free: true, Values: []string{"256"},
			Summary: "messages that a consumer may hold, 1 to 10000"},
		{Name: KnobBatching, Values: []string{batchingOff, batchingOn},
			Summary: "whether steps, orders and messages of several customers that come at the same time share a " +
				"transaction (group commit), and the look-ups for orders a call",
			Means: map[string]string{batchingOff: "a transaction for each order",
				batchingOn: "transactions that orders share"}},
		{Name: KnobRuntime, Values: []string{runtimeDefault, runtimeSharedHost},
			Summary: "Go's runtime as it is, or told that it shares the host: then units that are among others, and " +
				"have no files of their own, keep to their share of the processors",
			Means: map[string]string{runtimeDefault: "Go's runtime as it is",
				runtimeSharedHost: "a runtime that shares the host"}},
		kit.Logging(), kit.Spans(kit.SpansOn, "orders"),
	})
}
