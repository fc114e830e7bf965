// Command rehearsal is a unit of a rehearsal. Deployers start it; its argument is the unit's
// job as JSON, and it speaks the control protocol. A unit starts itself again to send probes.
package main

import (
	"os"

	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == rehearsalunit.ProbeCommand {
		rehearsalunit.ProbeMain()
	}
	unit.Main(rehearsalunit.Run)
}
