// Command shop is the unit program of the system shop. Deployers start it with the unit's job, as JSON, as
// its argument. It speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/shop/shopunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(shopunit.Run) }
