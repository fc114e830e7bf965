package named

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// running starts a server and names it in the environment, as a user would do with a server of theirs.
func running(t *testing.T, kind server.Kind) (Backing, *servers.Instance) {
	t.Helper()
	instance := servers.Started(t, kind, server.Settings{})
	found, err := FromEnvironment(func(name string) (string, bool) {
		return instance.URL(), name == "CLEAVE_USE_"+strings.ToUpper(string(kind))
	})
	testset.Must(t, err)
	b, ok := found[string(kind)]
	if !ok {
		t.Fatalf("found %v", found)
	}
	testset.Must(t, b.Preflight())
	return b, instance
}

// content writes and lists the databases or queues of a kind of server.
type content struct {
	// write creates a database or queue with this name at an address. It fails if that exists already.
	write func(ctx context.Context, address, name string) error
	// names lists the databases or queues of a server.
	names func(ctx context.Context, b Backing, instance *servers.Instance) ([]string, error)
}

// sql returns the content of MariaDB and PostgreSQL: a database with a table.
func sql() content {
	names := func(ctx context.Context, b Backing, _ *servers.Instance) (all []string, err error) {
		place, err := database.ParsePlace(b.address.String())
		if err != nil {
			return nil, err
		}
		list := func(name string) bool { all = append(all, name); return false } // matches none, so none is dropped
		return all, place.Drop(ctx, list)
	}
	write := func(ctx context.Context, address, name string) error {
		place, err := database.ParsePlace(address)
		if err != nil {
			return err
		}
		if err := place.Create(ctx, name); err != nil {
			return err
		}
		db, err := database.Open(ctx, place.Config(name, 1))
		if err != nil {
			return err
		}
		_, err = db.Exec(ctx, "CREATE TABLE words (word VARCHAR(10))") // fails if it exists
		return errors.Join(err, db.Close())
	}
	return content{write, names}
}

// documents returns the content of MongoDB: a database with a document.
func documents() content {
	return content{
		write: func(ctx context.Context, address, name string) error {
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			whole := strings.TrimPrefix(u.Path, "/") + name
			u.Path = "/"
			return Backing{address: u}.mongo(ctx, func(client *mongo.Client) error {
				// fails if it exists
				_, err := client.Database(whole).Collection("words").InsertOne(ctx, bson.D{{Key: "_id", Value: "a"}})
				return err
			})
		},
		names: func(ctx context.Context, b Backing, _ *servers.Instance) (all []string, err error) {
			return all, b.mongo(ctx, func(client *mongo.Client) error {
				all, err = client.ListDatabaseNames(ctx, bson.D{})
				return err
			})
		},
	}
}

// queues returns the content of RabbitMQ: a queue with a message.
func queues() content {
	write := func(ctx context.Context, address, name string) error {
		if i := strings.LastIndexByte(name, '_'); i > 0 { // the name begins with the prefix of a trial
			address, name = address+"?prefix="+name[:i+1], name[i+1:]
		}
		client, err := broker.Open(broker.Config{URL: address, Classic: true})
		if err != nil {
			return err
		}
		err = client.Declare(ctx, broker.Topology{Exchange: "words",
			Queues: []broker.Queue{{Name: name, Types: []string{"a"}}}})
		if err != nil {
			return errors.Join(err, client.Close())
		}
		depth, err := client.Depth(ctx, name)
		if depth.Ready > 0 {
			err = fmt.Errorf("queue %s holds a message already", name)
		}
		return errors.Join(err, client.Publish(ctx, broker.Message{ID: "1", Type: "a", Key: "a"}), client.Close())
	}
	names := func(ctx context.Context, _ Backing, instance *servers.Instance) ([]string, error) {
		all, err := instance.QueueDepths(ctx)
		maps.DeleteFunc(all, func(name string, _ servers.QueueDepth) bool {
			return strings.HasSuffix(name, "-dead") || name == "cleave_declared"
		})
		return slices.Collect(maps.Keys(all)), err
	}
	return content{write, names}
}

// TestTrialsShareAServer checks that each trial has databases of its own, which Release removes. Clean
// removes those of dead processes, and no others.
func TestTrialsShareAServer(t *testing.T) {
	for kind, c := range map[server.Kind]content{server.MariaDB: sql(), server.Postgres: sql(),
		server.Mongo: documents(), server.RabbitMQ: queues()} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b, instance := running(t, kind)
			ctx := t.Context()
			own, err := launch.Own()
			testset.Must(t, err)
			// Process 1 runs, but was not started at tick 0: so this name is of a dead process with
			// the same number. Processes of another container cannot be checked.
			dead, unknown := "cleave_"+own.Scope+"_1_0_1_orders", "cleave_000000_1_0_1_orders"
			owner, err := owner()
			testset.Must(t, err)
			root := b.address.String()
			for _, name := range []string{"mine", "cleave_1_0_1_orders", unknown, dead} {
				testset.Must(t, c.write(ctx, root, name))
			}
			removed, unclear, err := Clean(ctx, map[string]Backing{string(kind): b, "another kind": b})
			if err != nil || len(removed) != 1 || !strings.HasPrefix(removed[0], strings.TrimSuffix(dead, "orders")) ||
				strings.Contains(removed[0], "password") {
				t.Errorf("cleaned %v (%v), want what is left of process 1", removed, err)
			}
			if len(unclear) != 1 || !strings.HasPrefix(unclear[0], strings.TrimSuffix(unknown, "orders")) ||
				strings.Contains(unclear[0], "password") {
				t.Errorf("unclear is %v, want what another container has", unclear)
			}
			others := []string{"cleave_000000_1_0_1_orders", "cleave_1_0_1_orders", "mine"}
			expectNames(t, c, b, instance, others...)
			testset.Must(t, c.write(ctx, root, dead))

			one, err := b.Fresh(ctx, lab.ServiceSpec{Name: "database"}, "")
			testset.Must(t, err)
			two, err := b.Fresh(ctx, lab.ServiceSpec{Name: "database"}, "")
			testset.Must(t, err)
			testset.Must(t, c.write(ctx, one.Address(""), "orders"))
			testset.Must(t, c.write(ctx, two.Address(""), "orders"))
			expectNames(t, c, b, instance, append(others, owner+"1_orders", owner+"2_orders")...)
			testset.Must(t, one.Release())
			expectNames(t, c, b, instance, append(others, owner+"2_orders")...)
			testset.Must(t, two.Release())
			expectNames(t, c, b, instance, others...)
			if about := one.About(); !strings.Contains(about, "run by the user") ||
				strings.Contains(about, "password") {
				t.Errorf("About returns %q", about)
			}
		})
	}
}

// TestNamesOfOthers: what Cleave cannot have created is not removed, even if it begins as its names do.
func TestNamesOfOthers(t *testing.T) {
	for name, want := range map[string]bool{"cleave_00001a_2_3_": true, "cleave_00001a_2_3_orders_1": true,
		"cleave_00001a_2_3_Orders": false, "cleave_00001a_2_3_orders-copy": false, "cleave_00001a_2_3_a;b": false,
		"my_cleave_00001a_2_3_orders": false, "cleave_orders": false} {
		if _, ours := ownerOf(name); ours != want {
			t.Errorf("%q is Cleave's: %v, want %v", name, ours, want)
		}
	}
}

// expectNames compares the names on a server, without the server's own.
func expectNames(t *testing.T, c content, b Backing, instance *servers.Instance, want ...string) {
	t.Helper()
	all, err := c.names(t.Context(), b, instance)
	testset.Must(t, err)
	got := slices.DeleteFunc(all, func(name string) bool {
		return name != "mine" && !strings.HasPrefix(name, "cleave_")
	})
	want = slices.Sorted(slices.Values(want))
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("databases %v, want %v", got, want)
	}
}

func TestFromEnvironmentRefusesAddresses(t *testing.T) {
	for _, c := range []struct{ variable, text, want string }{
		{"CLEAVE_USE_MARIADB", "mariadb://root:secret@10.0.0.7:3306", "loopback"},
		{"CLEAVE_USE_MARIADB", "mariadb://root:secret@db.example.com", "loopback"},
		{"CLEAVE_USE_MARIADB", "mysql://root:secret@127.0.0.1:3306", "use mariadb://"},
		{"CLEAVE_USE_MARIADB", "mariadb://root:secret@127.0.0.1:3306/orders", "use mariadb://"},
		{"CLEAVE_USE_MARIADB", "mariadb://root:secret@:3306:x", "not a URL"},
		{"CLEAVE_USE_MARIADB", "mariadb:///tmp/secret", "use mariadb://"},
		{"CLEAVE_USE_RABBITMQ", "amqp://root:secret@10.0.0.7:5672/shop", "loopback"},
		{"CLEAVE_USE_RABBITMQ", "rabbitmq://root:secret@127.0.0.1",
			"use amqp://user:password@127.0.0.1:port, and /vhost"},
	} {
		_, err := FromEnvironment(func(name string) (string, bool) { return c.text, name == c.variable })
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), c.variable+": ") {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), ":secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

// TestAnEmptyVariableNamesNoServer: scripts and .env files leave such variables.
func TestAnEmptyVariableNamesNoServer(t *testing.T) {
	found, err := FromEnvironment(func(string) (string, bool) { return "", true })
	if err != nil || len(found) > 0 {
		t.Errorf("%d servers, error %v", len(found), err)
	}
}

// TestAddressesOfTrials checks that a trial's prefix is added to an address, which may lack a port and,
// for RabbitMQ, may have a virtual host.
func TestAddressesOfTrials(t *testing.T) {
	for _, c := range []struct{ variable, kind, text, want string }{
		{"CLEAVE_USE_POSTGRES", "postgres", "postgres://u:p@127.0.0.1", "postgres://u:p@127.0.0.1:5432/cleave_1_"},
		{"CLEAVE_USE_RABBITMQ", "rabbitmq", "amqp://u:p@localhost", "amqp://u:p@localhost:5672/?prefix=cleave_1_"},
		{"CLEAVE_USE_RABBITMQ", "rabbitmq-classic", "amqp://u:p@[::1]:99/a%2Fb",
			"amqp://u:p@[::1]:99/a%2Fb?prefix=cleave_1_"},
	} {
		found, err := FromEnvironment(func(name string) (string, bool) { return c.text, name == c.variable })
		testset.Must(t, err)
		if got := found[c.kind].addressOf("cleave_1_"); got != c.want || found[c.kind].Kind != c.kind {
			t.Errorf("%s: address %s, want %s", c.text, got, c.want)
		}
	}
}

// TestWrongCredentials checks that the error has the server's refusal and its address.
func TestWrongCredentials(t *testing.T) {
	for kind, want := range map[server.Kind]string{server.MariaDB: "denied",
		server.RabbitMQ: "username or password not allowed"} {
		t.Run(string(kind), func(t *testing.T) {
			b, _ := running(t, kind)
			address := *b.address
			address.User = url.UserPassword(b.address.User.Username(), "wrong")
			b.address = &address
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := b.fresh(ctx, lab.ServiceSpec{}, "")
			if err == nil || !strings.Contains(err.Error(),
				fmt.Sprintf("use the %s server at %s: ", kind, address.Host)) || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestPreflightWithoutAServer checks that Preflight fails and says what to do.
func TestPreflightWithoutAServer(t *testing.T) {
	found, err := FromEnvironment(func(name string) (string, bool) {
		return "amqp://u:secret@127.0.0.1:9", name == "CLEAVE_USE_RABBITMQ"
	})
	testset.Must(t, err)
	err = found["rabbitmq-classic"].Preflight()
	for _, want := range []string{"no rabbitmq server answers at 127.0.0.1:9", "refused",
		"leave CLEAVE_USE_RABBITMQ out"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
