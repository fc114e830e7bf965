// Command airline is the unit program, in Go, of the system airline. Deployers start it; it is configured by
// its environment, and it speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/airline/airlineunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(airlineunit.Run) }
