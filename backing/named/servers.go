package named

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cleave-lab/cleave/backing/database"
)

// patience is how long a server may take to forget a trial's databases.
const patience = 30 * time.Second

// version asks the server what it is: the first use of the user's credentials.
func (s service) version(ctx context.Context) (version string, err error) {
	if s.backing.kind == "mongo" {
		err = s.backing.mongo(ctx, func(client *mongo.Client) error {
			var answer struct{ Version string }
			err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&answer)
			version = answer.Version
			return err
		})
		return version, err
	}
	place, err := database.ParsePlace(s.backing.address.String())
	if err != nil {
		return "", err
	}
	return place.Version(ctx)
}

// remove drops the databases of the server that a condition names.
func (b Backing) remove(ctx context.Context, which func(name string) bool) error {
	if b.kind != "mongo" {
		place, err := database.ParsePlace(b.address.String())
		if err != nil {
			return err
		}
		return place.Drop(ctx, which)
	}
	return b.mongo(ctx, func(client *mongo.Client) error {
		names, err := client.ListDatabaseNames(ctx, bson.D{})
		for _, name := range names {
			if which(name) {
				err = errors.Join(err, client.Database(name).Drop(ctx))
			}
		}
		return err
	})
}

// mongo works with a client of the server.
func (b Backing) mongo(ctx context.Context, work func(*mongo.Client) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(b.address.String()))
	if err != nil {
		return err
	}
	return errors.Join(work(client), client.Disconnect(context.WithoutCancel(ctx)))
}
