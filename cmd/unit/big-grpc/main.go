// Command big-grpc is a unit of Big that calls over gRPC; see command big.
package main

import (
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/grpcservice"
	"github.com/cleave-lab/cleave/unit"
)

func main() {
	unit.Main(func(channel *unit.Channel, job string) error {
		return big.PlayUnit(channel, job, grpcservice.NewCore, grpcservice.RunWorker)
	})
}
