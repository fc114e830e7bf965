package api

import (
	"net/http"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/shop"
)

// meanings returns the status and title in HTTP of each kind of problem that is the shop's own.
func meanings() map[rpc.Kind]front.Meaning {
	return map[rpc.Kind]front.Meaning{
		shop.NotFound:        {Status: http.StatusNotFound, Title: "There is no such order or shipment"},
		shop.UnknownProduct:  {Status: http.StatusNotFound, Title: "There is no such product"},
		shop.UnknownCustomer: {Status: http.StatusNotFound, Title: "There is no such customer"},
		shop.OutOfStock:      {Status: http.StatusConflict, Title: "The stock does not cover the order"},
		shop.Declined:        {Status: http.StatusPaymentRequired, Title: "The balance does not cover the order"},
		shop.Conflict:        {Status: http.StatusConflict, Title: "The state of the order does not allow this"},
		shop.KeyReused: {Status: http.StatusUnprocessableEntity,
			Title: "The idempotency key belongs to another request"},
	}
}

// typePrefix is the prefix of the types of problems.
const typePrefix = "urn:cleave:shop:"

// TypeOf returns the type of a problem as clients see it.
func TypeOf(kind rpc.Kind) string { return typePrefix + string(kind) }
