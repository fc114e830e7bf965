package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/wide"
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
	address, err := url.Parse(w.address)
	if err != nil {
		return 0, errors.New("the address of the server is not a URL") // err has its password in it
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		return 0, fmt.Errorf("the port of the server: %w", err)
	}
	password, _ := address.User.Password()
	cluster := gocql.NewCluster(address.Hostname())
	cluster.Port, cluster.NumConns, cluster.Timeout = port, pool, time.Minute
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: address.User.Username(), Password: password}
	cluster.DisableInitialHostLookup = true
	session, err := cluster.CreateSession()
	if err != nil {
		return 0, fmt.Errorf("connect to the server: %w", err)
	}
	defer session.Close()
	for _, statement := range []string{
		"CREATE KEYSPACE IF NOT EXISTS bare WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TABLE IF NOT EXISTS bare.persons (id uuid PRIMARY KEY, sealed blob)",
	} {
		if err := session.Query(statement).ExecContext(ctx); err != nil {
			return 0, fmt.Errorf("make the table: %w", err)
		}
	}
	sealed := bytes.Repeat([]byte{7}, sealedBytes)
	return w.rate(ctx, func(ctx context.Context) error {
		id := gocql.UUID(uuid.New())
		if err := session.Query("INSERT INTO bare.persons (id, sealed) VALUES (?, ?)", id, sealed).ExecContext(ctx); err != nil {
			return err
		}
		var found []byte
		return session.Query("SELECT sealed FROM bare.persons WHERE id = ?", id).ScanContext(ctx, &found)
	})
}

// pool is how many connections a unit has to its database by itself.
const pool = 8

// monolith has clients ask the gateway, in this process, over HTTP.
func (w work) monolith(ctx context.Context, _ uint64) (rate float64, err error) {
	design, err := architecture.New(architecture.Monolith, nil)
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
	client := client{"http://" + listener.Addr().String(), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: w.clients}}}
	rate, err = w.rate(ctx, client.createAndFetch)
	client.http.CloseIdleConnections()
	stop()
	return rate, errors.Join(err, <-served)
}

// client asks the gateway.
type client struct {
	url  string
	http *http.Client
}

func (c client) createAndFetch(ctx context.Context) error {
	var made struct{ ID string }
	if err := c.ask(ctx, http.MethodPost, "/persons", `{"firstName":"Ada","lastName":"Lovelace"}`, http.StatusCreated, &made); err != nil {
		return err
	}
	var found struct{ LastName string }
	if err := c.ask(ctx, http.MethodGet, "/persons/"+made.ID, "", http.StatusOK, &found); err != nil {
		return err
	}
	if found.LastName != "Lovelace" {
		return fmt.Errorf("created Lovelace and fetched %q", found.LastName)
	}
	return nil
}

func (c client) ask(ctx context.Context, method, path, body string, want int, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != want {
		return fmt.Errorf("%s %s: status %d, %s", method, path, response.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}
