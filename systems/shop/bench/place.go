package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/schema"
)

// seed returns the shop of a trial: stock and money for every order.
func seed() shop.Seed {
	return shop.Seed{Customers: 1000, Products: 1000, Stock: 1_000_000, Balance: 1_000_000_000, Random: 1}
}

// place is the folder, and for some kinds the server, in which databases are made.
type place struct {
	driver database.Driver
	dir    string
	server *servers.Instance // nil for SQLite
	made   int
}

func newPlace(ctx context.Context, driver database.Driver) (*place, error) {
	dir, err := servers.Folder()
	if err != nil {
		return nil, err
	}
	p := &place{driver: driver, dir: dir}
	kinds := map[database.Driver]server.Kind{database.MariaDB: server.MariaDB,
		database.PostgreSQL: server.Postgres}
	if kind, needed := kinds[driver]; needed {
		if p.server, err = servers.Start(ctx, kind, filepath.Join(dir, "server"), server.Settings{}); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func (p *place) close() error {
	var err error
	if p.server != nil {
		err = p.server.Stop()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// fresh makes a database with the shop of a trial in it.
func (p *place) fresh(ctx context.Context) (config database.Config, err error) {
	p.made++
	name := fmt.Sprintf("trial_%d", p.made)
	config = database.Config{Driver: p.driver, DSN: filepath.Join(p.dir, name)}
	if p.server != nil {
		where, err := database.ParsePlace(p.server.URL())
		if err == nil {
			err = where.Create(ctx, name)
		}
		if err != nil {
			return config, err
		}
		config = where.Config(name, 0)
	}
	db, err := database.Open(ctx, config)
	if err != nil {
		return config, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := schema.Create(ctx, db, shop.Components()...); err != nil {
		return config, err
	}
	return config, schema.Load(ctx, db, seed(), shop.Components()...)
}
