package assembly

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

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

// openDocuments returns a client of the document store that a deployer names:
// sqlite:///folder or mongodb://...
func openDocuments(ctx context.Context, place Place) (document.Store, error) {
	address, err := place.Service(ServiceDocuments)
	if err != nil {
		return nil, err
	}
	return OpenDocuments(ctx, address)
}

// OpenDocuments returns a client of the document store at an address.
func OpenDocuments(ctx context.Context, address string) (document.Store, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the document store is not a URL")
	}
	if u.Scheme == string(document.SQLite) {
		return document.Open(ctx, document.Config{Driver: document.SQLite,
			DSN: filepath.Join(u.Path, viewsName+".db")})
	}
	u.Path = "/" + strings.TrimPrefix(u.Path, "/") + viewsName
	return document.Open(ctx, document.Config{Driver: document.Mongo, DSN: u.String()})
}
