package airline

import (
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// ProblemKind says why something is refused.
type ProblemKind = rpc.Kind

// The kinds of problems.
const (
	BadRequest       ProblemKind = "bad-request"
	WrongCredentials ProblemKind = "wrong-credentials"
	NoSession        ProblemKind = "no-session"
	NotYours         ProblemKind = "not-yours"
	UnknownPath      ProblemKind = "unknown-path"
	UnknownAirport   ProblemKind = "unknown-airport"
	UnknownFlight    ProblemKind = "unknown-flight"
	UnknownBooking   ProblemKind = "unknown-booking"
	WrongMethod      ProblemKind = "wrong-method"
	AlreadyBooked    ProblemKind = "already-booked"
	TooLarge         ProblemKind = "too-large"
	Unavailable      ProblemKind = "unavailable"
	Internal         ProblemKind = "internal"
)

// Problem is a refusal, or a failure that was understood.
type Problem = rpc.Problem

// Problemf makes a problem without a cause.
func Problemf(kind ProblemKind, format string, args ...any) *Problem {
	return &Problem{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// ProblemOf makes a problem of any error: itself where it is one, else an internal one
// whose detail says nothing of the inside.
func ProblemOf(err error) *Problem {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem
	}
	return &Problem{Kind: Internal, Detail: "see the log of the airline", Cause: err}
}
