// Package peopleunit is people's part of the unit program: it joins what a unit has with
// its database, the units that it calls, and the channel that a deployer gives it.
//
// Entry points: Run for the unit program; Open, whoever joins units by hand, as tests do.
package peopleunit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/binding/grpcgo"
	"github.com/cleave-lab/cleave/binding/nethttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/gateway"
	"github.com/cleave-lab/cleave/systems/people/records"
	"github.com/cleave-lab/cleave/systems/people/seal"
	"github.com/cleave-lab/cleave/unit"
)

// Job is what one process of people is started with, as JSON.
type Job struct {
	Architecture string            `json:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty"`
	// Unit is the unit to be; empty: make the tables, and end.
	Unit string `json:"unit,omitempty"`
}

const (
	// ServiceDatabase is what units call the service that keeps records.
	ServiceDatabase = "database"
	// KeyFile is the file in the unit's folder with the key of records, in hexadecimal.
	// A key is in no argument, which every user of a host can read.
	KeyFile = "key"
	// maxMessage is the longest message between units, in bytes.
	maxMessage = 1 << 20
	// drain is how long calls in flight have when a unit ends.
	drain = 10 * time.Second
)

// Run is a unit of people until it is told to stop (by command, by SIGTERM, or because
// the conductor is gone), or makes the tables and ends.
func Run(channel *unit.Channel, argument string) error {
	var job Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	design, err := architecture.New(job.Architecture, job.Knobs)
	if err != nil {
		return err
	}
	database := os.Getenv(lab.ServiceVariable(ServiceDatabase))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if job.Unit == "" {
		all, err := openStores(ctx, design, database, people.Kinds())
		return errors.Join(err, all.close())
	}
	key, err := readKey()
	if err != nil {
		return err
	}
	u, err := Open(ctx, design, job.Unit, Place{Database: database, Key: key, Peer: unit.PeerAddress})
	if err != nil {
		return err
	}
	address, err := unit.Address()
	if err == nil {
		err = channel.Serve(ctx, stop, address, u.Serve,
			func(c *unit.Channel) error { return c.Report(struct{}{}) })
	}
	return errors.Join(err, u.Close())
}

// readKey reads the key that the deployer has put into the unit's folder.
func readKey() ([]byte, error) {
	dir, err := unit.Dir()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, KeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the key of records: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != seal.KeySize { // err would show a part of it
		return nil, fmt.Errorf("the key of records in %s is not %d bytes in hexadecimal",
			filepath.Join(dir, KeyFile), seal.KeySize)
	}
	return key, nil
}

// Place is where a unit finds what it needs.
type Place struct {
	Database string // address
	Key      []byte
	// Peer is the host:port of another unit, or of all its replicas.
	Peer func(unit string) (string, error)
	// LogError is told what fails inside; nil: standard error is.
	LogError func(error)
}

// Unit is a unit that is joined.
type Unit struct {
	design   architecture.Design
	unit     architecture.Unit
	place    Place
	stores   stores
	own      *records.Records
	clients  map[string]rpc.Client // by unit
	calls    map[string]records.Keeper
	logError func(error)
}

// Open joins a unit of a design.
func Open(ctx context.Context, design architecture.Design, name string, place Place) (u *Unit, err error) {
	i := slices.IndexFunc(design.Units, func(u architecture.Unit) bool { return u.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the design has no unit %q", name)
	}
	u = &Unit{design: design, unit: design.Units[i], place: place, clients: map[string]rpc.Client{},
		calls: map[string]records.Keeper{}, logError: place.LogError}
	if u.logError == nil {
		u.logError = func(err error) { fmt.Fprintln(os.Stderr, name+":", err) }
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("unit %s: %w", name, err), u.Close())
		}
	}()
	sealer, err := seal.New(design.Cipher, place.Key)
	if err != nil {
		return nil, err
	}
	if u.stores, err = openStores(ctx, design, place.Database, u.unit.Kinds); err != nil {
		return nil, err
	}
	u.own = records.New(u.stores, sealer)
	if !u.front() {
		return u, nil
	}
	for _, other := range design.Units[1:] {
		if u.clients[other.Name], err = u.connect(other.Name); err != nil {
			return nil, err
		}
		u.calls[other.Name] = records.NewClient(u.clients[other.Name])
	}
	return u, nil
}

func (u *Unit) front() bool { return u.unit.Name == u.design.Front().Name }

// connect makes the client of another unit; it dials when it is first used.
func (u *Unit) connect(name string) (rpc.Client, error) {
	addresses, err := u.place.Peer(name)
	if err != nil {
		return nil, err
	}
	return rpc.Spread(addresses, func(address string) (rpc.Client, error) {
		if u.design.Calls == architecture.GRPC {
			return grpcgo.NewClient(address, people.Faults{})
		}
		return nethttp.NewClient(address, u.design.Pool, people.Faults{}), nil
	})
}

// keeper is who keeps records of a kind, as this unit sees it.
func (u *Unit) keeper(kind people.Kind) records.Keeper {
	if slices.Contains(u.unit.Kinds, kind) {
		return u.own
	}
	return u.calls[u.design.Hosting(kind).Name]
}

// healthy is nil when every other unit accepts connections: each opens its database
// before it listens.
func (u *Unit) healthy(ctx context.Context) error {
	for name := range u.clients {
		addresses, err := u.place.Peer(name)
		if err != nil {
			return err
		}
		if err := rpc.Reachable(ctx, addresses); err != nil {
			return err
		}
	}
	return nil
}

// Serve answers until ctx ends, and then what is under way: clients in front, else the
// gateway.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	if u.front() {
		serve := gateway.Serve
		if u.design.Lean {
			serve = gateway.ServeLean
		}
		return serve(ctx, listener, gateway.Backend{
			Keeper: u.keeper, Healthy: u.healthy, InFlight: u.design.InFlight, LogError: u.logError})
	}
	var server interface {
		grpc.ServiceRegistrar
		Serve(net.Listener) error
		Shutdown(context.Context) error
	} = nethttp.NewServer(maxMessage, people.Faults{})
	if u.design.Calls == architecture.GRPC {
		server = grpcgo.NewServer(maxMessage, people.Faults{})
	}
	records.Register(server, u.own)
	return rpc.Serve(ctx, listener, server, drain)
}

// Close closes the unit's connections. It serves no more.
func (u *Unit) Close() error {
	errs := []error{u.stores.close()}
	for _, c := range u.clients {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// stores are the databases with records of some kinds.
type stores map[people.Kind]*wide.Store

// openStores opens the databases of some kinds and makes their tables where these are
// missing. What is open on error is returned, to be closed.
func openStores(
	ctx context.Context, design architecture.Design, address string, kinds []people.Kind,
) (stores, error) {
	opened, byName := stores{}, map[string]*wide.Store{}
	for _, kind := range kinds {
		name := design.DatabaseOf(kind)
		if byName[name] == nil {
			store, err := wide.Open(ctx, address, wide.Options{Keyspace: name, Connections: design.Pool,
				InFlight: design.InFlight})
			if err != nil {
				return opened, err
			}
			byName[name] = store
		}
		opened[kind] = byName[name]
		if err := byName[name].CreateTables(ctx, records.Table(kind)); err != nil {
			return opened, err
		}
	}
	return opened, nil
}

func (s stores) close() error {
	closed := map[*wide.Store]bool{}
	var errs []error
	for _, store := range s {
		if !closed[store] {
			closed[store] = true
			errs = append(errs, store.Close())
		}
	}
	return errors.Join(errs...)
}
