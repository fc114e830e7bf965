package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/backing/wide/straight"
	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
	"github.com/cleave-lab/cleave/systems/people/records"
)

// work is what both sides do: persons are created and fetched by several at once.
type work struct {
	options
	address string
}

// sealedBytes is how long a sealed person of this benchmark is.
const sealedBytes = 100

// rate has clients do their part, and returns the requests per second of all.
func (w work) rate(ctx context.Context, createAndFetch func(ctx context.Context) error) (float64, error) {
	var left atomic.Int64
	left.Store(int64(w.records))
	errs := make([]error, w.clients)
	var clients sync.WaitGroup
	began := time.Now()
	for n := range w.clients {
		clients.Go(func() {
			for errs[n] == nil && left.Add(-1) >= 0 {
				errs[n] = createAndFetch(ctx)
			}
		})
	}
	clients.Wait()
	return 2 * float64(w.records) / time.Since(began).Seconds(), errors.Join(errs...)
}

// statements plays the monolith's at the client of the store.
func (w work) statements(ctx context.Context, _ uint64) (rate float64, err error) {
	store, err := wide.Open(ctx, w.address, wide.Options{Keyspace: people.Name})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	table := records.Table(people.Persons)
	if err := store.CreateTables(ctx, table); err != nil {
		return 0, err
	}
	sealed := bytes.Repeat([]byte{7}, sealedBytes)
	return w.rate(ctx, func(ctx context.Context) error {
		id := uuid.New()
		if err := store.Insert(ctx, table.Name, id, sealed); err != nil {
			return err
		}
		_, err := store.Get(ctx, table.Name, id)
		return err
	})
}

// driver plays the same straight at Cassandra's driver, with as many connections as the
// monolith has.
func (w work) driver(ctx context.Context, _ uint64) (float64, error) {
	table := records.Table(people.Persons)
	store, err := wide.Open(ctx, w.address, wide.Options{Keyspace: people.Name})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(store.CreateTables(ctx, table), store.Close()); err != nil {
		return 0, err
	}
	session, err := straight.Open(w.address, people.Name, table.Name, table.Columns[0], pool)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	sealed := bytes.Repeat([]byte{7}, sealedBytes)
	return w.rate(ctx, func(ctx context.Context) error {
		id := uuid.New()
		if err := session.Insert(ctx, id, sealed); err != nil {
			return err
		}
		_, err := session.Get(ctx, id)
		return err
	})
}

// pool is how many connections a unit has to its database by itself.
const pool = 8

// stock has clients ask the gateway, in this process, over HTTP by net/http.
func (w work) stock(ctx context.Context, _ uint64) (rate float64, err error) {
	return w.monolith(ctx, nil)
}

// lean does so by our own binding.
func (w work) lean(ctx context.Context, _ uint64) (rate float64, err error) {
	return w.monolith(ctx, map[string]string{architecture.KnobFront: architecture.Lean})
}

func (w work) monolith(ctx context.Context, knobs map[string]string) (rate float64, err error) {
	design, err := architecture.New(architecture.Monolith, knobs)
	if err != nil {
		return 0, err
	}
	unit, err := peopleunit.Open(ctx, design, architecture.UnitAll, peopleunit.Place{Database: w.address, Key: make([]byte, 16)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unit.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- unit.Serve(serving, listener) }()
	rate, err = w.asked(ctx, listener.Addr().String())
	stop()
	return rate, errors.Join(err, <-served)
}

// asked has clients create and fetch at the gateway, each over a connection of its own.
func (w work) asked(ctx context.Context, address string) (rate float64, err error) {
	free := make(chan *client, w.clients)
	for range w.clients {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, connection.Close()) }()
		free <- &client{connection: connection, host: address}
	}
	return w.rate(ctx, func(context.Context) error {
		c := <-free
		defer func() { free <- c }()
		return c.createAndFetch()
	})
}

// client asks the gateway with as little work as the load engine has of it: what users
// do is not what is measured.
type client struct {
	connection net.Conn
	host       string
	sent, read []byte
}

func (c *client) createAndFetch() error {
	made, err := c.ask(http.MethodPost, "/persons", `{"firstName":"Ada","lastName":"Lovelace"}`, http.StatusCreated)
	if err != nil {
		return err
	}
	_, id, _ := bytes.Cut(made, []byte(`{"id":"`))
	id, _, named := bytes.Cut(id, []byte(`"}`))
	if !named {
		return fmt.Errorf("created, and was told %q", made)
	}
	found, err := c.ask(http.MethodGet, "/persons/"+string(id), "", http.StatusOK)
	if err == nil && !bytes.Contains(found, []byte(`"lastName":"Lovelace"`)) {
		err = fmt.Errorf("created Lovelace and fetched %q", found)
	}
	return err
}

// ask returns the body of the answer, which is valid until the next call.
func (c *client) ask(method, path, body string, want int) ([]byte, error) {
	contentType := ""
	if body != "" {
		contentType = "application/json"
	}
	c.sent = leanhttp.AppendRequest(c.sent[:0], method, c.host, path, contentType, []byte(body))
	if _, err := c.connection.Write(c.sent); err != nil {
		return nil, err
	}
	var response leanhttp.Response
	for c.read = c.read[:0]; ; {
		length, err := leanhttp.ParseResponse(c.read, leanhttp.Limits{}, &response)
		if err != nil {
			return nil, err
		}
		if length > 0 {
			break
		}
		c.read = slices.Grow(c.read, 1024)
		n, err := c.connection.Read(c.read[len(c.read):cap(c.read)])
		if err != nil {
			return nil, err
		}
		c.read = c.read[:len(c.read)+n]
	}
	if response.Status != want {
		return nil, fmt.Errorf("%s %s: status %d, %s", method, path, response.Status, response.Body)
	}
	return response.Body, nil
}
