// Package hosting runs a unit of a system around its business code: it hosts components and
// offers them to other units, calls the components of others, serves until it is told to stop, and
// closes what it has opened. It knows no system and no deployment.
//
// Entry points: Run for a unit program; Unit, and Join for each component.
package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/unit"
)

// Host is a unit as Join sees it.
type Host interface {
	// Hosts reports whether the unit hosts a component.
	Hosts(component string) bool
	// Call returns a connection to the unit that hosts a component.
	Call(component string) grpc.ClientConnInterface
	// Offer makes the unit serve a component to others: register adds it to a server.
	Offer(register func(grpc.ServiceRegistrar))
	// Traced reports whether the unit makes spans.
	Traced() bool
}

// Join returns a component for use in a unit. If the unit hosts the component, build makes it and offer adds
// it to the unit's server; otherwise call makes a client. If the unit makes spans, follow wraps the component
// so that the spans of its calls name it.
func Join[C any](
	h Host, component string, build func() C, offer func(grpc.ServiceRegistrar, C),
	call func(grpc.ClientConnInterface) C, follow func(C, Begin) C,
) C {
	if !h.Hosts(component) {
		return call(h.Call(component))
	}
	called, served := Followed(h, component, build(), follow)
	h.Offer(func(binding grpc.ServiceRegistrar) { offer(binding, served) })
	return called
}

// Unit is one process of a system.
type Unit struct {
	Name  string
	Calls Calls // how units call each other
	// UnitOf returns the unit that hosts a component.
	UnitOf func(component string) string
	// Peer returns the host:port of another unit, or of all its replicas (see rpc.Spread).
	Peer func(unit string) (addresses string, err error)
	Log  *requestlog.Log // has a line for every answer of the unit; nil: none
	// LogError receives internal errors of the unit; nil: they are dropped.
	LogError func(error)
	// Spans makes the spans of traced requests; nil: no request is traced.
	Spans *spans.Provider

	clients map[string]rpc.Client // by unit
	offers  []func(grpc.ServiceRegistrar)
	opened  []io.Closer
	err     error // of Call
}

var _ Host = (*Unit)(nil)

// NewUnit returns a unit. The settings complete its calls with encoding, security, guards and balancing, and
// choose its log and spans. dir is the unit's folder, which has the identity of its role if calls are
// protected. repeatable reports whether a failed call of a method may be retried; nil: all may. The caller
// sets UnitOf and Peer before the first Join.
func NewUnit(
	name, role, dir string, s kit.Settings, calls Calls, repeatable func(method string) bool,
) (u Unit, err error) {
	if calls.Security, err = Security(s.Security, dir, role); err != nil {
		return u, fmt.Errorf("unit %s: %w", name, err)
	}
	calls.Encoding = Encoding(s.Encoding)
	calls.Balancing = Balancing(s.Balancing)
	guards := guardSettings(s.Resilience)
	guards.Repeatable = repeatable
	calls.Guards = resilient.New(guards)
	u = Unit{Name: name, Calls: calls}
	if s.Logging == kit.LogRequests {
		u.Log = requestlog.New(os.Stderr, name) // which deployers keep
	}
	if s.Spans > 0 {
		u.Spans = spans.NewProvider(s.Spans)
	}
	u.LogErrors()
	return u, nil
}

// Hosts implements Host.
func (u *Unit) Hosts(component string) bool { return u.UnitOf(component) == u.Name }

// Call implements Host. If it fails, Err returns why.
func (u *Unit) Call(component string) grpc.ClientConnInterface {
	client, err := u.Client(u.UnitOf(component))
	u.err = errors.Join(u.err, err)
	return client
}

// Err returns the errors of all calls of Call.
func (u *Unit) Err() error { return u.err }

// Offer implements Host.
func (u *Unit) Offer(register func(grpc.ServiceRegistrar)) { u.offers = append(u.offers, register) }

// Traced implements Host.
func (u *Unit) Traced() bool { return u.Spans != nil }

// Client returns the client of another unit. There is one per unit; it dials when it is first used.
func (u *Unit) Client(name string) (rpc.Client, error) {
	if known := u.clients[name]; known != nil {
		return known, nil
	}
	addresses, err := u.Peer(name)
	if err != nil {
		return nil, err
	}
	client, err := rpc.Spread(addresses, u.Calls.Balancing, func(address string) (rpc.Client, error) {
		return u.Calls.NewClient(name, address)
	})
	if err != nil {
		return nil, err
	}
	client = u.Calls.Guards.Guard(client)
	if u.clients == nil {
		u.clients = map[string]rpc.Client{}
	}
	u.clients[name] = client
	u.Keep(client)
	return client, nil
}

// Keep makes Close close something that the unit has opened.
func (u *Unit) Keep(opened io.Closer) { u.opened = append(u.opened, opened) }

// Healthy returns nil if every unit that this one calls accepts connections. That is enough: a unit opens
// everything it needs before it listens.
func (u *Unit) Healthy(ctx context.Context) error {
	for name := range u.clients {
		addresses, err := u.Peer(name)
		if err != nil {
			return err
		}
		if err := rpc.Reachable(ctx, addresses); err != nil {
			return err
		}
	}
	return nil
}

// drain is the time that calls in flight have to finish when a unit stops.
const drain = 10 * time.Second

// Serve answers the calls of other units until ctx ends. Then it finishes those in flight.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	serving := rpc.Serving{LogError: u.LogError}
	if u.Spans != nil {
		serving.Tracer = u.Spans
	}
	if u.Log != nil {
		serving.LogCall = u.Log.Call
	}
	server, err := u.Calls.NewServer(serving)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	for _, register := range u.offers {
		register(server)
	}
	return rpc.Serve(ctx, u.Calls.Security.Listener(listener), server, drain)
}

// ServeBeside serves units, usually by Unit.Serve, and clients on one listener, by functions that serve until
// their context ends. The first bytes of a connection tell units from clients.
func (u *Unit) ServeBeside(
	ctx context.Context, listener net.Listener, units, clients func(context.Context, net.Listener) error,
) error {
	serveClients, endClients := context.WithCancel(ctx)
	defer endClients()
	// Requests of clients in flight may cause calls back to this unit: serve units until clients are finished.
	serveUnits, endUnits := context.WithCancel(context.WithoutCancel(ctx))
	defer endUnits()
	calls, others := accept.Fork(listener, u.Calls.greeting())
	served := make(chan error, 1)
	go func() {
		served <- units(serveUnits, calls)
		endClients() // if units cannot be served any more, clients are not served either
	}()
	err := clients(serveClients, others)
	endUnits()
	return errors.Join(err, <-served)
}

// Close closes what the unit has opened, the last first. The unit must have stopped serving.
func (u *Unit) Close() error {
	var errs []error
	for _, opened := range slices.Backward(u.opened) {
		errs = append(errs, opened.Close())
	}
	return errors.Join(errs...)
}

// Served is an open unit.
type Served interface {
	Serve(ctx context.Context, listener net.Listener) error
	// Report hands over what the unit leaves behind and sends its report.
	Report(channel *unit.Channel) error
	Close() error
}

// Run opens a unit and serves until it is to stop: by command, after which it calls Report, by SIGTERM, or
// because the conductor is gone. If open returns a nil unit, it has done all the work itself: Run neither
// serves nor reports.
func Run(channel *unit.Channel, open func(context.Context) (Served, error)) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	u, err := open(ctx)
	if err != nil || u == nil {
		return err
	}
	address, err := unit.Address()
	if err == nil {
		err = channel.Serve(ctx, stop, address, u.Serve, u.Report)
	}
	return errors.Join(err, u.Close())
}
