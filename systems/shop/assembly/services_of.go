package assembly

import (
	"context"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// openBroker returns a client of the broker that a deployer names.
func openBroker(design architecture.Design, place Place) (broker.Client, error) {
	address, err := place.Service(ServiceBroker)
	if err != nil {
		return nil, err
	}
	return OpenBroker(design, address)
}

// OpenBroker returns a client of the broker of a design at an address.
func OpenBroker(design architecture.Design, address string) (broker.Client, error) {
	config := broker.Config{Driver: broker.RabbitMQ, URL: address,
		Classic: design.Broker == architecture.BrokerClassic}
	if design.Broker == architecture.BrokerNATS {
		config.Driver = broker.NATS
	}
	return broker.Open(config)
}

// viewsName is the database, or the file, of the read models.
const viewsName = "views"

// OpenDocuments returns a client of the document store at an address: sqlite:///folder or
// mongodb://...
func OpenDocuments(ctx context.Context, address string) (document.Store, error) {
	return document.OpenAt(ctx, address, viewsName)
}

// openDocuments returns that of the store that a deployer names.
func openDocuments(ctx context.Context, place Place) (document.Store, error) {
	address, err := place.Service(ServiceDocuments)
	if err != nil {
		return nil, err
	}
	return OpenDocuments(ctx, address)
}
