// Command rehearsal is a unit of a rehearsal. Deployers start it; its argument is the unit's
// job as JSON, and it speaks the control protocol.
package main

import (
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() { unit.Main(rehearsalunit.Run) }
