// Command crossing is the unit program of the system crossing. Deployers start it with the unit's job, as
// JSON, as its argument. It speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/crossing/crossingunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(crossingunit.Run) }
