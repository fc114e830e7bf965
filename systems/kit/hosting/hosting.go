// Package hosting is what a unit of a system does besides its business: it hosts components and
// offers them to other units, calls those that others host, serves until it is told to stop, and
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
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/unit"
)

// Host is a unit for which components are joined.
type Host interface {
	// Hosts reports whether the unit hosts a component.
	Hosts(component string) bool
	// Call reaches the unit that hosts a component.
	Call(component string) grpc.ClientConnInterface
	// Offer has the unit serve a component to others.
	Offer(register func(grpc.ServiceRegistrar))
	// Traced reports whether the unit makes spans.
	Traced() bool
}

// Join returns a component as a unit sees it. A unit that hosts it makes it and offers it to other units; any
// other unit gets a client. If the unit makes spans, those of calls name the component.
func Join[C any](
	h Host, component string, here func() C, offer func(grpc.ServiceRegistrar, C),
	call func(grpc.ClientConnInterface) C, follow func(C, Begin) C,
) C {
	if !h.Hosts(component) {
		return call(h.Call(component))
	}
	called, served := Followed(h, component, here(), follow)
	h.Offer(func(binding grpc.ServiceRegistrar) { offer(binding, served) })
	return called
}

// Unit is one process of a system.
type Unit struct {
	Name  string
	Calls Calls
	// UnitOf returns the unit that hosts a component.
	UnitOf func(component string) string
	// Peer returns the host:port of another unit, or of all its replicas (see rpc.Spread).
	Peer func(unit string) (addresses string, err error)
	Log  *requestlog.Log // of what the unit answers; nil: none
	// LogError receives the errors inside of the unit; nil: nobody does.
	LogError func(error)
	// Spans makes the spans of requests that are traced; nil: none are.
	Spans *spans.Provider

	clients map[string]rpc.Client // by unit
	offers  []func(grpc.ServiceRegistrar)
	opened  []io.Closer
	err     error
}

var _ Host = (*Unit)(nil)

// NewUnit returns a unit with these calls, to which the settings add an encoding, protection, guards and a
// balancing; they also choose its log and its spans. dir is its folder, which holds the identity of its role
// if calls are protected. Repeatable reports whether a method may be carried out twice; nil: all may.
func NewUnit(
	name, role, dir string, s kit.Settings, calls Calls, repeatable func(method string) bool,
) (u Unit, err error) {
	if calls.Security, err = Security(s.Security, dir, role); err != nil {
		return u, fmt.Errorf("unit %s: %w", name, err)
	}
	calls.Encoding, calls.Balancing = Encoding(s.Encoding), Balancing(s.Balancing)
	calls.Guards = Guards(s.Resilience, calls.Faults, repeatable)
	u = Unit{Name: name, Calls: calls, Log: RequestLog(s.Logging, name), Spans: Tracer(s.Spans)}
	u.LogErrors()
	return u, nil
}

// RequestLog returns the log of a unit for a value of kit.KnobLogging; nil if requests have no lines. Its
// lines go to standard error, which deployers keep.
func RequestLog(logging, unit string) *requestlog.Log {
	if logging != kit.LogRequests {
		return nil
	}
	return requestlog.New(os.Stderr, unit)
}

// Hosts implements Host.
func (u *Unit) Hosts(component string) bool { return u.UnitOf(component) == u.Name }

// Call implements Host. Err returns why it failed.
func (u *Unit) Call(component string) grpc.ClientConnInterface {
	client, err := u.Client(u.UnitOf(component))
	u.err = errors.Join(u.err, err)
	return client
}

// Err returns what has failed in Call.
func (u *Unit) Err() error { return u.err }

// Offer implements Host.
func (u *Unit) Offer(register func(grpc.ServiceRegistrar)) { u.offers = append(u.offers, register) }

// Traced implements Host.
func (u *Unit) Traced() bool { return u.Spans != nil }

// Client returns the client of another unit, always the same. It dials when it is first used.
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

// Keep has Close close what the unit has opened.
func (u *Unit) Keep(opened io.Closer) { u.opened = append(u.opened, opened) }

// Healthy returns nil if every unit that this one calls accepts connections: a unit opens what it needs
// before it listens.
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

// drain is how long calls in flight have when a unit ends.
const drain = 10 * time.Second

// Serve answers the calls of other units until ctx ends, and then those that are under way.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	options := []rpc.Option{rpc.LogErrors(u.LogError)}
	if u.Spans != nil {
		options = append(options, rpc.Traced(u.Spans))
	}
	server, err := u.Calls.NewServer(options...)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	for _, register := range u.offers {
		register(u.Log.Registrar(server, u.Calls.Faults))
	}
	return rpc.Serve(ctx, u.Calls.Security.Listener(listener), server, drain)
}

// ServeBeside is Serve at an address where clients serves clients, too: the first bytes of a connection tell
// units from clients.
func (u *Unit) ServeBeside(ctx context.Context, listener net.Listener,
	clients func(context.Context, net.Listener) error,
) error {
	ofClients, endClients := context.WithCancel(ctx)
	defer endClients()
	// What clients still wait for may call back: calls are answered for as long as they are served.
	ofCalls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	calls, others := accept.Fork(listener, u.Calls.greeting())
	served := make(chan error, 1)
	go func() {
		served <- u.Serve(ofCalls, calls)
		endClients() // the listener serves both or none
	}()
	err := clients(ofClients, others)
	endCalls()
	return errors.Join(err, <-served)
}

// Close closes what the unit has opened, the last first. It is called when the unit no longer serves.
func (u *Unit) Close() error {
	var errs []error
	for _, opened := range slices.Backward(u.opened) {
		errs = append(errs, opened.Close())
	}
	return errors.Join(errs...)
}

// Served is a unit that is open.
type Served interface {
	Serve(ctx context.Context, listener net.Listener) error
	Close() error
}

// Run opens a unit, which serves until it is told to stop (by command, by SIGTERM, or because the conductor
// is gone) and then reports. If open returns no unit, open has done all the work.
func Run(
	channel *unit.Channel, open func(context.Context) (Served, error), report func(*unit.Channel) error,
) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	u, err := open(ctx)
	if err != nil || u == nil {
		return err
	}
	address, err := unit.Address()
	if err == nil {
		err = channel.Serve(ctx, stop, address, u.Serve, report)
	}
	return errors.Join(err, u.Close())
}
