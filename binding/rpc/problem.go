package rpc

import (
	"context"
	"errors"
	"fmt"
)

// Kind says what a caller can make of a failure. Bindings carry it unchanged.
type Kind string

// Problem is the error of a system that crosses between its units.
type Problem struct {
	Kind   Kind
	Detail string // for people; holds no secrets
	Cause  error  // stays on this side of a binding; nil where there is none
}

// Problemf makes a problem without a cause.
func Problemf(kind Kind, format string, args ...any) *Problem {
	return &Problem{Kind: kind, Detail: fmt.Sprintf(format, args...)}
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

// Fault returns what of the problem crosses.
func (p *Problem) Fault() Fault { return Fault{Kind: string(p.Kind), Detail: p.Detail} }

// Problems are the Faults of a system; the function makes a problem of any error. Kind and detail
// cross, and the cause stays where it is.
type Problems func(error) *Problem

var _ Faults = Problems(nil)

// Encode implements Faults.
func (of Problems) Encode(err error) Fault { return of(err).Fault() }

// Decode implements Faults.
func (Problems) Decode(fault Fault, cause error) error {
	return &Problem{Kind(fault.Kind), fault.Detail, cause}
}

// ProblemOf makes a problem of any error: itself where it is one, else by what the error
// says of itself. Its detail then says nothing of the inside, but one of two texts: that
// a part does not answer, or that the system has failed.
func ProblemOf(err error, unavailable, internal string) *Problem {
	var problem *Problem
	var part interface{ Unavailable() bool }
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{DeadlineExceeded, "the time for this request was up", err}
	case errors.Is(err, context.Canceled):
		return &Problem{Cancelled, "the caller gave up", err}
	case errors.As(err, &part) && part.Unavailable():
		return &Problem{Unavailable, unavailable, err}
	}
	return &Problem{Internal, internal, err}
}
