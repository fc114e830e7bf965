// Package rpc holds the parts that all bindings of calls share: errors and deadlines
// that are passed from one component to another, encodings, and balancing over
// replicas. Calls are made with generated gRPC code: a client is a
// grpc.ClientConnInterface, a server a grpc.ServiceRegistrar, and a binding is a pair
// of these.
//
// Entry points: Spread for callers, Serving and Serve for servers, Problem and ProblemOf for systems.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind classifies a failure for the caller. Bindings carry it unchanged.
type Kind string

// The kinds of problems that bindings create. A system may have more.
const (
	InvalidArgument  = "invalid-argument"  // the request cannot be read
	Unavailable      = "unavailable"       // the callee does not answer; the call may have been carried out
	DeadlineExceeded = "deadline-exceeded" // time was up; the call may have been carried out
	Cancelled        = "cancelled"         // the caller gave up; the call may have been carried out
	Internal         = "internal"          // an error inside of the callee
)

// Problem is the error of a system that crosses between its units: bindings send all of it but the cause.
type Problem struct {
	Kind   Kind   `json:"kind"`
	Detail string `json:"detail"` // human-readable; must not hold secrets
	Cause  error  `json:"-"`      // may be nil
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

// unreadable returns the problem of a request whose message cannot be read.
func unreadable(err error) *Problem {
	return Problemf(InvalidArgument, "the message cannot be read: %v", err)
}

// Unencodable returns the problem of a request that its caller cannot send.
func Unencodable(message any, err error) *Problem {
	return &Problem{Internal, "the request cannot be encoded", fmt.Errorf("encode %T: %w", message, err)}
}

// Unexpected returns the problem of a callee whose answer is not the expected message.
func Unexpected(callee string, cause error) *Problem {
	return &Problem{Internal, callee + " sent an answer that is not the expected message", cause}
}

// TooLong returns the problem of a callee whose answer has more than limit bytes: its mistake, no outage.
func TooLong(callee string, limit int, cause error) *Problem {
	return &Problem{Internal, fmt.Sprintf("%s sent an answer of more than %d bytes", callee, limit), cause}
}

// Lost returns the problem of a call that got no answer.
func Lost(ctx context.Context, callee string, cause error) *Problem {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &Problem{Cancelled, "the call to " + callee + " was given up", cause}
	case timeIsUp(ctx):
		return late(callee, cause)
	}
	return &Problem{Unavailable, callee + " does not answer", cause}
}

// late returns the problem of a call whose deadline has passed.
func late(callee string, cause error) *Problem {
	return &Problem{DeadlineExceeded, "no answer from " + callee + " in time", cause}
}

// timeIsUp reports whether the deadline of ctx has passed. It asks the clock instead of
// ctx.Err: the socket and the callee have the same deadline and can end a call before
// the context's own timer fires.
func timeIsUp(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}
