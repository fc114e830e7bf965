package shop

import (
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The kinds of problems of the shop, in addition to those of package rpc.
const (
	// NotFound: there is no such order or shipment (yet, where a view lags behind).
	NotFound        rpc.Kind = "not-found"
	UnknownProduct  rpc.Kind = "unknown-product"
	UnknownCustomer rpc.Kind = "unknown-customer"
	// OutOfStock: the shelf does not hold all lines of the order.
	OutOfStock rpc.Kind = "out-of-stock"
	// Declined: the balance does not cover the order.
	Declined rpc.Kind = "declined"
	// Conflict: the state of the order does not allow the step.
	Conflict rpc.Kind = "conflict"
	// KeyReused: the idempotency key belongs to an order with other content.
	KeyReused rpc.Kind = "key-reused"
)

// NoProduct returns the refusal of a product that does not exist.
func NoProduct(id int64) error { return rpc.Problemf(UnknownProduct, "there is no product %d", id) }

// NoCustomer returns the refusal of a customer who does not exist.
func NoCustomer(id int64) error { return rpc.Problemf(UnknownCustomer, "there is no customer %d", id) }

// ProblemOf makes a problem of any error; see rpc.ProblemOf. It is nil for nil.
func ProblemOf(err error) *rpc.Problem {
	if err == nil {
		return nil
	}
	return rpc.ProblemOf(err, "a part of the shop does not answer; try again",
		"the shop failed to carry this out")
}

// IsKind reports whether an error is a problem of that kind.
func IsKind(err error, kind rpc.Kind) bool {
	problem := ProblemOf(err)
	return problem != nil && problem.Kind == kind
}

// Rejects reports whether an error is one of the rules by which the shop refuses an
// order for good, and the reason. Every other error leaves the order open.
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
