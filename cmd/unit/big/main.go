// Command big is a unit of Big. Deployers start it; its argument is the unit's job as
// JSON, and it speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/big/bigunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(bigunit.Run) }
