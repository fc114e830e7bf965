package shop

import (
	"fmt"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// Kind says what a caller can make of a failure.
type Kind = rpc.Kind

// The kinds of problems.
const (
	// InvalidArgument: the request breaks a limit or lacks something; repeating it
	// unchanged is of no use.
	InvalidArgument Kind = "invalid-argument"
	// NotFound: there is no such order or shipment (yet, where a view lags behind).
	NotFound        Kind = "not-found"
	UnknownProduct  Kind = "unknown-product"
	UnknownCustomer Kind = "unknown-customer"
	// OutOfStock: the shelf does not hold all lines of the order.
	OutOfStock Kind = "out-of-stock"
	// Declined: the balance does not cover the order.
	Declined Kind = "declined"
	// Conflict: the state of the order does not allow the step.
	Conflict Kind = "conflict"
	// KeyReused: the idempotency key belongs to an order with other content.
	KeyReused Kind = "key-reused"
	// Unavailable: a part does not answer; the call may have been carried out.
	Unavailable Kind = "unavailable"
	// DeadlineExceeded: time was up; the call may have been carried out.
	DeadlineExceeded Kind = "deadline-exceeded"
	// Cancelled: the caller gave up; the call may have been carried out.
	Cancelled Kind = "cancelled"
	// Internal: a fault of the shop itself.
	Internal Kind = "internal"
)

// Kinds lists all kinds of problems.
func Kinds() []Kind {
	return []Kind{
		InvalidArgument, NotFound, UnknownProduct, UnknownCustomer, OutOfStock, Declined,
		Conflict, KeyReused, Unavailable, DeadlineExceeded, Cancelled, Internal,
	}
}

// Problem is the error that crosses between components.
type Problem = rpc.Problem

// Problemf makes a problem without a cause.
func Problemf(kind Kind, format string, args ...any) *Problem {
	return &Problem{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// ProblemOf makes a problem of any error; see rpc.ProblemOf. It is nil for nil.
func ProblemOf(err error) *Problem {
	if err == nil {
		return nil
	}
	return rpc.ProblemOf(err, "a part of the shop does not answer; try again",
		"the shop failed to carry this out")
}

// IsKind reports whether an error is a problem of that kind.
func IsKind(err error, kind Kind) bool {
	problem := ProblemOf(err)
	return problem != nil && problem.Kind == kind
}

// Rejects says whether an error is one of the rules by which the shop refuses an
// order for good, and then why. Every other error leaves the order open.
func Rejects(err error) (*shoppb.Rejection, bool) {
	problem := ProblemOf(err)
	if problem == nil {
		return nil, false
	}
	switch problem.Kind {
	case UnknownCustomer, UnknownProduct, OutOfStock, Declined:
		return &shoppb.Rejection{Kind: string(problem.Kind), Detail: problem.Detail}, true
	}
	return nil, false
}
