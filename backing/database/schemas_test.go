package database_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
)

// TestSchemasOfADatabase checks that tables of the same name in two schemas are two tables, with
// prepared statements too, and that a connection with both schemas in its search path can
// change both in one transaction.
func TestSchemasOfADatabase(t *testing.T) {
	ctx := t.Context()
	place := databasetest.Around(t, databasetest.Fresh(t, database.PostgreSQL))
	names := []string{"shop.orders", "shop.payments"}
	for range 2 { // creating them again changes nothing
		must(t, place.Create(ctx, names...))
	}
	orders := table(t, place.Config(names[0], 2))
	payments := table(t, place.Config(names[1], 2))
	run(t, orders, "CREATE TABLE only_orders (name VARCHAR(20) PRIMARY KEY)")
	run(t, payments, "CREATE TABLE only_payments (name VARCHAR(20) PRIMARY KEY)")
	run(t, orders, "UPDATE items SET amount = 3")
	if a, b := amount(t, ctx, orders, "a"), amount(t, ctx, payments, "a"); a != 3 || b != 10 {
		t.Errorf("amounts %d and %d, want 3 and 10", a, b)
	}
	if _, err := orders.Exec(ctx, "INSERT INTO only_payments (name) VALUES ('a')"); err == nil {
		t.Error("the orders wrote into a table of the payments")
	}
	both := databasetest.Open(t, place.Config("shop.payments,orders", 1))
	if a := amount(t, ctx, both, "a"); a != 10 {
		t.Errorf("amount %d, want that of the schema named first, 10", a)
	}
	undone := errors.New("undone")
	for _, end := range []error{undone, nil} {
		err := both.Do(ctx, func(ctx context.Context) error {
			for _, table := range []string{"only_orders", "only_payments"} {
				if _, err := both.Exec(ctx, "INSERT INTO "+table+" (name) VALUES ('a')"); err != nil {
					return err
				}
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatalf("error %v, want %v", err, end)
		}
	}
}

// TestCreateRefusesNames checks that Create refuses invalid names without connecting to a server.
func TestCreateRefusesNames(t *testing.T) {
	for _, c := range []struct{ address, name, want string }{
		{"postgres://user:secret@127.0.0.1:9", "shop.a,b", "lower-case letters"},
		{"postgres://user:secret@127.0.0.1:9", "shop.", "lower-case letters"},
		{"postgres://user:secret@127.0.0.1:9", "Shop", "lower-case letters"},
		{"mariadb://user:secret@127.0.0.1:9", "shop.orders", "mariadb has no schemas"},
		{"sqlite:///nowhere", "shop.orders", "sqlite has no schemas"},
	} {
		place, err := database.ParsePlace(c.address)
		must(t, err)
		if err := place.Create(t.Context(), c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %s: %v, want %q", c.name, c.address, err, c.want)
		}
	}
}

// TestAUserWithoutOtherRights: a user of MariaDB who may only create and drop databases with the prefix can
// do so.
func TestAUserWithoutOtherRights(t *testing.T) {
	ctx := t.Context()
	config := databasetest.Fresh(t, database.MariaDB)
	server, rest, _ := strings.Cut(config.DSN[strings.Index(config.DSN, "(")+1:], ")/")
	prefix, _, _ := strings.Cut(rest, "?")
	admin := databasetest.Open(t, config)
	run(t, admin, "CREATE USER '"+prefix+"' IDENTIFIED BY 'secret'")
	run(t, admin, "GRANT ALL ON `"+strings.ReplaceAll(prefix, "_", `\_`)+"\\_%`.* TO '"+prefix+"'")
	place, err := database.ParsePlace("mariadb://" + prefix + ":secret@" + server + "/" + prefix + "_")
	must(t, err)
	must(t, place.Create(ctx, "shop"))
	run(t, databasetest.Open(t, place.Config("shop", 1)), "CREATE TABLE items (name VARCHAR(20))")
	version, err := place.Version(ctx)
	must(t, err, place.Drop(ctx, func(name string) bool { return strings.HasPrefix(name, prefix+"_") }))
	if version == "" {
		t.Error("the version is unknown")
	}
}
