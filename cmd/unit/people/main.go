// Command people is a unit of people. Deployers start it; its argument is the unit's job as
// JSON, and it speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(peopleunit.Run) }
