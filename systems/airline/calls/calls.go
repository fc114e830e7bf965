// Package calls carries the calls between units of the airline over gRPC, with grpc-go, instead of HTTP with
// JSON (web.Client).
//
// Entry points: OfferAuth, OfferCustomers, OfferFlights, NewClient.
package calls

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/api/airlinepb"
	"github.com/cleave-lab/cleave/systems/airline/service"
)

const (
	// callTimeout limits the wait for the answer of another unit.
	callTimeout = 5 * time.Second
	// MaxMessage is the longest request, in bytes.
	MaxMessage = 16 << 10
)

// refused reports whether an error is a refusal of a kind.
func refused(err error, kind rpc.Kind) bool {
	return err != nil && airline.ProblemOf(err).Kind == kind
}

// auth answers calls about sessions.
type auth struct {
	airlinepb.UnimplementedAuthServer
	service.Sessions
}

// OfferAuth makes a server answer calls about sessions.
func OfferAuth(server grpc.ServiceRegistrar, sessions service.Sessions) {
	airlinepb.RegisterAuthServer(server, auth{Sessions: sessions})
}

// FindSession implements airlinepb.AuthServer.
func (a auth) FindSession(
	ctx context.Context, r *airlinepb.FindSessionRequest,
) (*airlinepb.FindSessionResponse, error) {
	session, err := a.Session(ctx, r.GetToken())
	if refused(err, airline.NoSession) {
		return &airlinepb.FindSessionResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &airlinepb.FindSessionResponse{Session: &airlinepb.Session{Login: session.Login,
		Expires: session.Expires.Format(time.RFC3339Nano)}}, nil
}

// customers answers calls about passwords.
type customers struct {
	airlinepb.UnimplementedCustomersServer
	service.Credentials
}

// OfferCustomers makes a server answer calls about passwords.
func OfferCustomers(server grpc.ServiceRegistrar, credentials service.Credentials) {
	airlinepb.RegisterCustomersServer(server, customers{Credentials: credentials})
}

// CheckPassword implements airlinepb.CustomersServer.
func (c customers) CheckPassword(
	ctx context.Context, r *airlinepb.CheckPasswordRequest,
) (*airlinepb.CheckPasswordResponse, error) {
	err := c.Check(ctx, r.GetLogin(), r.GetPassword())
	if err != nil && !refused(err, airline.WrongCredentials) {
		return nil, err
	}
	return &airlinepb.CheckPasswordResponse{Right: err == nil}, nil
}

// flights answers calls about flights.
type flights struct {
	airlinepb.UnimplementedFlightsServer
	service.FlightFinder
}

// OfferFlights makes a server answer calls about flights.
func OfferFlights(server grpc.ServiceRegistrar, finder service.FlightFinder) {
	airlinepb.RegisterFlightsServer(server, flights{FlightFinder: finder})
}

// FindFlight implements airlinepb.FlightsServer.
func (f flights) FindFlight(
	ctx context.Context, r *airlinepb.FindFlightRequest,
) (*airlinepb.FindFlightResponse, error) {
	found, err := f.Flight(ctx, r.GetId())
	if refused(err, airline.UnknownFlight) {
		return &airlinepb.FindFlightResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &airlinepb.FindFlightResponse{Flight: &airlinepb.Flight{
		Id: found.ID, From: found.From, To: found.To, Departs: found.Departs.Format(time.RFC3339),
		Minutes: int32(found.Minutes), Price: int32(found.Price), // both are small by the rule of the data
	}}, nil
}
