package assembly_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/mapped"
)

// eventParts are the parts that a design with events needs beside databases.
type eventParts struct {
	broker    broker.Config
	documents document.Config
	// A test that breaks something wraps clients of the broker, and expects
	// complaints.
	wrap     func(broker.Client) broker.Client
	wrapDocs func(document.Store) document.Store
	commands bool // the orders drive their sagas over the broker
	// cancels is how many orders are cancelled before each look; wrapOrders wraps those in front,
	// wrapCatalog what is read there.
	cancels     int
	wrapOrders  func(shop.Orders) shop.Orders
	wrapCatalog func(shop.Catalog) shop.Catalog
	logError    func(error)
}

// surroundings returns the surroundings of one unit: as processes, units share no clients.
func (s shopOf) surroundings(t *testing.T, unit architecture.Unit) assembly.Surroundings {
	t.Helper()
	opened := func(component string) string { return s.design.OpenedBy(unit, component) }
	around := assembly.Surroundings{Database: s.database(t, opened), Call: s.call(t), Mapped: mapped.Stores{}}
	if s.design.Broker != "" {
		client, err := broker.Open(s.around.broker)
		must(t, err)
		t.Cleanup(func() { must(t, client.Close()) })
		around.Broker = client
		if s.around.wrap != nil {
			around.Broker = s.around.wrap(client)
		}
	}
	if s.design.Documents != "" {
		store, err := document.Open(t.Context(), s.around.documents)
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		must(t, assembly.PrepareDocuments(t.Context(), store, suiteSeed()))
		around.Documents = store
		if s.around.wrapDocs != nil {
			around.Documents = s.around.wrapDocs(store)
		}
	}
	must(t, assembly.Declare(t.Context(), s.design, around))
	return around
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// natsBroker returns a server of this test alone.
func natsBroker(t *testing.T) broker.Config {
	t.Helper()
	return broker.Config{Driver: broker.NATS, URL: servers.Started(t, server.NATS, server.Settings{}).DSN("")}
}

// rabbitBroker returns a server, for one shop at a time, emptied after each.
func rabbitBroker(owner *testing.T) func(t *testing.T, classic bool) broker.Config {
	start := sync.OnceValue(func() *servers.Instance {
		return servers.Started(owner, server.RabbitMQ, server.Settings{})
	})
	return func(t *testing.T, classic bool) broker.Config {
		servers.Need(t, server.RabbitMQ)
		config := broker.Config{Driver: broker.RabbitMQ, URL: start().DSN(""), Classic: classic}
		t.Cleanup(func() {
			client, err := broker.Open(config)
			must(t, err)
			design, err := architecture.New(architecture.Async, nil)
			must(t, err)
			must(t, assembly.Declare(context.Background(), design,
				assembly.Surroundings{Broker: client, Documents: sqliteStore(t)}))
			must(t, errors.Join(client.Delete(context.Background()), client.Close()))
		})
		return config
	}
}

func sqliteStore(t *testing.T) document.Store {
	t.Helper()
	store, err := document.Open(context.Background(), sqliteDocuments(t))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

func sqliteDocuments(t *testing.T) document.Config {
	return document.Config{Driver: document.SQLite, DSN: filepath.Join(t.TempDir(), "documents.db")}
}

// TestEventsBehave plays every database with NATS and every broker with one database: the two never meet.
func TestEventsBehave(t *testing.T) {
	rabbit := rabbitBroker(t)
	batches := map[string]string{architecture.KnobBatching: "on"}
	for name, c := range map[string]struct {
		driver database.Driver
		broker func(t *testing.T) broker.Config
		turned map[string]string
	}{
		"sqlite":           {database.SQLite, natsBroker, nil},
		"sqlite, batches":  {database.SQLite, natsBroker, batches},
		"mariadb":          {database.MariaDB, natsBroker, nil},
		"mariadb, batches": {database.MariaDB, natsBroker, batches},
		"postgres":         {database.PostgreSQL, natsBroker, nil},
		"postgres, commands": {database.PostgreSQL, natsBroker,
			map[string]string{architecture.KnobCoordination: string(architecture.Brokered)}},
		"postgres, batches": {database.PostgreSQL, natsBroker, batches},
		"rabbitmq": {database.SQLite, func(t *testing.T) broker.Config { return rabbit(t, false) },
			map[string]string{architecture.KnobBroker: "rabbitmq"}},
		"rabbitmq-classic": {database.SQLite, func(t *testing.T) broker.Config { return rabbit(t, true) },
			map[string]string{architecture.KnobBroker: "rabbitmq-classic"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.turned[architecture.KnobBroker] == "" { // RabbitMQ's server is one for all
				t.Parallel()
			}
			design, err := architecture.New(architecture.Async, c.turned)
			must(t, err)
			open := func(t testing.TB) database.Config { return databasetest.Fresh(t, c.driver) }
			playSuite(t, runAmong(t, design, open, eventParts{broker: c.broker(t), documents: sqliteDocuments(t)}))
		})
	}
}

// TestEventsBehaveInOtherShapes turns single knobs, on embedded parts.
func TestEventsBehaveInOtherShapes(t *testing.T) {
	testset.Need(t, "it plays the suite of events for twelve more shapes")
	for name, turned := range map[string]map[string]string{
		"together":             {architecture.KnobPlacement: "together"},
		"apart, no views":      {architecture.KnobViews: "tables"},
		"together, no views":   {architecture.KnobPlacement: "together", architecture.KnobViews: "tables"},
		"a shared database":    {architecture.KnobData: "shared"},
		"grouped":              {architecture.KnobPlacement: "orders+orderviews,inventory+payments+shipping"},
		"batches, together":    {architecture.KnobPlacement: "together", architecture.KnobBatching: "on"},
		"dual writes":          {architecture.KnobPublishing: "dual-write"},
		"dual writes, batches": {architecture.KnobPublishing: "dual-write", architecture.KnobBatching: "on"},
		"commands, batches, dual writes": {architecture.KnobCoordination: string(architecture.Brokered),
			architecture.KnobBatching: "on", architecture.KnobPublishing: "dual-write"},
		"an ORM": byORM(nil),
		"an ORM, commands, batches": byORM(map[string]string{
			architecture.KnobCoordination: string(architecture.Brokered), architecture.KnobBatching: "on"}),
		"one message at a time": {architecture.KnobPrefetch: "1", architecture.KnobBatching: "on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			design, err := architecture.New(architecture.Async, turned)
			must(t, err)
			open := func(t testing.TB) database.Config {
				return database.Config{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "shop.db")}
			}
			playSuite(t, runAmong(t, design, open, eventParts{broker: natsBroker(t),
				documents: sqliteDocuments(t)}))
		})
	}
}

// TestEventsBehaveOnMongo has read models behind MongoDB's protocol.
func TestEventsBehaveOnMongo(t *testing.T) {
	instance := servers.Started(t, server.Mongo, server.Settings{})
	design, err := architecture.New(architecture.Async, map[string]string{architecture.KnobDocuments: "mongo"})
	must(t, err)
	open := func(t testing.TB) database.Config {
		return database.Config{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "shop.db")}
	}
	if instance.StandIn != "" {
		t.Logf("MongoDB's protocol is spoken by the stand-in %s %s", instance.StandIn, instance.Version)
	}
	documents := document.Config{Driver: document.Mongo, DSN: instance.DSN("views")}
	playSuite(t, runAmong(t, design, open, eventParts{broker: natsBroker(t), documents: documents}))
}
