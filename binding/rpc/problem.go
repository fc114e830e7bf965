package rpc

import (
	"context"
	"errors"
	"fmt"
)

// Kind classifies a failure for the caller. Bindings carry it unchanged.
type Kind string

// Problem is the error of a system that crosses between its units.
type Problem struct {
	Kind   Kind
	Detail string // human-readable; must not hold secrets
	Cause  error  // not sent over a binding; may be nil
}

// Problemf returns a problem with a formatted detail and without a cause.
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

// Fault returns the part of the problem that crosses a binding.
func (p *Problem) Fault() Fault { return Fault{Kind: string(p.Kind), Detail: p.Detail} }

// Problems implements Faults for a system whose errors are Problems. The function converts any error
// to a problem, usually by ProblemOf.
type Problems func(error) *Problem

var _ Faults = Problems(nil)

// Encode implements Faults.
func (problemOf Problems) Encode(err error) Fault { return problemOf(err).Fault() }

// Decode implements Faults.
func (Problems) Decode(fault Fault, cause error) error {
	return &Problem{Kind(fault.Kind), fault.Detail, cause}
}

// ProblemOf returns the Problem in err, if there is one. Otherwise it returns a Problem with the cause
// err, whose kind depends on err: DeadlineExceeded or Cancelled for the errors of a context; Unavailable,
// with the text unavailable, if err has a method Unavailable that returns true, as the errors of package
// database have; else Internal, with the text internal. The detail reveals nothing of err.
func ProblemOf(err error, unavailable, internal string) *Problem {
	var problem *Problem
	var transient interface{ Unavailable() bool }
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{DeadlineExceeded, "the time for this request was up", err}
	case errors.Is(err, context.Canceled):
		return &Problem{Cancelled, "the caller gave up", err}
	case errors.As(err, &transient) && transient.Unavailable():
		return &Problem{Unavailable, unavailable, err}
	}
	return &Problem{Internal, internal, err}
}
