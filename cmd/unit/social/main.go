// Command social is a unit of social. Deployers start it; its argument is the unit's job as
// JSON, and it speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/social/socialunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(socialunit.Run) }
