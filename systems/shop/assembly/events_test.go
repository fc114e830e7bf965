package assembly_test

import (
	"context"
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
)

// eventParts are the parts that a design with events needs besides databases.
type eventParts struct {
	broker    broker.Config
	documents string // the address of the document store
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
		store, err := assembly.OpenDocuments(t.Context(), s.around.documents)
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
	return broker.Config{URL: servers.Started(t, server.NATS, server.Settings{}).URL()}
}

// rabbitBroker returns the server that all tests share, for one shop at a time. It is emptied after each.
func rabbitBroker(t *testing.T, classic bool) broker.Config {
	address := servers.Shared(t, server.RabbitMQ, server.Settings{}).URL()
	t.Cleanup(func() {
		testset.Must(t, broker.Sweep(context.Background(), address, func(string) bool { return true }))
	})
	return broker.Config{Classic: classic, URL: address + "?prefix=cleave_test_"}
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
		p.documents = "sqlite://" + t.TempDir()
	case "mongo": // or a stand-in that speaks MongoDB's protocol
		p.documents = servers.Started(t, server.Mongo, server.Settings{}).URL()
	}
	return p
}
