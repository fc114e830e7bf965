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

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/binding/spans"
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
	log := hosting.NewErrorLog(os.Stderr, settings.Unit)
	err = hosting.Run(channel, func(ctx context.Context) (hosting.Served, error) {
		return Open(ctx, settings, log.Error)
	})
	return errors.Join(err, log.Close())
}

// Unit is an open unit of the airline.
type Unit struct {
	kind    string
	store   store.Store
	parts   web.Parts
	clients []client
	grpc    bool
	// security is that of connections with other units; nil: they are not protected.
	security *secure.Transport
	guards   *resilient.Guards
	log      *requestlog.Log // of what the unit answers; nil: none
	spans    *spans.Provider // of requests that are traced; nil: none are
}

// client is a client of another unit.
type client interface {
	service.Sessions
	service.Credentials
	service.FlightFinder
	Close()
}

// Open returns a unit with its store open, its first data loaded, and clients of the units that it asks.
// logError receives failures of the airline itself.
func Open(ctx context.Context, s Settings, logError func(error)) (*Unit, error) {
	opened, err := openStore(ctx, s)
	if err != nil {
		return nil, err
	}
	u := &Unit{kind: s.Unit, store: opened, grpc: s.GRPC, security: s.Security,
		guards: hosting.Guards(s.Resilience, rpc.Problems(airline.ProblemOf), nil), // all calls only read
		log:    hosting.RequestLog(s.Logging, s.Unit), spans: hosting.Tracer(s.Spans),
		parts: web.Parts{ServesUnits: s.Unit != UnitMonolith, LogError: logError}}
	has := func(part string) bool { return s.Unit == part || s.Unit == UnitMonolith }
	if err := opened.Load(ctx, s.Data, has(UnitCustomers), has(UnitFlights)); err != nil {
		return nil, errors.Join(fmt.Errorf("load the data of the airline: %w", err), u.Close())
	}
	if has(UnitCustomers) {
		u.parts.Customers = &service.Customers{Store: opened}
	}
	if has(UnitFlights) {
		u.parts.Flights = &service.Flights{Store: opened}
	}
	if has(UnitAuth) {
		u.parts.Auth = &service.Auth{Store: opened, Credentials: u.parts.Customers,
			Lasts: time.Duration(s.SessionSeconds) * time.Second}
		u.parts.Sessions = u.parts.Auth
	}
	if has(UnitBookings) {
		u.parts.Bookings = &service.Bookings{Store: opened, Flights: u.parts.Flights}
	}
	if err := u.connect(s); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

// connect sets the parts that this unit does not host to clients of the units that host them.
func (u *Unit) connect(s Settings) error {
	for _, peer := range Asks(s.Unit, s.Key != nil) {
		secured := s.Security.Client(peer)
		var asked client
		var err error
		if s.GRPC {
			asked, err = calls.NewClient(s.Peers[peer], secured, u.guards)
		} else {
			asked = web.NewClient(s.Peers[peer], s.Pool, secured, u.guards.ForUnit())
		}
		if err != nil {
			return err
		}
		u.clients = append(u.clients, asked)
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
	answer := u.log.Handler(web.NewHandler(parts))
	customers, units := front.Traced(answer, u.spans, u.kind), front.Continued(answer, u.spans)
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
	greeting := ""
	switch {
	case !u.parts.ServesUnits:
	case u.security != nil:
		greeting = secure.Greeting
	case u.grpc:
		greeting = calls.Greeting
	}
	if greeting == "" {
		return web.Serve(ctx, listener, u.handler(u.parts))
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	ofUnits, others := accept.Fork(listener, greeting)
	served := make(chan error, 1)
	go func() {
		served <- u.serveUnits(ctx, u.security.Listener(ofUnits))
		end()
	}()
	public := u.parts
	public.ServesUnits = u.security == nil
	err := web.Serve(ctx, others, u.handler(public))
	end()
	return errors.Join(err, <-served)
}

// serveUnits answers other units.
func (u *Unit) serveUnits(ctx context.Context, listener net.Listener) error {
	if !u.grpc {
		return web.Serve(ctx, listener, u.handler(u.parts))
	}
	asked := calls.Parts{}
	if u.parts.Auth != nil { // an interface must not hold a nil pointer
		asked.Sessions = u.parts.Auth
	}
	if u.parts.Customers != nil {
		asked.Credentials = u.parts.Customers
	}
	if u.parts.Flights != nil {
		asked.Flights = u.parts.Flights
	}
	return rpc.Serve(ctx, listener, calls.NewServer(asked, u.parts.LogError, u.log, u.spans), drain)
}

// drain limits the time that calls in flight have to finish when the unit ends.
const drain = 5 * time.Second

// Report implements hosting.Served. It hands over the bookings, for the audit. All replicas have the same
// bookings, in their server: the first one, which has the name of the unit, hands them over.
func (u *Unit) Report(channel *unit.Channel) error {
	name, err := unit.Name()
	if err != nil {
		return err
	}
	if u.parts.Bookings != nil && name == u.kind {
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
	if err := hosting.HandOverSpans(channel, u.spans); err != nil {
		return err
	}
	return channel.Report(hosting.ReportOf(u.guards, u.spans))
}

func (u *Unit) writeBookings(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	err = u.parts.Bookings.Each(context.Background(), func(b airline.Booking) error { return encoder.Encode(b) })
	return errors.Join(err, file.Close())
}

// Close closes what the unit uses. It serves no more.
func (u *Unit) Close() error {
	for _, client := range u.clients {
		client.Close()
	}
	return u.store.Close()
}
