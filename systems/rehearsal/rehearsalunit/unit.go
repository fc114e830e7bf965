// Package rehearsalunit is the rehearsal's part of the unit program: it plays the components of a model that
// share a unit, or a store.
//
// Entry points: Run for the unit program; Open for programs that serve units themselves, such as tests.
package rehearsalunit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// requestTimeout is the deadline of every request.
	requestTimeout = 60 * time.Second
	// maxMessage is the size limit of messages, in bytes.
	maxMessage = 4 << 20
)

// Run runs a unit of a rehearsal until it is told to stop.
func Run(channel *unit.Channel, argument string) error {
	var job rehearsal.Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	dir, err := unit.Dir()
	if err != nil {
		return err
	}
	replica, err := unit.Name()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, rehearsal.ModelFile))
	if err != nil {
		return fmt.Errorf("read the model: %w", err)
	}
	m, err := model.Parse(rehearsal.ModelFile, text)
	if err != nil {
		return err
	}
	design, err := rehearsal.New(m, job.Architecture, job.Knobs)
	if err != nil {
		return err
	}
	return hosting.Run(channel, func(ctx context.Context) (hosting.Served, error) {
		return Open(ctx, design, job.Unit, Place{Dir: dir, Replica: replica, Peer: unit.PeerAddress,
			Pause: time.Duration(job.Pause * float64(time.Second))})
	})
}

// Place holds the folder and the peers of a unit, and the pace of its load.
type Place struct {
	Dir     string // its own folder
	Replica string // the name of this replica of the unit, such as front-2; the first has that of the unit
	// Peer returns the host:port of another unit, or those of all its replicas (see rpc.Spread).
	Peer func(unit string) (string, error)
	// Pause is the time between two operations of the load. Probes are as far apart, up to maxPause.
	Pause time.Duration
}

// Unit is an open unit of a design.
type Unit struct {
	hosting.Unit
	design     *rehearsal.Design
	index      int                       // of the unit in the design
	calls      []*preparedCall           // all calls of the design, by their numbers
	parts      map[int]rehearsalpb.Part  // the units that it calls, by their index
	replicas   []replica                 // of all units, for the front to ask whether they are settled
	stores     map[string]*embeddedStore // embedded stores, by their name
	workers    chan struct{}             // has an entry for each call that is being played; nil: no limit
	counts     *counts
	burner     *burner
	sleeper    *sleeper
	background atomic.Int64  // the number of functions that run in the background
	pause      time.Duration // between two probes
	probesEach int           // measured probes of each operation or call by another unit (see calibrate)
	probing    bool          // calibrate is running: calls are probes

	storeCPU, storeWait time.Duration // CPU time and duration of a call to a store that is a unit
}

// Open opens the files and stores of a unit and connects it to its peers. The unit does not serve yet.
func Open(ctx context.Context, design *rehearsal.Design, name string, place Place) (*Unit, error) {
	index := design.Index(name)
	if index < 0 {
		return nil, fmt.Errorf("the design has no unit %q", name)
	}
	u := &Unit{design: design, index: index, parts: map[int]rehearsalpb.Part{},
		stores: map[string]*embeddedStore{}, burner: newBurner(), sleeper: &sleeper{},
		pause: min(place.Pause, maxPause),
		Unit: hosting.Unit{Name: name, Peer: place.Peer, Calls: hosting.Calls{Binding: design.Binding,
			Connections: design.Pool, MaxMessage: maxMessage, ProblemOf: problemOf}}}
	u.LogErrors()
	if err := u.join(ctx, place); err != nil {
		return nil, errors.Join(fmt.Errorf("unit %s: %w", name, err), u.Close())
	}
	return u, nil
}

// problemOf returns any error as a problem; see rpc.ProblemOf.
func problemOf(err error) *rpc.Problem {
	return rpc.ProblemOf(err, "a store does not answer; try again", "this could not be played")
}

// join opens the unit's files and stores, prepares the calls, and makes clients of the other units.
func (u *Unit) join(ctx context.Context, place Place) error {
	var err error
	if u.counts, err = openCounts(place.Dir, len(u.design.Calls)); err != nil {
		return err
	}
	u.Keep(u.counts)
	u.Keep(u.sleeper)
	if workers := u.design.Units[u.index].Workers; workers > 0 {
		u.workers = make(chan struct{}, workers)
	}
	for i, s := range u.design.Model.Stores {
		if s.Server {
			continue
		}
		u.stores[s.Name], err = openStore(ctx, place.Dir, fmt.Sprintf("store-%d", i), s.Workers,
			u.design.CommitsTo(u.index, s.Name), u.sleeper)
		if err != nil {
			return err
		}
		u.Keep(u.stores[s.Name])
	}
	for _, c := range u.design.Calls {
		u.calls = append(u.calls, u.prepare(c))
	}
	for i, other := range u.design.Units {
		if !u.design.CallsUnit(u.index, i) {
			continue
		}
		client, err := u.Client(other.Name)
		if err != nil {
			return err
		}
		u.parts[i] = rehearsalpb.CallPart(client)
	}
	u.Offer(func(binding grpc.ServiceRegistrar) { rehearsalpb.OfferPart(binding, u) })
	if u.index == u.design.Front() {
		return u.connectReplicas(place.Replica)
	}
	return nil
}

// Serve measures the program's own CPU time, and then answers other units and, if it is the front, clients,
// until ctx ends. Then it finishes the requests in flight and the work in the background.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	if err := u.calibrate(ctx); err != nil {
		return errors.Join(fmt.Errorf("unit %s: measure its own CPU time: %w", u.Name, err), listener.Close())
	}
	err := u.serve(ctx, listener)
	u.finish()
	return err
}

// serve answers until ctx ends. The front has one address for clients and other units, among them its own
// replicas.
func (u *Unit) serve(ctx context.Context, listener net.Listener) error {
	clients := func(ctx context.Context, listener net.Listener) error {
		return unit.ServeFront(ctx, listener, u.front(u.enter), requestTimeout)
	}
	switch {
	case u.index != u.design.Front():
		return u.Unit.Serve(ctx, listener)
	case u.design.IsCalled(u.index) || u.isReplicated():
		return u.ServeBeside(ctx, listener, u.Unit.Serve, clients)
	}
	return clients(ctx, listener)
}

// logIf logs an error, unless it is nil or a cancellation.
func (u *Unit) logIf(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		u.LogError(err)
	}
}

// Settle implements rehearsalpb.Part: it finishes the work in the background and returns the number of
// calls served so far.
func (u *Unit) Settle(context.Context, *rehearsalpb.SettleRequest) (*rehearsalpb.SettleResponse, error) {
	u.finish()
	return &rehearsalpb.SettleResponse{Served: u.counts.served()}, nil
}

// Report implements hosting.Served: it sends the Account.
func (u *Unit) Report(channel *unit.Channel) error { return channel.Report(u.Account()) }

// Account returns the report of the unit.
func (u *Unit) Account() rehearsal.Account {
	return rehearsal.Account{Calls: u.counts.tallies(),
		Demanded:     time.Duration(u.counts.demanded().Load()).Seconds(),
		SampledAsked: time.Duration(u.burner.asked.Load()).Seconds(),
		SampledTook:  time.Duration(u.burner.took.Load()).Seconds()}
}
