package main

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/backing/wide/straight"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
	"github.com/cleave-lab/cleave/systems/people/records"
)

// work creates and fetches persons by concurrent clients, on each side of the comparison.
type work struct {
	options
	address string // of the store; that of SQLite names a folder
}

// sealedBytes is the length of a sealed person of this benchmark.
const sealedBytes = 84

// measure is the result of a trial.
type measure struct {
	rate float64 // requests per second
	cpu  float64 // processor seconds of this process per request, including the clients
}

// measured begins a trial and returns the function that ends it and returns its measure.
func (w work) measured() (ended func() measure) {
	began := time.Now()
	spent := figures.OwnCPU()
	return func() measure {
		requests := 2 * float64(w.records)
		return measure{rate: requests / time.Since(began).Seconds(),
			cpu: (figures.OwnCPU() - spent).Seconds() / requests}
	}
}

// each measures createAndFetch, called once per record by the clients in parallel.
func (w work) each(ctx context.Context, createAndFetch func(ctx context.Context) error) (measure, error) {
	ended := w.measured()
	err := figures.InParallel(w.clients, w.records, func(int, int) error { return createAndFetch(ctx) })
	return ended(), err
}

// statements plays the statements of the monolith with the client of the store. As in the other trials,
// nothing depends on the seed.
func (w work) statements(ctx context.Context, _ uint64) (m measure, err error) {
	store, err := wide.Open(ctx, w.address, wide.Options{Keyspace: people.Name})
	if err != nil {
		return measure{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	table := records.Table(people.Persons)
	if err := store.CreateTables(ctx, table); err != nil {
		return measure{}, err
	}
	sealed := bytes.Repeat([]byte{7}, sealedBytes)
	return w.each(ctx, func(ctx context.Context) error {
		id := uuid.New()
		if err := store.Insert(ctx, table.Name, id, sealed); err != nil {
			return err
		}
		_, err := store.Get(ctx, table.Name, id)
		return err
	})
}

// driver plays the same statements with Cassandra's driver alone, over as many connections as the monolith
// has.
func (w work) driver(ctx context.Context, _ uint64) (measure, error) {
	table := records.Table(people.Persons)
	store, err := wide.Open(ctx, w.address, wide.Options{Keyspace: people.Name})
	if err != nil {
		return measure{}, err
	}
	if err := errors.Join(store.CreateTables(ctx, table), store.Close()); err != nil {
		return measure{}, err
	}
	session, err := straight.Open(w.address, people.Name, table.Name, table.Columns[0], pool)
	if err != nil {
		return measure{}, err
	}
	defer session.Close()
	sealed := bytes.Repeat([]byte{7}, sealedBytes)
	return w.each(ctx, func(ctx context.Context) error {
		id := uuid.New()
		if err := session.Insert(ctx, id, sealed); err != nil {
			return err
		}
		_, err := session.Get(ctx, id)
		return err
	})
}

// pool is the default number of connections of a unit to its database.
const pool = 8

// stock plays the clients against a gateway in this process that serves with net/http.
func (w work) stock(ctx context.Context, _ uint64) (m measure, err error) {
	return w.monolith(ctx, nil)
}

// lean does the same with our own binding in place of net/http.
func (w work) lean(ctx context.Context, _ uint64) (m measure, err error) {
	return w.monolith(ctx, map[string]string{architecture.KnobFront: architecture.Lean})
}

func (w work) monolith(ctx context.Context, knobs map[string]string) (m measure, err error) {
	design, err := architecture.New(architecture.Monolith, knobs)
	if err != nil {
		return measure{}, err
	}
	addresses, stop, err := hostingtest.Serve(design.Names(),
		func(ctx context.Context, unit string, _ map[string]string) (hosting.Served, error) {
			return peopleunit.Open(ctx, design, unit,
				peopleunit.Place{Database: w.address, Key: make([]byte, 16)})
		})
	if err != nil {
		return measure{}, err
	}
	m, err = w.ask(ctx, addresses[architecture.UnitAll])
	return m, errors.Join(err, stop())
}
