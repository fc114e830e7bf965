// Package remote puts bindings between the components of the shop: what offers a
// component on one side, and what stands for it on the other. It is all that a
// component's caller and the component need to live in different units, whatever
// carries the calls.
//
// Entry points: Register... and New... for each component, and Faults, the
// meaning of errors on the way.
package remote

import (
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
)

// Faults carry problems over a binding with their kind and detail. The cause of
// a problem stays where it is.
type Faults struct{}

var _ rpc.Faults = Faults{}

// Encode implements rpc.Faults.
func (Faults) Encode(err error) rpc.Fault { return shop.ProblemOf(err).Fault() }

// Decode implements rpc.Faults.
func (Faults) Decode(fault rpc.Fault, cause error) error { return rpc.ProblemFrom(fault, cause) }
