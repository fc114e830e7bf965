package calls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/api/airlinepb"
	"github.com/cleave-lab/cleave/systems/airline/service"
)

// Client asks another unit.
type Client struct {
	auth      airlinepb.AuthClient
	customers airlinepb.CustomersClient
	flights   airlinepb.FlightsClient
}

// NewClient returns a client of the unit at the other end of a connection.
func NewClient(unit grpc.ClientConnInterface) *Client {
	unit = converting{unit}
	return &Client{airlinepb.NewAuthClient(unit), airlinepb.NewCustomersClient(unit),
		airlinepb.NewFlightsClient(unit)}
}

// converting is a connection whose errors mean the same to the airline as those of its own components.
type converting struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (c converting) Invoke(
	ctx context.Context, method string, in, out any, options ...grpc.CallOption,
) error {
	err := c.ClientConnInterface.Invoke(ctx, method, in, out, options...)
	problem, is := errors.AsType[*rpc.Problem](err)
	switch {
	case !is:
		return err
	case problem.Kind == rpc.Cancelled: // no failure of the other unit
		return problem
	case problem.Kind == rpc.Unavailable, problem.Kind == rpc.DeadlineExceeded:
		return &rpc.Problem{Kind: rpc.Unavailable, Detail: "another part of the airline does not answer",
			Cause: problem.Cause}
	}
	return fmt.Errorf("another unit answers %s: %s", problem.Kind, problem.Detail)
}

// Session implements service.Sessions.
func (c *Client) Session(ctx context.Context, token string) (airline.Session, error) {
	noSession := rpc.Problemf(airline.NoSession, "log in first")
	if !service.IsID(token) {
		return airline.Session{}, noSession
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := c.auth.FindSession(ctx, &airlinepb.FindSessionRequest{Token: token})
	if err != nil {
		return airline.Session{}, err
	}
	if answer.GetSession() == nil {
		return airline.Session{}, noSession
	}
	expires, err := time.Parse(time.RFC3339, answer.GetSession().GetExpires())
	if err != nil {
		return airline.Session{}, fmt.Errorf("read the session that another unit answers: %w", err)
	}
	return airline.Session{Login: answer.GetSession().GetLogin(), Expires: expires}, nil
}

// Check implements service.Credentials.
func (c *Client) Check(ctx context.Context, login, password string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := c.customers.CheckPassword(ctx,
		&airlinepb.CheckPasswordRequest{Login: login, Password: password})
	if err == nil && !answer.GetRight() {
		return rpc.Problemf(airline.WrongCredentials, "no customer has this login and password")
	}
	return err
}

// Flight implements service.FlightFinder.
func (c *Client) Flight(ctx context.Context, id string) (airline.Flight, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := c.flights.FindFlight(ctx, &airlinepb.FindFlightRequest{Id: id})
	if err != nil {
		return airline.Flight{}, err
	}
	found := answer.GetFlight()
	if found == nil {
		return airline.Flight{}, rpc.Problemf(airline.UnknownFlight, "there is no flight %q", id)
	}
	departs, err := time.Parse(time.RFC3339, found.GetDeparts())
	if err != nil {
		return airline.Flight{}, fmt.Errorf("read the flight that another unit answers: %w", err)
	}
	return airline.Flight{ID: found.GetId(), From: found.GetFrom(), To: found.GetTo(), Departs: departs,
		Minutes: int(found.GetMinutes()), Price: int(found.GetPrice())}, nil
}
