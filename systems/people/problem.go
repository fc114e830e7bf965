package people

import (
	"context"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// ProblemKind says what a caller can make of a failure. Bindings carry it unchanged.
type ProblemKind string

// The kinds of problems.
const (
	// InvalidArgument: the request breaks a limit or lacks something.
	InvalidArgument ProblemKind = rpc.InvalidArgument
	// NotFound: there is no such record.
	NotFound ProblemKind = "not-found"
	// TooBusy: more requests are open than may be; nothing was done.
	TooBusy ProblemKind = "too-busy"
	// Tampered, WrongKey and Truncated: what is stored cannot be opened, since it was
	// changed, was sealed with another key, or lacks its end.
	Tampered  ProblemKind = "tampered-record"
	WrongKey  ProblemKind = "wrong-key"
	Truncated ProblemKind = "truncated-record"
	// Unavailable, DeadlineExceeded, Cancelled: the call may have been carried out.
	Unavailable      ProblemKind = rpc.Unavailable
	DeadlineExceeded ProblemKind = rpc.DeadlineExceeded
	Cancelled        ProblemKind = rpc.Cancelled
	// Internal: a fault of the system itself.
	Internal ProblemKind = rpc.Internal
)

// Problem is the error that crosses between units.
type Problem struct {
	Kind   ProblemKind
	Detail string // for people; holds nothing of a record
	Cause  error  // stays on this side of a binding; nil where there is none
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

// ProblemOf makes a problem of any error: itself where it is one, else by what the
// error says of itself. Its detail then says nothing of the inside.
func ProblemOf(err error) *Problem {
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
		return &Problem{Unavailable, "the database does not answer; try again", err}
	}
	return &Problem{Internal, "this could not be carried out", err}
}

// Faults carry problems over a binding with their kind and detail.
type Faults struct{}

var _ rpc.Faults = Faults{}

// Encode implements rpc.Faults.
func (Faults) Encode(err error) rpc.Fault {
	problem := ProblemOf(err)
	return rpc.Fault{Kind: string(problem.Kind), Detail: problem.Detail}
}

// Decode implements rpc.Faults.
func (Faults) Decode(fault rpc.Fault, cause error) error {
	return &Problem{ProblemKind(fault.Kind), fault.Detail, cause}
}
