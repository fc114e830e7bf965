package hosting

import (
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit"
)

// Balancing returns how a unit chooses among replicas for a value of kit.KnobBalancing.
func Balancing(value string) rpc.Balancing {
	switch value {
	case kit.LeastRequests:
		return rpc.LeastRequests
	case kit.TwoChoices:
		return rpc.TwoChoices
	}
	return rpc.RoundRobin
}
