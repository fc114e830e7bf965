package assembly_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/mapped"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// eventParts are the parts that a design with events needs besides databases.
type eventParts struct {
	broker    broker.Config
	documents document.Config
	// A test of faults wraps clients of the broker or the documents, and expects logged errors.
	wrap        func(broker.Client) broker.Client
	wrapDocs    func(document.Store) document.Store
	commands    bool                            // the orders drive their sagas over the broker
	wrapCatalog func(shop.Catalog) shop.Catalog // wraps the catalog that answers clients
	logError    func(error)
}

// surroundings returns the surroundings of one unit: as processes, units share no clients.
func (s shopOf) surroundings(t *testing.T, unit architecture.Unit) assembly.Surroundings {
	t.Helper()
	opened := func(component string) string { return s.design.OpenedBy(unit, component) }
	around := assembly.Surroundings{Database: s.database(t, opened), Call: s.call(t), Mapped: mapped.Stores{}}
	if s.design.Broker != "" {
		client, err := broker.Open(s.around.broker)
		testset.Must(t, err)
		t.Cleanup(func() { testset.Must(t, client.Close()) })
		around.Broker = client
		if s.around.wrap != nil {
			around.Broker = s.around.wrap(client)
		}
	}
	if s.design.Documents != "" {
		store, err := document.Open(t.Context(), s.around.documents)
		testset.Must(t, err)
		t.Cleanup(func() { testset.Must(t, store.Close()) })
		testset.Must(t, assembly.PrepareDocuments(t.Context(), store, suiteSeed()))
		around.Documents = store
		if s.around.wrapDocs != nil {
			around.Documents = s.around.wrapDocs(store)
		}
	}
	testset.Must(t, assembly.Declare(t.Context(), s.design, around))
	return around
}

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// natsBroker returns a server of this test alone.
func natsBroker(t *testing.T) broker.Config {
	t.Helper()
	return broker.Config{Driver: broker.NATS, URL: servers.Started(t, server.NATS, server.Settings{}).DSN("")}
}

// rabbitBroker returns the server that all tests share, for one shop at a time. It is emptied after each.
func rabbitBroker(t *testing.T, classic bool) broker.Config {
	config := broker.Config{Driver: broker.RabbitMQ, Classic: classic,
		URL: servers.Shared(t, server.RabbitMQ, server.Settings{}).DSN("")}
	t.Cleanup(func() {
		client, err := broker.Open(config)
		testset.Must(t, err)
		testset.Must(t, assembly.Declare(context.Background(), designOf(t, architecture.Async, nil),
			assembly.Surroundings{Broker: client, Documents: shoptest.Documents(t)}))
		testset.Must(t, errors.Join(client.Delete(context.Background()), client.Close()))
	})
	return config
}

func sqliteDocuments(t *testing.T) document.Config {
	return document.Config{Driver: document.SQLite, DSN: filepath.Join(t.TempDir(), "documents.db")}
}

// completed returns the parts with a broker and a document store of the kinds that a design names, where the
// test gives none.
func (p eventParts) completed(t *testing.T, design architecture.Design) eventParts {
	t.Helper()
	switch {
	case design.Broker == "" || p.broker.URL != "":
	case design.Broker == architecture.BrokerNATS:
		p.broker = natsBroker(t)
	default:
		p.broker = rabbitBroker(t, design.Broker == architecture.BrokerClassic)
	}
	switch design.Documents {
	case "sqlite":
		p.documents = sqliteDocuments(t)
	case "mongo": // or a stand-in that speaks MongoDB's protocol
		p.documents = document.Config{Driver: document.Mongo,
			DSN: servers.Started(t, server.Mongo, server.Settings{}).DSN("views")}
	}
	return p
}
