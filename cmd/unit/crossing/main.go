// Command crossing is a unit of crossing. Deployers start it; its argument is the unit's job as
// JSON, and it speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/crossing/crossingunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(crossingunit.Run) }
