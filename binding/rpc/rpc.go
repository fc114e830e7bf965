// Package rpc holds what all bindings of calls share: what of an error crosses
// from one component to another, and what of a call's context does. Calls
// themselves are those of generated gRPC code: a client is a
// grpc.ClientConnInterface, a server a grpc.ServiceRegistrar, and a binding is a
// pair of the two.
package rpc

import (
	"context"
	"errors"
	"time"
)

// Fault is the part of an error that crosses a binding.
type Fault struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// The kinds that bindings themselves make. A system may have more.
const (
	InvalidArgument  = "invalid-argument"  // the request cannot be read
	Unavailable      = "unavailable"       // the callee does not answer; the call may have been carried out
	DeadlineExceeded = "deadline-exceeded" // time was up; the call may have been carried out
	Cancelled        = "cancelled"         // the caller gave up; the call may have been carried out
	Internal         = "internal"          // a fault of the callee itself
)

// Faults translate between the errors of a system and what crosses. They are
// used by several goroutines.
type Faults interface {
	// Encode says what of an error the caller may know. The errors of a context are
	// DeadlineExceeded and Cancelled: the callee can notice them first.
	Encode(err error) Fault
	// Decode makes the error that the caller gets. The cause is this side's own,
	// nil where the fault came from the callee.
	Decode(fault Fault, cause error) error
}

// Unreadable returns the fault of a request whose message cannot be read.
func Unreadable(err error) Fault {
	return Fault{InvalidArgument, "the message cannot be read: " + err.Error()}
}

// Failed returns the fault of a call that the callee could not carry out. If the callee itself is to blame,
// logError receives the error with its cause, which the caller does not get; nil: nobody does.
func Failed(faults Faults, logError func(error), method string, err error) Fault {
	fault := faults.Encode(err)
	if fault.Kind == Internal && logError != nil {
		logError(&Failure{method, err})
	}
	return fault
}

// Failure is the error of an operation. It makes its text on request: under load logs leave most out.
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
	return Fault{Internal, callee + " answered what is not the expected message"}
}

// Lost returns the fault of a call that a transport failed to bring to its end.
func Lost(ctx context.Context, callee string) Fault {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return Fault{Cancelled, "the call to " + callee + " was given up"}
	case timeIsUp(ctx):
		return Fault{DeadlineExceeded, "no answer from " + callee + " in time"}
	}
	return Fault{Unavailable, callee + " does not answer"}
}

// timeIsUp asks the clock: the socket and the callee have the same deadline and
// can end a call before the context's own timer fires.
func timeIsUp(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}
