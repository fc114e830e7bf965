// Command shop is a unit of the shop. Deployers start it; its argument is the unit's job as
// JSON, and it speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/shop/shopunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(shopunit.Run) }
