package people

import (
	"fmt"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// ProblemKind says what a caller can make of a failure.
type ProblemKind = rpc.Kind

// The kinds of problems.
const (
	// InvalidArgument: the request breaks a limit or lacks something.
	InvalidArgument ProblemKind = rpc.InvalidArgument
	// NotFound: there is no such record.
	NotFound ProblemKind = "not-found"
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

// Problem is the error that crosses between units; its detail holds nothing of a record.
type Problem = rpc.Problem

// Problemf makes a problem without a cause.
func Problemf(kind ProblemKind, format string, args ...any) *Problem {
	return &Problem{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// ProblemOf makes a problem of any error; see rpc.ProblemOf.
func ProblemOf(err error) *Problem {
	return rpc.ProblemOf(err, "the database does not answer; try again", "this could not be carried out")
}
