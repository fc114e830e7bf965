package airline

import (
	"errors"
	"fmt"
)

// ProblemKind says why something is refused.
type ProblemKind string

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
type Problem struct {
	Kind   ProblemKind
	Detail string // for people: which field or value; nothing of the inside
	Cause  error  // is never sent; nil where there is none
}

// Error implements error.
func (p *Problem) Error() string {
	if p.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", p.Kind, p.Detail, p.Cause)
	}
	return fmt.Sprintf("%s: %s", p.Kind, p.Detail)
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

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
	return &Problem{Internal, "see the log of the airline", err}
}
