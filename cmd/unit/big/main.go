// Command big is the unit program of the system big. Deployers start it with the unit's job, as JSON, as its
// argument. It speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/big/bigunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(bigunit.Run) }
