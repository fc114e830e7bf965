package airline

import (
	"errors"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// The kinds of problems. Beside them there are rpc.Internal, for failures of the airline itself, and
// rpc.Unavailable, where a part of it does not answer.
const (
	BadRequest       rpc.Kind = "bad-request"
	WrongCredentials rpc.Kind = "wrong-credentials"
	NoSession        rpc.Kind = "no-session"
	NotYours         rpc.Kind = "not-yours"
	UnknownPath      rpc.Kind = "unknown-path"
	UnknownAirport   rpc.Kind = "unknown-airport"
	UnknownFlight    rpc.Kind = "unknown-flight"
	UnknownBooking   rpc.Kind = "unknown-booking"
	WrongMethod      rpc.Kind = "wrong-method"
	AlreadyBooked    rpc.Kind = "already-booked"
	TooLarge         rpc.Kind = "too-large"
)

// ProblemOf returns an error as a problem: itself if it is one, else an internal one whose detail reveals no
// internals.
func ProblemOf(err error) *rpc.Problem {
	var problem *rpc.Problem
	if errors.As(err, &problem) {
		return problem
	}
	return &rpc.Problem{Kind: rpc.Internal, Detail: "see the log of the airline", Cause: err}
}
