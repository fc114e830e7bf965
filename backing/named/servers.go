package named

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
)

// removeWithin is the time for a server to remove a trial's databases or queues.
const removeWithin = 30 * time.Second

// answersWithin is the time for a server to accept a connection.
const answersWithin = 5 * time.Second

// The servers that package database does not support.
const (
	mongodb  = "mongo"
	rabbitmq = "rabbitmq"
)

// product is a kind of server whose address the user can give in an environment variable.
type product struct {
	name   string   // the variable ends with it, in capitals
	scheme string   // of its address
	port   string   // the default port
	kinds  []string // of backing services that it can provide
}

func products() []product {
	return []product{
		{"mariadb", "mariadb", "3306", []string{"mariadb"}},
		{"postgres", "postgres", "5432", []string{"postgres"}},
		{mongodb, "mongodb", "27017", []string{mongodb}},
		{rabbitmq, "amqp", "5672", []string{rabbitmq, "rabbitmq-classic"}},
	}
}

// variable returns the name of the environment variable with the address of the user's server. Addresses hold
// credentials, and other users could read arguments.
func (s product) variable() string { return "CLEAVE_USE_" + strings.ToUpper(s.name) }

// parse parses and completes an address. Its errors do not contain the password.
func (s product) parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("this is not a URL")
	}
	form := s.scheme + "://user:password@127.0.0.1:port"
	hasPath := strings.Trim(u.Path, "/") != ""
	if s.name == rabbitmq {
		form += ", and /vhost if it is not the default one"
		hasPath = false // it is the vhost
	}
	if u.Scheme != s.scheme || u.Host == "" || hasPath {
		return nil, fmt.Errorf("it is %s: use %s", u.Redacted(), form)
	}
	ip := net.ParseIP(u.Hostname()) // nil, which is not on loopback, for a name
	if u.Hostname() != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("it is on %s: a trial loads only servers on this host's loopback", u.Hostname())
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), s.port)
	}
	if s.name != rabbitmq || u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// version asks the server for its version. It is the first use of the user's credentials.
func (b Backing) version(ctx context.Context) (version string, err error) {
	switch b.server.name {
	case rabbitmq:
		return broker.Version(ctx, b.address.String())
	case mongodb:
		err = b.mongo(ctx, func(client *mongo.Client) error {
			var answer struct{ Version string }
			err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&answer)
			version = answer.Version
			return err
		})
		return version, err
	}
	place, err := database.ParsePlace(b.address.String())
	if err != nil {
		return "", err
	}
	return place.Version(ctx)
}

// remove drops the databases of the server for whose names match returns true; on RabbitMQ the exchanges and
// queues for whose prefixes it returns true.
func (b Backing) remove(ctx context.Context, match func(name string) bool) error {
	switch b.server.name {
	case rabbitmq:
		return broker.Sweep(ctx, b.address.String(), match)
	case mongodb:
		return b.dropDocuments(ctx, match)
	}
	place, err := database.ParsePlace(b.address.String())
	if err != nil {
		return err
	}
	return place.Drop(ctx, match)
}

// dropDocuments is remove for MongoDB.
func (b Backing) dropDocuments(ctx context.Context, match func(name string) bool) error {
	return b.mongo(ctx, func(client *mongo.Client) error {
		names, err := client.ListDatabaseNames(ctx, bson.D{})
		for _, name := range names {
			if match(name) {
				err = errors.Join(err, client.Database(name).Drop(ctx))
			}
		}
		return err
	})
}

// mongo calls work with a client of the server and disconnects it afterwards.
func (b Backing) mongo(ctx context.Context, work func(*mongo.Client) error) error {
	server := options.Client().ApplyURI(b.address.String())
	client, err := mongo.Connect(server)
	if err != nil {
		return err
	}
	return errors.Join(work(client), client.Disconnect(context.WithoutCancel(ctx)))
}
