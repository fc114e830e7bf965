// Package rpc holds the parts that all bindings of calls share: errors and deadlines
// that are passed from one component to another, encodings, and balancing over
// replicas. Calls are made with generated gRPC code: a client is a
// grpc.ClientConnInterface, a server a grpc.ServiceRegistrar, and a binding is a pair
// of these.
//
// Entry points: Spread for callers, Serve for servers, Problems and ProblemOf for systems.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Fault is the part of an error that is sent over a binding.
type Fault struct {
	Kind   string `json:"kind"`   // one of the kinds below, or a Kind of the system
	Detail string `json:"detail"` // a text for people; the caller may see it
}

// The kinds of fault that bindings create. A system may have more.
const (
	InvalidArgument  = "invalid-argument"  // the request cannot be read
	Unavailable      = "unavailable"       // the callee does not answer; the call may have been carried out
	DeadlineExceeded = "deadline-exceeded" // time was up; the call may have been carried out
	Cancelled        = "cancelled"         // the caller gave up; the call may have been carried out
	Internal         = "internal"          // an error inside of the callee
)

// Faults converts errors of a system to faults and back. It must be safe for
// concurrent use.
type Faults interface {
	// Encode returns the part of an error that the caller may see. It must turn the
	// errors of an ended context into DeadlineExceeded and Cancelled, because the callee
	// can notice them before the caller does.
	Encode(err error) Fault
	// Decode returns the caller's error for a fault. cause is an error on the caller's
	// side, or nil if the callee sent the fault.
	Decode(fault Fault, cause error) error
}

// Unreadable returns the fault of a request whose message cannot be read.
func Unreadable(err error) Fault {
	return Fault{InvalidArgument, "the message cannot be read: " + err.Error()}
}

// Failed returns the fault of a call whose method returned an error. If its kind is Internal, it passes the
// error with its cause, which the caller does not get, to logError, which may be nil.
func Failed(faults Faults, logError func(error), method string, err error) Fault {
	fault := faults.Encode(err)
	if fault.Kind == Internal && logError != nil {
		logError(&Failure{method, err})
	}
	return fault
}

// Failure is the error of an operation. It formats its text only on request, because logs drop most errors
// under load.
type Failure struct {
	Operation string
	Err       error
}

// Error implements error.
func (f *Failure) Error() string { return f.Operation + ": " + f.Err.Error() }

// Unwrap returns the error without the operation.
func (f *Failure) Unwrap() error { return f.Err }

// Unexpected returns the fault of a callee whose answer is not the expected message.
func Unexpected(callee string) Fault {
	return Fault{Internal, callee + " sent an answer that is not the expected message"}
}

// TooLong returns the fault of a callee whose answer has more than limit bytes: its mistake, no outage.
func TooLong(callee string, limit int) Fault {
	return Fault{Internal, fmt.Sprintf("%s sent an answer of more than %d bytes", callee, limit)}
}

// Lost returns the fault of a call that got no answer.
func Lost(ctx context.Context, callee string) Fault {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return Fault{Cancelled, "the call to " + callee + " was given up"}
	case timeIsUp(ctx):
		return Fault{DeadlineExceeded, "no answer from " + callee + " in time"}
	}
	return Fault{Unavailable, callee + " does not answer"}
}

// timeIsUp reports whether the deadline of ctx has passed. It asks the clock instead of
// ctx.Err: the socket and the callee have the same deadline and can end a call before
// the context's own timer fires.
func timeIsUp(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}
