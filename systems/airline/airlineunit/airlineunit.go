// Package airlineunit is the airline's part of the unit program: it connects the components of a unit to its
// store, to the units that it asks, and to the channel to the conductor. The settings of a unit are in its
// environment, as those of units in other languages are.
//
// Entry points: Run for the unit program; Read and Open for tests that start units themselves.
package airlineunit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/calls"
	"github.com/cleave-lab/cleave/systems/airline/service"
	"github.com/cleave-lab/cleave/systems/airline/store"
	"github.com/cleave-lab/cleave/systems/airline/web"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/unit"
)

// BookingsFile is the file that a unit with bookings hands over in the end: one booking
// a line, as JSON.
const BookingsFile = "bookings.jsonl"

// Run runs a unit of the airline until it is told to stop: by command, by SIGTERM, or
// because the conductor is gone. The environment has its settings; the job is empty.
func Run(channel *unit.Channel, _ string) error {
	settings, err := Read(os.Getenv)
	if err != nil {
		return err
	}
	open := func(ctx context.Context) (hosting.Served, error) { return Open(ctx, settings) }
	return hosting.Run(channel, open)
}

// Unit is an open unit of the airline.
type Unit struct {
	hosting.Unit
	parts web.Parts
}

// Open returns a unit with its store open, its first data loaded, and clients of the units that it asks.
func Open(ctx context.Context, s Settings) (*Unit, error) {
	u := &Unit{parts: web.Parts{ServesUnits: s.Unit != UnitMonolith}}
	binding := hosting.HTTP // of package web
	if s.GRPC {
		binding = hosting.GRPC
	}
	var err error
	u.Unit, err = hosting.NewUnit(s.Unit, s.Unit, s.Dir, s.Settings,
		hosting.Calls{Binding: binding, MaxMessage: calls.MaxMessage, ProblemOf: airline.ProblemOf},
		nil) // calls only read
	if err != nil {
		return nil, err
	}
	u.Peer = func(unit string) (string, error) { return s.Peers[unit], nil }
	if err := u.open(ctx, s); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

// open opens the store, loads the first data, and makes the parts of the unit and clients of others.
func (u *Unit) open(ctx context.Context, s Settings) error {
	opened, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	u.Keep(opened)
	has := func(part string) bool { return s.Unit == part || s.Unit == UnitMonolith }
	if err := opened.Load(ctx, s.Data, has(UnitCustomers), has(UnitFlights)); err != nil {
		return fmt.Errorf("load the data of the airline: %w", err)
	}
	if has(UnitCustomers) {
		u.parts.Customers = &service.Customers{Store: opened}
		u.Offer(func(server grpc.ServiceRegistrar) { calls.OfferCustomers(server, u.parts.Customers) })
	}
	if has(UnitFlights) {
		u.parts.Flights = &service.Flights{Store: opened}
		u.Offer(func(server grpc.ServiceRegistrar) { calls.OfferFlights(server, u.parts.Flights) })
	}
	if has(UnitAuth) {
		u.parts.Auth = &service.Auth{Store: opened, Credentials: u.parts.Customers,
			Lasts: time.Duration(s.SessionSeconds) * time.Second}
		u.parts.Sessions = u.parts.Auth
		u.Offer(func(server grpc.ServiceRegistrar) { calls.OfferAuth(server, u.parts.Auth) })
	}
	if has(UnitBookings) {
		u.parts.Bookings = &service.Bookings{Store: opened, Flights: u.parts.Flights}
	}
	return u.connect(s)
}

// client is a client of another unit.
type client interface {
	service.Sessions
	service.Credentials
	service.FlightFinder
}

// connect sets the parts that this unit does not host to clients of the units that host them.
func (u *Unit) connect(s Settings) error {
	for _, peer := range Asks(s.Unit, s.Key != nil) {
		var asked client
		if s.GRPC {
			connection, err := u.Client(peer)
			if err != nil {
				return err
			}
			asked = calls.NewClient(connection)
		} else {
			overHTTP := web.NewClient(s.Peers[peer], s.Pool, u.Calls.Security.Client(peer), u.Calls.Guards.ForUnit())
			u.Keep(overHTTP)
			asked = overHTTP
		}
		switch peer {
		case UnitAuth:
			u.parts.Sessions = asked
		case UnitCustomers:
			u.parts.Auth.Credentials = asked
		case UnitFlights:
			u.parts.Bookings.Flights = asked
		}
	}
	if s.Key == nil {
		return nil
	}
	signer := service.NewSigner(s.Key)
	u.parts.Sessions = signer
	if u.parts.Auth != nil {
		u.parts.Auth.Signer = signer
	}
	return nil
}

// openStore opens the store that the settings name.
func openStore(ctx context.Context, s Settings) (store.Store, error) {
	if s.Database != "" {
		return store.OpenMongo(ctx, s.Database)
	}
	return store.OpenEmbedded(s.Folder)
}

// handler returns the handler of the parts' operations over HTTP, which also logs and traces requests.
func (u *Unit) handler(parts web.Parts) http.Handler {
	parts.LogError = u.LogError
	answer := u.Log.Handler(web.NewHandler(parts))
	customers := front.Traced(answer, u.Spans, u.Name)
	units := front.Continued(answer, u.Spans)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, web.Internal) {
			units.ServeHTTP(w, r)
			return
		}
		customers.ServeHTTP(w, r)
	})
}

// Serve answers requests until ctx ends, and returns when those in flight are answered. If units call each
// other over gRPC or TLS, the first bytes of a connection distinguish units from customers.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	overHTTP, secured := u.Calls.Binding == hosting.HTTP, u.Calls.Security != nil
	isPlain := overHTTP && !secured
	if isPlain || !u.parts.ServesUnits {
		return web.Serve(ctx, listener, u.handler(u.parts))
	}
	units := u.Unit.Serve
	if overHTTP {
		units = func(ctx context.Context, listener net.Listener) error {
			return web.Serve(ctx, u.Calls.Security.Listener(listener), u.handler(u.parts))
		}
	}
	public := u.parts
	public.ServesUnits = !secured
	return u.ServeBeside(ctx, listener, units, func(ctx context.Context, listener net.Listener) error {
		return web.Serve(ctx, listener, u.handler(public))
	})
}

// Report implements hosting.Served. It hands over the bookings, for the audit. All replicas have the same
// bookings, in their server: the first one, which has the name of the unit, hands them over.
func (u *Unit) Report(channel *unit.Channel) error {
	name, err := unit.Name()
	if err != nil {
		return err
	}
	if u.parts.Bookings != nil && name == u.Name {
		dir, err := unit.Dir()
		if err != nil {
			return err
		}
		path := filepath.Join(dir, BookingsFile)
		if err := u.writeBookings(path); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		if err := channel.HandOver(path); err != nil {
			return err
		}
	}
	return u.Unit.Report(channel)
}

func (u *Unit) writeBookings(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	write := func(b airline.Booking) error { return encoder.Encode(b) }
	err = u.parts.Bookings.Each(context.Background(), write)
	return errors.Join(err, file.Close())
}
