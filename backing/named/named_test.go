package named

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/lab"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// running is a server that somebody else runs, as far as this package can see.
func running(t *testing.T, kind server.Kind) Backing {
	t.Helper()
	instance, err := server.Start(t.Context(), kind, t.TempDir(), server.Settings{})
	var missing *server.MissingError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, instance.Stop()) })
	variables := map[string]string{variable + strings.ToUpper(string(kind)): instance.URL()}
	found, err := FromEnvironment(func(name string) (string, bool) { text, set := variables[name]; return text, set })
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	return found[string(kind)]
}

// content is how a test writes into a trial's service and sees what a server has.
type content struct {
	write func(ctx context.Context, address, name string) error
	names func(ctx context.Context, b Backing) ([]string, error)
}

// sql makes a database with a table.
func sql() content {
	names := func(ctx context.Context, b Backing) (all []string, err error) {
		place, err := database.ParsePlace(b.address.String())
		if err != nil {
			return nil, err
		}
		return all, place.Drop(ctx, func(name string) bool { all = append(all, name); return false })
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
		_, err = db.Exec(ctx, "CREATE TABLE words (word VARCHAR(10))") // fails where there is one
		return errors.Join(err, db.Close())
	}
	return content{write, names}
}

// documents writes a document.
func documents() content {
	return content{
		write: func(ctx context.Context, address, name string) error {
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			whole := strings.TrimPrefix(u.Path, "/") + name
			u.Path = "/"
			return Backing{kind: "mongo", address: u}.mongo(ctx, func(client *mongo.Client) error {
				_, err := client.Database(whole).Collection("words").InsertOne(ctx, bson.D{{Key: "_id", Value: "a"}}) // fails where there is one
				return err
			})
		},
		names: func(ctx context.Context, b Backing) (all []string, err error) {
			return all, b.mongo(ctx, func(client *mongo.Client) error {
				all, err = client.ListDatabaseNames(ctx, bson.D{})
				return err
			})
		},
	}
}

// TestTrialsShareAServer: each has databases of its own, which go with it; those of
// a process that is gone go, too, and nobody else's.
func TestTrialsShareAServer(t *testing.T) {
	for kind, c := range map[server.Kind]content{server.MariaDB: sql(), server.Postgres: sql(), server.Mongo: documents()} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := running(t, kind)
			ctx := t.Context()
			// Process 1 runs, but was not started at tick 0: this is of another one.
			root := b.address.String()
			must(t, c.write(ctx, root, "mine"))
			must(t, c.write(ctx, root, "cleave_1_0_1_orders"))

			one, err := b.Fresh(ctx, lab.ServiceSpec{Name: "database"}, "")
			must(t, err)
			two, err := b.Fresh(ctx, lab.ServiceSpec{Name: "database"}, "")
			must(t, err)
			must(t, c.write(ctx, one.Address(), "orders"))
			must(t, c.write(ctx, two.Address(), "orders"))
			expectNames(t, c, b, owner()+"1_orders", owner()+"2_orders", "mine")
			must(t, one.Release())
			expectNames(t, c, b, owner()+"2_orders", "mine")
			must(t, two.Release())
			expectNames(t, c, b, "mine")
			if about := one.About(); !strings.Contains(about, "run by the user") || strings.Contains(about, "password") {
				t.Errorf("it says of itself %q", about)
			}
		})
	}
}

// expectNames looks which databases there are, but for the server's own.
func expectNames(t *testing.T, c content, b Backing, want ...string) {
	t.Helper()
	all, err := c.names(t.Context(), b)
	must(t, err)
	got := slices.DeleteFunc(all, func(name string) bool { return name != "mine" && !strings.HasPrefix(name, "cleave_") })
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("databases %v, want %v", got, want)
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"mariadb://root:secret@10.0.0.7:3306":         "loopback",
		"mariadb://root:secret@db.example.com":        "loopback",
		"mysql://root:secret@127.0.0.1:3306":          "use mariadb://",
		"mariadb://root:secret@127.0.0.1:3306/orders": "use mariadb://",
		"mariadb://root:secret@:3306:x":               "not a URL",
		"mariadb:///tmp/secret":                       "use mariadb://",
	} {
		_, err := FromEnvironment(func(name string) (string, bool) { return text, name == "CLEAVE_USE_MARIADB" })
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "CLEAVE_USE_MARIADB: ") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), ":secret") {
			t.Errorf("the password is told: %v", err)
		}
	}
}

// TestWrongCredentials: the server says what it thinks of them, and the error where
// they were used.
func TestWrongCredentials(t *testing.T) {
	b := running(t, server.MariaDB)
	address := *b.address
	address.User = url.UserPassword(b.address.User.Username(), "wrong")
	b.address = &address
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := b.Fresh(ctx, lab.ServiceSpec{Name: "database"}, "")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("use the mariadb server at %s: ", address.Host)) || !strings.Contains(err.Error(), "denied") {
		t.Errorf("error %v", err)
	}
}
