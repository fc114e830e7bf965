// Package peopleunit is people's part of the unit program: it connects the components of a unit to
// its database, to the units that it calls, and to the channel to the conductor.
//
// Entry points: Run for the unit program; Open for tests and benchmarks that start units themselves.
package peopleunit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/gateway"
	"github.com/cleave-lab/cleave/systems/people/peoplepb"
	"github.com/cleave-lab/cleave/systems/people/records"
	"github.com/cleave-lab/cleave/systems/people/seal"
	"github.com/cleave-lab/cleave/unit"
)

// Job is the argument of a process of people, as JSON.
type Job struct {
	Architecture string            `json:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty"`
	// Unit is the name of the unit to run; empty: make the tables, and end.
	Unit string `json:"unit,omitempty"`
}

const (
	// ServiceDatabase is the name of the database among the services of a unit.
	ServiceDatabase = "database"
	// KeyFile is the file in the unit's folder with the key of records, in hexadecimal.
	// It is no argument, since every user of a host can read the arguments of processes.
	KeyFile = "key"
	// maxMessage is the longest message between units, in bytes.
	maxMessage = 1 << 20
)

// Run runs a unit of people until it is told to stop, or makes the tables and ends.
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
	return hosting.Run(channel, func(ctx context.Context) (hosting.Served, error) {
		if job.Unit == "" {
			var holder hosting.Unit // closes the stores
			all := func(string) bool { return true }
			_, err := openStores(ctx, &holder, design, database, all)
			return nil, errors.Join(err, holder.Close())
		}
		dir, err := unit.Dir()
		if err != nil {
			return nil, err
		}
		key, err := readKey(dir)
		if err != nil {
			return nil, err
		}
		return Open(ctx, design, job.Unit,
			Place{Database: database, Dir: dir, Key: key, Peer: unit.PeerAddress})
	})
}

// readKey reads the key that the deployer has put into the unit's folder.
func readKey(dir string) ([]byte, error) {
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

// Place holds the addresses and files that a unit needs.
type Place struct {
	Database string // address
	Dir      string // the unit's folder
	Key      []byte
	// Peer is the host:port of another unit, or of all its replicas.
	Peer func(unit string) (string, error)
}

// Unit is an open unit of people.
type Unit struct {
	hosting.Unit
	design  architecture.Design
	keepers map[people.Kind]peoplepb.Records
}

// Open returns the named unit of a design, with its stores open and its components ready to serve.
func Open(ctx context.Context, design architecture.Design, name string, place Place) (*Unit, error) {
	if _, err := design.Named(name); err != nil {
		return nil, err
	}
	u := &Unit{design: design, keepers: map[people.Kind]peoplepb.Records{}}
	var err error
	u.Unit, err = hosting.NewUnit(name, name, place.Dir, design.Settings, hosting.Calls{Binding: design.Calls,
		Connections: design.Pool, MaxMessage: maxMessage, ProblemOf: people.ProblemOf}, repeatable)
	if err != nil {
		return nil, err
	}
	u.Peer = place.Peer
	u.UnitOf = func(kind string) string { return design.Hosting(kind).Name }
	if err := u.join(ctx, place); err != nil {
		return nil, errors.Join(fmt.Errorf("unit %s: %w", name, err), u.Close())
	}
	return u, nil
}

// repeatable reports whether a call may be carried out twice: creating twice would store two records.
func repeatable(method string) bool { return method == peoplepb.Records_Fetch_FullMethodName }

// join opens the stores of the unit and makes its components. The gateway's unit also gets clients of the
// other units.
func (u *Unit) join(ctx context.Context, place Place) error {
	sealer, err := seal.New(u.design.Cipher, place.Key)
	if err != nil {
		return err
	}
	stores, err := openStores(ctx, &u.Unit, u.design, place.Database, u.Hosts)
	if err != nil {
		return err
	}
	served := records.Kinds{}
	for _, kind := range people.Kinds() {
		if u.Hosts(string(kind)) {
			u.keepers[kind], served[kind] = hosting.Followed(u, string(kind),
				records.New(kind, stores[kind], sealer), peoplepb.FollowRecords)
		} else if u.isFront() {
			u.keepers[kind] = peoplepb.CallRecords(u.Call(string(kind)))
		}
	}
	u.Offer(func(binding grpc.ServiceRegistrar) { peoplepb.OfferRecords(binding, served) })
	return u.Err()
}

// isFront reports whether the unit has the gateway.
func (u *Unit) isFront() bool { return u.design.IsFront(u.Name) }

// Serve answers the requests of clients, or of the gateway if the unit is behind it, until ctx ends. It
// returns once the requests in flight are answered.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	if !u.isFront() {
		return u.Unit.Serve(ctx, listener)
	}
	serve := gateway.Serve
	if u.design.Lean {
		serve = gateway.ServeLean
	}
	return serve(ctx, listener, gateway.Backend{
		Keepers: u.keepers, Healthy: u.Healthy, InFlight: u.design.InFlight, LogError: u.LogError, Log: u.Log,
		Spans: u.Spans})
}

// openStores opens the databases of the kinds that a unit hosts and makes missing tables. The unit closes
// them.
func openStores(
	ctx context.Context, u *hosting.Unit, design architecture.Design, address string, hosts func(string) bool,
) (map[people.Kind]*wide.Store, error) {
	opened := map[people.Kind]*wide.Store{}
	byName := map[string]*wide.Store{}
	for _, kind := range people.Kinds() {
		if !hosts(string(kind)) {
			continue
		}
		name := design.DatabaseOf(kind)
		if byName[name] == nil {
			store, err := wide.Open(ctx, address, wide.Options{Keyspace: name, Connections: design.Pool,
				InFlight: design.InFlight})
			if err != nil {
				return nil, err
			}
			byName[name] = store
			u.Keep(store)
		}
		opened[kind] = byName[name]
		if err := byName[name].CreateTables(ctx, records.Table(kind)); err != nil {
			return nil, err
		}
	}
	return opened, nil
}
