// Package calls carries the calls between units of the airline over gRPC, with grpc-go, instead of HTTP with
// JSON (web.Client). A unit answers calls at the same address as everything else: their connections begin
// with Greeting.
//
// Entry points: NewServer, NewClient.
package calls

import (
	"context"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/binding/grpcgo"
	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/api/airlinepb"
	"github.com/cleave-lab/cleave/systems/airline/service"
)

const (
	// Greeting begins every connection of HTTP/2, and no request of HTTP/1.
	Greeting = "PRI"
	// callTimeout limits the wait for the answer of another unit.
	callTimeout = 5 * time.Second
	// maxMessage is the longest request, in bytes.
	maxMessage = 16 << 10
)

// faults encodes the failures of calls. Refusals that belong to a call, such as an unknown token, are part of
// its answer instead.
type faults struct{}

// Encode implements rpc.Faults.
func (faults) Encode(err error) rpc.Fault { return airline.ProblemOf(err).Fault() }

// Decode implements rpc.Faults.
func (faults) Decode(fault rpc.Fault, cause error) error {
	switch fault.Kind {
	case rpc.Cancelled: // no failure of the other unit, which its breaker would count
		return &rpc.Problem{Kind: rpc.Cancelled, Detail: fault.Detail, Cause: cause}
	case rpc.Unavailable, rpc.DeadlineExceeded:
		return &rpc.Problem{Kind: rpc.Unavailable, Detail: "another part of the airline does not answer",
			Cause: cause}
	}
	return fmt.Errorf("another unit answers %s: %s", fault.Kind, fault.Detail)
}

// Parts are the components that other units call; nil if another unit hosts them.
type Parts struct {
	Sessions    service.Sessions
	Credentials service.Credentials
	Flights     service.FlightFinder
}

// NewServer returns a server for calls of other units. Failures of the airline itself are logged; so are all
// calls, if log is not nil. The tracer, if it is not nil, makes spans of calls whose callers are traced.
func NewServer(
	parts Parts, logError func(error), log *requestlog.Log, tracer *spans.Provider,
) *grpcgo.Server {
	options := []rpc.Option{rpc.LogErrors(logError)}
	if tracer != nil {
		options = append(options, rpc.Traced(tracer))
	}
	server := grpcgo.NewServer(maxMessage, faults{}, options...)
	s := log.Registrar(server, faults{})
	if parts.Sessions != nil {
		airlinepb.RegisterAuthServer(s, answers{Parts: parts})
	}
	if parts.Credentials != nil {
		airlinepb.RegisterCustomersServer(s, answers{Parts: parts})
	}
	if parts.Flights != nil {
		airlinepb.RegisterFlightsServer(s, answers{Parts: parts})
	}
	return server
}

// refused reports whether an error is a refusal of a kind.
func refused(err error, kind rpc.Kind) bool {
	return err != nil && airline.ProblemOf(err).Kind == kind
}

// answers answers the calls of other units.
type answers struct {
	airlinepb.UnimplementedAuthServer
	airlinepb.UnimplementedCustomersServer
	airlinepb.UnimplementedFlightsServer
	Parts
}

// FindSession implements airlinepb.AuthServer.
func (a answers) FindSession(
	ctx context.Context, r *airlinepb.FindSessionRequest,
) (*airlinepb.FindSessionResponse, error) {
	session, err := a.Sessions.Session(ctx, r.GetToken())
	if refused(err, airline.NoSession) {
		return &airlinepb.FindSessionResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &airlinepb.FindSessionResponse{Session: &airlinepb.Session{Login: session.Login,
		Expires: session.Expires.Format(time.RFC3339Nano)}}, nil
}

// CheckPassword implements airlinepb.CustomersServer.
func (a answers) CheckPassword(
	ctx context.Context, r *airlinepb.CheckPasswordRequest,
) (*airlinepb.CheckPasswordResponse, error) {
	err := a.Credentials.Check(ctx, r.GetLogin(), r.GetPassword())
	if err != nil && !refused(err, airline.WrongCredentials) {
		return nil, err
	}
	return &airlinepb.CheckPasswordResponse{Right: err == nil}, nil
}

// FindFlight implements airlinepb.FlightsServer.
func (a answers) FindFlight(
	ctx context.Context, r *airlinepb.FindFlightRequest,
) (*airlinepb.FindFlightResponse, error) {
	found, err := a.Flights.Flight(ctx, r.GetId())
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
